"""How much two texts have in common: weighted stems, numbers and names, in any script."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from kit.stemming import terms

_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
"""Scripts that put no blanks between words: Han, Kana, Thai, Lao, Burmese, Khmer."""
_NUMBER = re.compile(r"\d{1,3}(?:[\u00a0\u202f ]\d{3})+(?!\d)|\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,\u00a0\u202f ]\d{3})+")
_WORDS_FOR = {
    "0": "zero cero ноль",
    "2": "two twice dos два две двух дважды",
    "3": "three tres три трёх трех",
    "4": "four cuatro четыре четырёх четырех",
    "5": "five cinco пять пяти",
    "6": "six seis шесть шести",
    "7": "seven siete семь семи",
    "8": "eight ocho восемь восьми",
    "9": "nine nueve девять девяти",
    "10": "ten diez десять десяти",
    "12": "twelve doce двенадцать двенадцати",
}
_DIGIT_OF = {word: digit for digit, words in _WORDS_FOR.items() for word in words.split()}
_DENIALS = """
no not never none nobody nothing neither nor without cannot can't don't doesn't didn't isn't aren't
won't nunca jamás ningún ninguna ninguno nadie nada sin ni tampoco не нет ни никогда никто ничего
нельзя без nicht kein keine non pas ne لا ليس لم لن
"""
_WORD = re.compile(r"[\w']+")
_REPLY = re.compile(
    r"(?i)^\s*(?:no|yes|sí|si|да|нет|nein|ja|non|oui|não|sim|لا|نعم)\s*[,.:;!—–-]\s*"
)
_NEGATIONS = frozenset(_DENIALS.split())


@lru_cache(maxsize=20_000)
def bag_of(text: str, languages: tuple[str, ...]) -> frozenset[str]:
    """The distinct stems of `text`; scripts without blanks give pairs of signs instead."""
    spaced = _UNSPACED.sub(" ", text)
    pairs = (
        run[at : at + 2] for run in _UNSPACED.findall(text) for at in range(max(1, len(run) - 1))
    )
    return frozenset([*terms(spaced, languages), *pairs])


class Weights:
    """How much a term tells: its inverse document frequency over the texts at hand.

    ln(1 + (n - df + 0.5) / (df + 0.5)), as in BM25 (Robertson & Zaragoza 2009); a term that
    stands in none of the texts weighs the most.
    """

    def __init__(self, bags: Iterable[frozenset[str]]) -> None:
        counts: Counter[str] = Counter()
        self._texts = 0
        for bag in bags:
            counts.update(bag)
            self._texts += 1
        self._weights = {term: self._idf(count) for term, count in counts.items()}
        self._unseen = self._idf(0)

    def _idf(self, count: int) -> float:
        return math.log(1 + (self._texts - count + 0.5) / (count + 0.5))

    def of(self, term: str) -> float:
        return self._weights.get(term, self._unseen) * min(1.0, (len(term) + 1) / 5)

    def sum(self, bag: Iterable[str]) -> float:
        return sum(self.of(term) for term in bag)

    def share(self, wanted: frozenset[str], given: frozenset[str]) -> float:
        """The weighted share of `wanted` that stands in `given`, 0-1; 0 where nothing is wanted."""
        total = self.sum(wanted)
        return self.sum(wanted & given) / total if total else 0.0


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of `text` in one notation: `2,000`, `2 000` and `٢٠٠٠` are the same."""
    digits = "".join(_ascii_digit(sign) for sign in text)
    return frozenset(_plain(match) for match in _NUMBER.findall(digits))


def spelled_numbers(text: str) -> frozenset[str]:
    """Small numbers that `text` writes as words (English, Spanish, Russian)."""
    return frozenset(
        _DIGIT_OF[word] for word in re.findall(r"[^\W\d_]+", text.lower()) if word in _DIGIT_OF
    )


def split_denials(text: str) -> tuple[str, int]:
    """Give `text` without the words that deny, and their number; a reply's `No,` denies nothing."""
    words = _WORD.findall(_REPLY.sub("", text.replace("\u2019", "'")))
    kept = [word for word in words if word.lower() not in _NEGATIONS]
    return " ".join(kept), len(words) - len(kept)


def _ascii_digit(sign: str) -> str:
    return str(unicodedata.digit(sign)) if sign.isdigit() and not sign.isascii() else sign


def _plain(number: str) -> str:
    if _THOUSANDS.fullmatch(number):
        return re.sub(r"\D", "", number)
    return number.replace(",", ".").strip()


def spread_length(text: str) -> int:
    """The length of `text` in characters of an alphabet: a Han sign counts as three of them."""
    return len(text) + 2 * sum(len(run) for run in _UNSPACED.findall(text))
