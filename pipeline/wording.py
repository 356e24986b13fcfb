"""When two questions are the same question: the same wording, nothing cleverer.

Sameness decides what is served from the cache, and near-duplicates can mean the opposite (a
negation, a number, two names exchanged). Embeddings do not tell them apart (decision 0040). So
only what cannot change a meaning is folded: case, punctuation around words, courtesy around the
question, and a few ways to begin or to contract it.
"""

import re
import unicodedata
from collections.abc import Sequence

_MARKS = "?!.,;:…"
_OPENING = "¿¡\"'«“„‘(`"
_CLOSING = _MARKS + "\"'»”’)`"
_GREETING = r"(?:hi|hello|hey|hola|buenas|привет|здравствуйте|добрый день)\s*[,.!;:–—-]+\s*"
_ASKING = (
    r"(?:please|pls|(?:please |can you |could you )?tell me|por favor|"
    r"dime|dígame|(?:puedes|podrías|puede|podría) decirme|"
    r"пожалуйста|скажи(?:те)?|подскажи(?:те)?)(?!\w)[\s,.:;!]*"
)
_THANKS = (
    r"[\s,.?!;]*[,.?!;]\s*"
    r"(?:please|pls|thanks|thank you|por favor|gracias|пожалуйста|спасибо)[\s.!?]*"
)
_COURTESY = re.compile(f"^{_GREETING}|^{_ASKING}|{_THANKS}$")

_CONTRACTIONS = tuple(
    (re.compile(pattern), written_out)
    for pattern, written_out in (
        (r"\b(what|where|who|how|when|why|that|there|it)'s\b", r"\1 is"),
        (r"\b(?:can't|cannot)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(do|does|did|is|are|was|were|has|have|could|should|would)n't\b", r"\1 not"),
    )
)
_FRAMES = tuple(
    (re.compile(pattern), begin)
    for pattern, begin in (
        (r"^how (?:(?:do|can) (?:i|we|you)|to) ", "how to "),
        (r"^como (?:puedo|podemos|se puede) ", "como "),
        (r"^как (?:можно|мне|мне можно|я могу|мы можем) ", "как "),
    )
)
_WITHOUT_ACCENT = {
    "qué": "que",
    "cómo": "como",
    "dónde": "donde",
    "cuándo": "cuando",
    "cuál": "cual",
    "cuáles": "cuales",
    "quién": "quien",
    "quiénes": "quienes",
    "cuánto": "cuanto",
    "cuánta": "cuanta",
    "cuántos": "cuantos",
    "cuántas": "cuantas",
}
"""Only as the first word: inside a sentence the accent of `qué` or `cómo` can change it."""


def fold(question: str) -> str:
    """Give the question's wording without case, punctuation, courtesy and contractions.

    Two questions with the same folded wording get the same answer. Signs of numbers, codes and
    operators stay (`3.5`, `C++`, `.NET`, `!=`). Never empty for a question that is not: where
    only courtesy or signs are left, they stay.
    """
    text = unicodedata.normalize("NFC", question).casefold().replace("ё", "е").strip()
    bare = _without_courtesy(text.replace("’", "'"))
    words = _words(bare) or _words(text)
    if not words:
        return text
    words[0] = _WITHOUT_ACCENT.get(words[0], words[0])
    return _rewrite(" ".join(words), (*_CONTRACTIONS, *_FRAMES))


def _without_courtesy(text: str) -> str:
    while (shorter := _COURTESY.sub("", text, count=1)) != text:
        text = shorter
    return text


def _words(text: str) -> list[str]:
    """Split at white space; take punctuation off the words, and lone marks off both ends."""
    words = [_strip(token) for token in text.split()]
    while words and not words[-1].strip(_MARKS):
        words.pop()
    while words and not words[0].strip(_MARKS):
        words.pop(0)
    return words


def _strip(token: str) -> str:
    """Take sentence marks off a word; a token without a letter or digit is an operator."""
    if not any(char.isalnum() for char in token):
        return token
    return token.lstrip(_OPENING).rstrip(_CLOSING)


def _rewrite(text: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
