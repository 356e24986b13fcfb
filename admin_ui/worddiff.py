"""Two texts as one, with the words that went and the words that came."""

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Kind = Literal["same", "gone", "new"]
MAX_WORDS = 1_500
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


class Piece(NamedTuple):
    kind: Kind
    text: str


def diff_words(before: str, after: str) -> tuple[Piece, ...]:
    """Give the pieces in reading order; joined without `new` they are `before`, without `gone`
    they are `after`. Texts over 1,500 words are shown as gone and new, whole."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MAX_WORDS:
        return _changed(old, new)
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(old[a:b])))
        else:
            pieces.extend(_changed(old[a:b], new[c:d]))
    return tuple(pieces)


def _changed(old: list[str], new: list[str]) -> tuple[Piece, ...]:
    both = (Piece("gone", "".join(old)), Piece("new", "".join(new)))
    return tuple(piece for piece in both if piece.text)
