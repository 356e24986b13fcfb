"""What the cache policy lets in, and what no policy lets in."""

from typing import Any

import pytest

from models.defaults import DEFAULT_SET
from models.genome import CachePolicyGenome
from pipeline.personal import is_personal
from pipeline.steps.admit import may_keep, why_not_kept
from tests.support.pipelines import CLOSES, QUESTION

OPEN = CachePolicyGenome(
    min_supportedness=0,
    require_sources=False,
    min_sources_count=0,
    block_if_warnings=False,
    confidence_key_points_min=0,
)


def kept(policy: dict[str, Any], **answer: Any) -> bool:
    given = CLOSES.model_copy(update=answer)
    return may_keep(OPEN.model_copy(update=policy), QUESTION, given)


def test_the_default_policy_keeps_a_good_answer() -> None:
    assert why_not_kept(DEFAULT_SET.cache_policy, QUESTION, CLOSES) == ""


@pytest.mark.parametrize(
    ("gene", "answer"),
    [
        ({"min_supportedness": 0.7}, {"supportedness": 0.69}),
        ({"require_sources": True}, {"sources": ()}),
        ({"min_sources_count": 2}, {}),
        ({"block_if_warnings": True}, {"warnings": ("the sources contradict each other",)}),
        ({"confidence_key_points_min": 2}, {}),
    ],
)
def test_each_gene_of_the_policy_keeps_something_out(
    gene: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert not kept(gene, **answer)
    assert kept({}, **answer)


def test_a_bound_itself_is_enough() -> None:
    assert kept({"min_supportedness": 0.7, "min_sources_count": 1}, supportedness=0.7)


@pytest.mark.parametrize(
    "answer",
    [
        {"finish_reason": "length"},
        {"finish_reason": "error", "answer": "upstream error 500"},
        {"answer": ""},
        {"answer": " \n"},
        {"abstained": True},
    ],
)
def test_no_policy_keeps_what_is_cut_failed_empty_or_refused(answer: dict[str, Any]) -> None:
    assert not kept({}, **answer)


@pytest.mark.parametrize(
    "question",
    [
        "What is my account balance?",
        "What's MY balance",
        "Where are our invoices?",
        "How much do I owe?",
        "¿Cuál es mi saldo?",
        "¿Dónde están nuestras facturas?",
        "¿Cuánto tengo en la cuenta?",
        "Какой мой баланс?",
        "Сколько денег на моём счёте?",
        "Где наши счета?",
        "Сколько у меня осталось?",
        "Wo ist meine Rechnung?",
        "Quelles sont mes factures ?",
        "Qual è il mio saldo?",
        "Qual é o meu saldo?",
    ],
)
def test_a_personal_question_is_never_kept(question: str) -> None:
    assert is_personal(question)
    assert not may_keep(OPEN, question, CLOSES)


@pytest.mark.parametrize(
    "question",
    [
        "How do I install it?",
        "Tell me the limits of the API.",
        "Which mineral is that?",
        "¿Cómo puedo borrar un documento?",
        "¿Cuánto cuesta al mes?",
        "Как мне удалить документ?",
        "Когда настал момент истины?",
        "Ma che cosa è?",
    ],
)
def test_a_question_that_anybody_could_ask_is_not_personal(question: str) -> None:
    assert not is_personal(question)
