"""Which questions count as the same: all that a cached answer may be served to."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.wording import fold

FILE = Path(__file__).parents[3] / "benchmarks" / "cache_pairs.jsonl"
PAIRS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
HARMLESS = {"courtesy", "punctuation", "accents", "letters"}


@pytest.mark.parametrize("pair", [p for p in PAIRS if not p["same"]], ids=lambda p: p["a"])
def test_near_duplicates_that_mean_another_thing_are_different(pair: dict[str, str]) -> None:
    assert fold(pair["a"]) != fold(pair["b"])


@pytest.mark.parametrize(
    "pair", [p for p in PAIRS if p["same"] and p["kind"] in HARMLESS], ids=lambda p: p["b"]
)
def test_courtesy_and_punctuation_do_not_make_another_question(pair: dict[str, str]) -> None:
    assert fold(pair["a"]) == fold(pair["b"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I reset it?", "How to reset it"),
        ("What's a gene?", "What is a gene?"),
        ("What isn’t cached?", "what is not cached"),
        ("¿Cómo puedo borrarlo?", "cómo se puede borrarlo"),
        ("Как мне удалить отчёт?", "Как можно удалить отчет?"),
        ("Hi, could you tell me when it closes? Thanks!", "When it closes"),
    ],
)
def test_usual_ways_to_begin_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What does != mean?", "What does = mean?"),
        ("What does [] mean?", "What does {} mean?"),
        ("What is .NET?", "What is a net?"),
        ("What is 2³?", "What is 23?"),
        ("What costs plan A?", "What costs the plan?"),
        ("How do you say please?", "How do you say thank you?"),
        ("Is -5 allowed?", "Is 5 allowed?"),
        ("¿Dice que viene?", "¿Dice qué viene?"),
    ],
)
def test_signs_that_carry_meaning_are_kept(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize("question", ["???", "Please!", "Hello", "спасибо", "¿¿"])
def test_a_question_of_courtesy_or_signs_alone_is_still_one(question: str) -> None:
    assert fold(question)


@given(st.text(min_size=1).filter(str.strip))
def test_folding_gives_something_and_is_stable(question: str) -> None:
    assert fold(question)
    assert fold(question) == fold(f"  {question}\n")
