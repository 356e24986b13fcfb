"""Routers: by words, and by a model."""

import json

import pytest

from kit.errors import ProviderUnreachable
from kit.fakes import ScriptedChat
from models.defaults import DEFAULT_SET
from models.genes import Instruction
from pipeline.keyword_classifier import KeywordClassifier
from pipeline.llm_classifier import LlmClassifier

ROUTING = DEFAULT_SET.routing


@pytest.mark.parametrize(
    ("question", "query_type"),
    [
        ("How do I start a cycle?", "how_to"),
        ("How many looks does the proof have?", "factual_lookup"),
        ("Why is the proof fresh?", "explanation"),
        ("What is the budget?", "factual_lookup"),
        ("¿Cómo inicio un ciclo?", "how_to"),
        ("¿Por qué se juzga otra vez?", "explanation"),
        ("¿Cuánto dura la sesión?", "factual_lookup"),
        ("Как запустить цикл?", "how_to"),
        ("Почему кандидат отклонён?", "explanation"),
        ("Сколько стоит цикл?", "factual_lookup"),
        ("What does ОбработкаЗаполнения do?", "bsl_help"),
        ("std437", "bsl_help"),
        ("Как объявить процедуру в модуле?", "bsl_help"),
        ("What does chunk_count mean?", "factual_lookup"),
        ("", "factual_lookup"),
    ],
)
async def test_question_words_tell_the_type(question: str, query_type: str) -> None:
    assert await KeywordClassifier().classify(question, ROUTING) == query_type


async def test_a_model_is_asked_with_the_prompt_of_the_genome() -> None:
    chat = ScriptedChat([json.dumps({"query_type": "how_to"})])
    prompt = (Instruction(id="one", text="{{slot:question}} of {{slot:query_types}} {x}"),)
    genome = ROUTING.model_copy(update={"classifier_prompt": prompt})
    assert await LlmClassifier(chat).classify("{{slot:query_types}}?", genome) == "how_to"
    user = chat.requests[0].messages[-1].content
    assert user.startswith("{{slot:query_types}}? of - factual_lookup:")
    assert user.endswith(" {x}")


@pytest.mark.parametrize("reply", ["how_to", '{"query_type": "poem"}', "", '{"query_type": 1}'])
async def test_a_type_that_cannot_be_read_is_a_question_for_a_fact(reply: str) -> None:
    assert await LlmClassifier(ScriptedChat([reply])).classify("?", ROUTING) == "factual_lookup"


async def test_an_outage_is_not_taken_for_a_type() -> None:
    chat = ScriptedChat([ProviderUnreachable("down")])
    with pytest.raises(ProviderUnreachable):
        await LlmClassifier(chat).classify("?", ROUTING)


def test_only_the_built_in_router_cannot_obey_the_prompt() -> None:
    assert KeywordClassifier.inert_genes == {"routing.classifier_prompt*"}
    assert LlmClassifier(ScriptedChat([])).inert_genes == frozenset()
