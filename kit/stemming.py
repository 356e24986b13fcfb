"""Texts as BM25 counts them: stems, the parts of compound identifiers, and codes as they stand."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import Stemmer

from kit.language import SNOWBALL, script_of, written_in

_TOKEN = re.compile(r"\w+")
MAX_TERM_CHARS = 64
"""A longer run without a blank (a data URI, a hash) is no word; its postings would be waste."""


def terms(text: str, languages: Iterable[str]) -> list[str]:
    """Give the BM25 terms of `text`, in its order, a repeated word as often as it stands there.

    A word becomes its Snowball stems in each of `languages` (ISO 639-1) that is written in its
    script, equal stems once; where there is none, the word itself. A compound identifier
    (`camelCase`, `snake_case`, `ОбработкаЗаполнения`) gives itself and then the stems of its
    parts. Codes (`std437`) are kept whole. Marks that compose (`й`, `ñ`) are the same however
    they are typed.

    There is no list of stop words: the inverse document frequency makes them nearly weightless
    already (measured, decision 0012).
    """
    chosen = tuple(sorted({code for code in languages if code in SNOWBALL}))
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        if len(token) <= MAX_TERM_CHARS:
            found.extend(_terms_of(token, chosen))
    return found


def term_languages(languages: Iterable[str]) -> set[str]:
    """The languages to stem in: those given, and English for the Latin words among others."""
    given = set(languages)
    if any(written_in(language) == "LATIN" for language in given):
        return given
    return given | {"en"}


@lru_cache(maxsize=100_000)
def _terms_of(token: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """The terms of one token, without repetition: the whole first, then its parts."""
    whole = token.strip("_")
    forms = dict.fromkeys(_stems(whole.lower(), languages))
    parts = list(_parts(whole))
    if len(parts) > 1:
        for part in parts:
            forms.update(dict.fromkeys(_stems(part.lower(), languages)))
    return tuple(form for form in forms if form)


def _parts(token: str) -> Iterator[str]:
    """Split at `_` and where a small letter is followed by a capital one; codes stay whole."""
    for piece in token.split("_"):
        start = 0
        for at in range(1, len(piece)):
            if _is_hump(piece, at):
                yield piece[start:at]
                start = at
        yield piece[start:]


def _is_hump(word: str, at: int) -> bool:
    """Tell whether a new part begins at `at`: `my|Value`, `HTTP|Server`."""
    if not word[at].isupper():
        return False
    before, after = word[at - 1], word[at + 1 : at + 2]
    return before.islower() or (before.isupper() and after.islower())


def _stems(word: str, languages: tuple[str, ...]) -> list[str]:
    if not word.isalpha():
        return [word]
    script = script_of(word)
    fitting = (code for code in languages if written_in(code) == script)
    return [_stemmer(code).stemWord(word) for code in fitting] or [word]


@lru_cache(maxsize=len(SNOWBALL))
def _stemmer(code: str) -> "Stemmer.Stemmer":
    """One stemmer without a cache of its own: with that it could not be shared by threads."""
    return Stemmer.Stemmer(SNOWBALL[code], 0)
