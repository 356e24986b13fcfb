"""Genes that copy evaluation material: blocked, because they would know the exam."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from evolution.gene_bank import genes_in
from models.genes import SLOT
from models.genome import Genome

COPIED_WORDS = 8
"""So many words of an evaluation text in a row make a copy."""

LEAKED_WORDS = 5
"""The same where the genome may come to serve another tenant than the one that was read."""

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019\u02bc](?=\w)")
_SIGNS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Han and Kana: a word has about two signs."""
_LETTERS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Burmese, Khmer put no blanks between words: a word has about four letters."""
_WORD_WEIGHT = 4
_IGNORED = frozenset({"Mn", "Mc", "Me", "Cf"})
"""Marks above and below letters, and signs that are not seen: no copy hides behind them."""
_TATWEEL = "\u0640"

Window = tuple[str, ...]


class CopyGuard:
    """Knows the texts of an evaluation by their windows of words; holds no text itself."""

    def __init__(self, texts: Iterable[str], words: int = COPIED_WORDS) -> None:
        self._words = words
        self._windows = _hashes(texts, words)

    def find(self, genome: Genome, incumbent: Genome, shown: Iterable[str] = ()) -> str | None:
        """Name the first instruction of `genome` that copies; None where none does.

        `shown` are further texts, such as answers that the mutator has read. What stands in an
        instruction of `incumbent` is no copy: it was there before. The words themselves are
        not quoted: the sentence is shown to the mutator.
        """
        old = genes_in(incumbent)
        texts = {gene.text for gene in old}
        known = {w for gene in old for w in windows_of(gene.text, self._words)}
        windows = self._windows | _hashes(shown, self._words) if shown else self._windows
        for gene in genes_in(genome):
            if gene.text not in texts and self._copies(gene.text, known, windows):
                return (
                    f"{gene.path}.{gene.gene_id} copies {self._words} or more words in a row of an "
                    "evaluation question, reference or answer"
                )
        return None

    def _copies(self, text: str, known: set[Window], windows: set[int]) -> bool:
        found = windows_of(text, self._words)
        return any(hash(window) in windows and window not in known for window in found)


def find_copied(genome: Genome, incumbent: Genome, texts: Iterable[str]) -> str | None:
    """Name the first new instruction of `genome` that has 8 words in a row of one of `texts`."""
    return CopyGuard(texts).find(genome, incumbent)


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
    folded = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(
        sign
        for sign in unicodedata.normalize("NFKD", folded)
        if unicodedata.category(sign) not in _IGNORED and sign != _TATWEEL
    )
    words = _WORD.findall(_APOSTROPHE.sub("", plain))
    return tuple(token for word in words for token in _tokens(word))


def _hashes(texts: Iterable[str], words: int) -> set[int]:
    return {hash(window) for text in set(texts) for window in windows_of(text, words)}


def _tokens(word: str) -> Iterator[str]:
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
    if _SIGNS.match(token):
        return 2
    return 1 if _LETTERS.match(token) else _WORD_WEIGHT
