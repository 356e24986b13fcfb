"""The handbook's questions can prove something, and cannot be answered by their own words."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from lab.library import HANDBOOK

QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (HANDBOOK / "queries.jsonl").read_text().splitlines()
]
GOLD = dict(
    line.split("\t")[:2] for line in (HANDBOOK / "qrels" / "test.tsv").read_text().splitlines()[1:]
)


def runs_of_four(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[i : i + 4]) for i in range(len(words) - 3)}


def pages(language: str) -> list[Path]:
    return sorted((HANDBOOK / language).glob("*.md"))


def test_it_is_whole_in_three_languages() -> None:
    headings = {
        language: [page.read_text().count("\n## ") for page in pages(language)]
        for language in ("en", "es", "ru")
    }
    assert len(headings["en"]) == 14
    assert headings["en"] == headings["es"] == headings["ru"]


def test_there_are_questions_enough_for_a_proof_and_a_tenth_has_no_answer() -> None:
    assert len(QUESTIONS) >= 150
    assert len({q["text"] for q in QUESTIONS}) == len(QUESTIONS)
    unanswerable = sum(not q["metadata"]["answerable"] for q in QUESTIONS)
    assert 0.08 <= unanswerable / len(QUESTIONS) <= 0.12
    assert min(Counter(q["metadata"]["lang"] for q in QUESTIONS).values()) >= 50


def test_every_question_has_a_reference_and_the_answerable_ones_a_page() -> None:
    assert all(q["metadata"]["answer"].strip() for q in QUESTIONS)
    answerable = {q["_id"] for q in QUESTIONS if q["metadata"]["answerable"]}
    assert answerable == set(GOLD)
    assert all((HANDBOOK / page).is_file() for page in GOLD.values())


def test_no_question_shares_four_words_in_a_row_with_the_page_that_answers_it() -> None:
    shared = {
        q["_id"]
        for q in QUESTIONS
        if q["_id"] in GOLD
        and runs_of_four(q["text"]) & runs_of_four((HANDBOOK / GOLD[q["_id"]]).read_text())
    }
    assert shared == set()
