"""Whether a question speaks of what is the asker's own: such an answer may be right for one alone.

The sign is a possessive of the first person, or a first person that has, owes or is something.
A bare `I` is none: `How do I install it?` asks for everybody (decision 0041).
"""

import re

from kit.language import detect_language

_OWN = re.compile(
    r"\b(?:"
    r"my|mine|ours?|(?:am|have) i|do (?:i|we) (?:have|owe)|i (?:am|have|owe)|i['’](?:m|ve)|"
    r"mis?|m[ií][oa]s?|nuestr[oa]s?|tengo|tenemos|estoy|soy|"
    r"мой|моя|мо[её]|мои|моего|моей|моему|моим|моими|моих|мо[её]м|мою|"
    r"наш(?:а|е|и|его|ей|ему|им|ими|их|ем|у)?|у (?:меня|нас)|я долж(?:ен|на)|"
    r"мій|моє|мої|моєї|моєму|"
    r"mein(?:e|er|em|en|es)?|unser(?:e|er|em|en|es)?|"
    r"meus?|minhas?|noss[oa]s?|miei|mie|nostr[oaie]|mijn|onze|mój|moja|moje|mojego|mojej"
    r")\b",
    re.IGNORECASE,
)
_OWN_IN_FRENCH = re.compile(r"\b(?:mon|ma|mes|notre|nos|mienn?e?s?|j['’]ai)\b", re.IGNORECASE)
"""Told apart by language, because `mes` is a month in Spanish and `ma` a `but` in Italian."""


def is_personal(question: str) -> bool:
    """Tell whether the answer may hold for this asker alone."""
    if _OWN.search(question):
        return True
    return bool(_OWN_IN_FRENCH.search(question)) and detect_language(question) == "fr"
