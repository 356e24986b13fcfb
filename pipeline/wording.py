"""When two questions are the same question: folded wording, nothing cleverer.

Sameness decides what is served from the cache, and near-duplicates can mean the opposite
(a negation, a number, two names exchanged). So only what cannot change a meaning is folded:
case, punctuation, white space and words of courtesy around the question.
"""

import re
import unicodedata

_COURTESY = re.compile(
    r"^(please|pls|hi|hello|hey|tell me|please tell me|can you tell me|could you tell me|"
    r"por favor|hola|dime|por favor dime|puedes decirme|podrías decirme|"
    r"пожалуйста|привет|здравствуйте|скажи|скажите|скажи пожалуйста|скажите пожалуйста|"
    r"подскажи|подскажите|подскажи пожалуйста|подскажите пожалуйста)\b\s*"
    r"|\s*\b(please|pls|thanks|thank you|por favor|gracias|пожалуйста|спасибо)$"
)
_BETWEEN_WORDS = re.compile(r"[^\w%€$+#.,/*<>=&@^|\\-]+|(?<!\w)[.,]|[.,](?!\w)")
"""Signs inside numbers and identifiers (3.5, 1,000, C++, std#437, a/b) are part of the word."""


def fold(question: str) -> str:
    """Give the question's wording without case, punctuation and courtesy.

    Two questions with the same folded wording get the same answer. Never empty for a question
    that is not: where only courtesy is left, it stays.
    """
    text = unicodedata.normalize("NFKC", question).casefold()
    words = " ".join(_BETWEEN_WORDS.sub(" ", text).split())
    bare = words
    while (shorter := _COURTESY.sub("", bare, count=1).strip()) != bare:
        bare = shorter
    return bare or words or text.strip()
