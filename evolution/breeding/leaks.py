"""What of one tenant's texts must not reach a genome that another may be served by."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from evolution.breeding.word_runs import windows_of
from kit.overlap import numbers_in

LEAKED_WORDS = 5
"""So many words in a row are a quotation, not a coincidence."""

_MIN_DIGITS = 2
"""Single digits are counts of steps and sentences, not somebody's figures."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_BEGIN = re.compile(r"(?:^|[.!?…:;•\n\"'«»“”()\[\]–—-])\s*$")
"""What stands before a word that begins a sentence: there a capital says nothing."""


def find_leak(text: str, allowed: Collection[str], read: Sequence[str]) -> str | None:
    """Say what `text` carries out of the texts that were `read`; None where it is nothing.

    Runs of five words, numbers of two digits or more, and names (words with a capital inside
    a sentence). What stands in one of the `allowed` texts may pass.
    """
    for kind, (parts, parts_read) in _KINDS.items():
        seen = {part for one in read for part in parts_read(one)}
        seen -= {part for one in allowed for part in parts(one)}
        if any(part in seen for part in parts(text)):
            return kind
    return None


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    return windows_of(text, LEAKED_WORDS)


def _figures(text: str) -> Iterator[str]:
    return (n for n in numbers_in(text) if sum(map(str.isdigit, n)) >= _MIN_DIGITS)


def _capitals(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text) if word[0].isupper())


def _names(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        before = text[max(0, match.start() - 8) : match.start()]
        if match[0][0].isupper() and not _BEGIN.search(before):
            yield match[0]


_Parts = Callable[[str], Iterator[object]]
_KINDS: dict[str, tuple[_Parts, _Parts]] = {
    f"{LEAKED_WORDS} words in a row": (_runs, _runs),
    "a number": (_figures, _figures),
    "a name": (_capitals, _names),
}
"""Kind -> its parts in an instruction, and in a text that was read."""
