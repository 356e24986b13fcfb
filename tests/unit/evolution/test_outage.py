"""A judge that fails on one question is no outage; one that fails on five in a row is."""

import pytest

from evolution.buying.outage import OUTAGE_AFTER, Outage
from kit.errors import ProviderBusy, ProviderError, ProviderUnreachable


def fail(outage: Outage, questions: range, error: type[ProviderError] = ProviderBusy) -> None:
    for n in questions:
        outage.note_failure(f"question {n}", error(f"failure {n}"))


def test_the_fifth_question_in_a_row_raises_the_first_cause() -> None:
    outage = Outage()
    fail(outage, range(OUTAGE_AFTER - 1))
    with pytest.raises(ProviderBusy, match="failure 0"):
        outage.note_failure("another", ProviderUnreachable("the last"))


def test_one_question_that_fails_for_every_genome_is_no_outage() -> None:
    outage = Outage()
    for _ in range(40):
        fail(outage, range(2))


def test_an_answer_in_between_ends_the_row() -> None:
    outage = Outage()
    for _ in range(3):
        fail(outage, range(OUTAGE_AFTER - 1))
        outage.end()
