"""Which language a text is written in, told from its script, its signs and its letters."""

import re
import unicodedata
from collections import Counter
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""ISO 639-1 code -> name of the Snowball stemmer: the languages that are told apart."""

_BY_SCRIPT = {
    "CYRILLIC": ("ru", "sr"),
    "ARABIC": ("ar", "fa"),
    "GREEK": ("el",),
    "ARMENIAN": ("hy",),
    "DEVANAGARI": ("hi", "ne"),
    "TAMIL": ("ta",),
}
_SCRIPT_OF = {code: script for script, codes in _BY_SCRIPT.items() for code in codes}
_LATIN = tuple(code for code in SNOWBALL if code not in _SCRIPT_OF)
_SAMPLE_CHARS = 4_000
_WORD = re.compile(r"\b[^\W\d_]+\b")
"""A run of letters; a code such as `std437` is of no language."""
_FENCED_OR_URL = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_SERBIAN = frozenset("ђјљњћџ")
_ENGLISH_WORDS = """
the is are was were do does did has have can could should would will what which who whose when
where why how many much of to in on at for with from by and or not this that these it its my your
our their you we they be been there any if an about into than
"""
_SPANISH_WORDS = """
el la los las un una unos unas del al en con por para qué que cuál cuáles quién quiénes cuándo
dónde cómo cuánto cuánta cuántos cuántas cual quien cuando donde como cuanto cuantos es son fue era
está están hay ser ha han se su sus y o no si sí mi tu lo le les puedo puede pueden tiene debe
hacer este esta estos estas pero más sobre
"""
_WORDS = {"en": frozenset(_ENGLISH_WORDS.split()), "es": frozenset(_SPANISH_WORDS.split())}
"""Function words of the two Latin languages that the lab's own material is written in."""
_WORD_BONUS = 0.5
"""In units of py3langid's log score over the root of the length, as the prior is."""
_PRIOR = 0.4
_SHORT_PRIOR = 6.0
"""Divided by the number of words: two words are no evidence for Swedish."""
_FOREIGN_SCRIPT_WEIGHT = 3
"""A Latin name stands in a Russian question far more often than the other way round."""


def detect_language(text: str, default: str = "en") -> str:
    """Give the ISO 639-1 code of the Snowball language that `text` is most likely written in.

    `default` is the answer where there is no letter to tell by. The script comes first, so that
    a Cyrillic text is never taken for English or Spanish; then the signs that only one of the
    languages has; then py3langid's naive Bayes over byte n-grams, in which the function words
    of English and Spanish count as well, because a question of four words is too short for it.
    """
    sample = _FENCED_OR_URL.sub(" ", text[:_SAMPLE_CHARS])
    words = _WORD.findall(sample) or _WORD.findall(text[:_SAMPLE_CHARS])
    script = _script(words)
    if script is None:
        return default
    if script != "LATIN":
        return _within_script(script, words)
    if any(sign in sample for sign in "¿¡"):
        return "es"
    return _among_latin(words, default)


def written_in(language: str) -> str:
    """Name the script of a Snowball language as Unicode does (`LATIN`, `CYRILLIC`)."""
    return _SCRIPT_OF.get(language, "LATIN")


def script_of(word: str) -> str:
    """Name the script of a word's first letter as Unicode does; empty where it has no name."""
    return unicodedata.name(word[0], "").partition(" ")[0]


def _script(words: list[str]) -> str | None:
    """Name the script that most letters belong to; None where no known one is there."""
    counts: Counter[str] = Counter()
    for word in words:
        name = script_of(word)
        if name == "LATIN" or name in _BY_SCRIPT:
            counts[name] += len(word) * (1 if name == "LATIN" else _FOREIGN_SCRIPT_WEIGHT)
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def _within_script(script: str, words: list[str]) -> str:
    codes = _BY_SCRIPT[script]
    if script == "CYRILLIC":
        return "sr" if any(_SERBIAN & set(word.lower()) for word in words) else "ru"
    scores = _scores(" ".join(words))
    return max(codes, key=lambda code: scores[code])


def _among_latin(words: list[str], default: str) -> str:
    scores = _scores(" ".join(words).lower())
    prior = _PRIOR + _SHORT_PRIOR / len(words)
    for code, known in _WORDS.items():
        hits = sum(word.lower() in known for word in words)
        scores[code] += prior + _WORD_BONUS * hits / len(words) ** 0.5
    if default in _LATIN:
        scores[default] += _PRIOR if default in _WORDS else prior
    return max(_LATIN, key=lambda code: (scores[code], code == default))


def _scores(text: str) -> dict[str, float]:
    """Log scores by language, divided by the root of the length as py3langid calibrates them."""
    length = max(1, len(text.encode()))
    return {code: score / length**0.5 for code, score in _identifier().rank(text)}


@cache
def _identifier() -> LanguageIdentifier:
    """Load the model once; its parameters are read only."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(SNOWBALL))
    return identifier
