"""The built-in router: it tells the type of a question by English, Spanish and Russian words."""

import re

from models.genome import QueryType, RoutingGenome

_CODE = re.compile(
    r"\b\w+(?:\.\w+)*\(|\b[a-zа-яё]+[A-ZА-ЯЁ][a-zа-яё]\w*|\b[А-ЯЁ][а-яё]+[А-ЯЁ][а-яё]\w*|"
    r"\b(?:1[CС]|BSL)\b|(?i:(?:\b|#)(?:std|acc|апк|стандарт)[ :-]?\d+\b)"
)
"""Calls, camel case, and the numbers of coding standards; an option in snake case is no code."""
_CODE_WORDS = re.compile(
    r"(?i)\b(?:процедур|функци|модул[ьяюе]|реквизит|справочник|обработчик|"
    r"регистр\w* (?:накопления|сведений)|procedimiento|módulo)"
)
_HOW_TO = re.compile(
    r"(?i)\b(?:how (?:do|does|can|should|could|would|to|must|might)\b|"
    r"steps? (?:to|for)\b|walk me through|what (?:must|should) i do|where (?:do|can) i\b|"
    r"cómo (?!es\b|está\b|son\b|se llama)|pasos (?:para|de)\b|qué (?:debo|puedo) hacer|"
    r"de qué manera|dónde (?:configuro|puedo)|"
    r"как (?!называ|завис|долго|часто|много|велик|ой\b)|каким образом|"
    r"что (?:(?:нужно|надо) )?с?делать|"
    r"пошагов|где (?:настро|задать|указать))"
)
_EXPLANATION = re.compile(
    r"(?i)\b(?:why|explain|how come|what is the (?:reason|difference|point)|reason for|"
    r"describe|compare|what happens (?:if|when)|isn't|doesn't|"
    r"por qué|explica\w*|describe|diferencia|para qué|a qué se debe|qué pasa (?:si|cuando)|"
    r"почему|зачем|объясни\w*|поясни\w*|отчего|опиши\w*|в ч[её]м (?:разница|смысл|причина)|"
    r"чем отлича\w*|что (?:будет|произойд[её]т),? если)"
)


def find_type(question: str) -> QueryType:
    """Tell the type; without any sign of another one the question looks up a fact.

    Code in the question makes it one about BSL code. A plain `how` with a measure (`how many`,
    `cuánto`, `сколько`) asks for a fact.
    """
    if _CODE.search(question) or _CODE_WORDS.search(question):
        return "bsl_help"
    if _EXPLANATION.search(question):
        return "explanation"
    if _HOW_TO.search(question):
        return "how_to"
    return "factual_lookup"


class KeywordClassifier:
    """Sorts by question words alone; the prompt of the genome does not move it."""

    name = "built-in keyword classifier"
    inert_genes = frozenset({"routing.classifier_prompt*"})

    async def classify(self, question: str, genome: RoutingGenome) -> QueryType:
        return find_type(question)
