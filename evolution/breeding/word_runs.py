"""Runs of words: what two texts have in common word by word, in any script."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from models.genes import SLOT

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019\u02bc](?=\w)")
_SIGNS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Han and Kana: a word has about two signs."""
_LETTERS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Burmese, Khmer put no blanks between words: a word has about four letters."""
_UNSPACED_FROM = "\u0e00"
_WORD_WEIGHT = 4
_IGNORED = frozenset({"Mn", "Mc", "Me", "Cf"})
"""Marks above and below letters, and signs that are not seen: no copy hides behind them."""
_TATWEEL = 0x640


class _Seen(dict[int, int | None]):
    """For `str.translate`: takes out what is ignored, and remembers each sign that it met."""

    def __missing__(self, code: int) -> int | None:
        ignored = code == _TATWEEL or unicodedata.category(chr(code)) in _IGNORED
        return self.setdefault(code, None if ignored else code)


_SEEN = _Seen()

Window = tuple[str, ...]


def windows_of(text: str, words: int) -> Iterator[Window]:
    """Yield each run of tokens that weighs `words` words; a slot is never part of one.

    From one token on there is one window alone, so that two texts have a run of so many
    words in common exactly where they have a window in common.
    """
    for piece in SLOT.split(text)[::2]:
        tokens = tokens_of(piece)
        weights = [_weight(token) for token in tokens]
        end, weight = 0, 0
        for start in range(len(tokens)):
            while weight < words * _WORD_WEIGHT and end < len(tokens):
                weight += weights[end]
                end += 1
            if weight < words * _WORD_WEIGHT:
                break
            yield tuple(tokens[start:end])
            weight -= weights[start]


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> tuple[str, ...]:
    """Cut `text` into folded words; of scripts without blanks each sign is a token.

    Case, punctuation, accents, vowel marks, invisible signs and forms of one letter
    (full width, ligatures, Arabic presentation) make no difference.
    """
    if text.isascii():
        return tuple(_WORD.findall(_APOSTROPHE.sub("", text.lower())))
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    words = _WORD.findall(_APOSTROPHE.sub("", folded.translate(_SEEN)))
    return tuple(token for word in words for token in _tokens(word))


def _tokens(word: str) -> Iterator[str]:
    if max(word) < _UNSPACED_FROM:
        yield word
        return
    rest = ""
    for sign in word:
        if _SIGNS.match(sign) or _LETTERS.match(sign):
            if rest:
                yield rest
            yield sign
            rest = ""
        else:
            rest += sign
    if rest:
        yield rest


def _weight(token: str) -> int:
    """In quarters of a word."""
    if token[0] < _UNSPACED_FROM:
        return _WORD_WEIGHT
    if _SIGNS.match(token):
        return 2
    return 1 if _LETTERS.match(token) else _WORD_WEIGHT
