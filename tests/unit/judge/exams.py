"""Exams for the tests of judges."""

from typing import Any

from judge.port import Exam
from kit.marks import marked_numbers
from kit.refusals import refusal_in
from models.contract import Answer, Chunk, Citation, Reference

QUESTION = "How long is the setup link valid?"
FRAGMENTS = (
    "The link to create the first admin is printed once. The setup link is valid for 24 hours.",
    "A session in the admin area lasts 12 hours. Passwords have 12 characters.",
)
REFERENCE = Reference(answer="The setup link is valid for 24 hours.", source_ids=("doc1",))
UNANSWERABLE = Reference(answerable=False)
GOOD = "The setup link is valid for 24 hours. [1]"


def make_chunks(texts: tuple[str, ...] = FRAGMENTS, language: str = "en") -> tuple[Chunk, ...]:
    return tuple(
        Chunk(
            chunk_id=f"c{number}",
            source_id=f"doc{number}",
            title=f"Document {number}",
            text=text,
            url_or_internal_ref=f"doc{number}.md",
            language=language,
        )
        for number, text in enumerate(texts, start=1)
    )


def make_answer(text: str, **changes: Any) -> Answer:
    """An answer that lists what it marks as its sources."""
    sources = tuple(make_citation(number) for number in marked_numbers(text))
    return Answer(answer=text, sources=sources).model_copy(update=changes)


def make_citation(number: int) -> Citation:
    return Citation(
        number=number,
        source_id=f"doc{number}",
        title=f"Document {number}",
        url_or_internal_ref=f"doc{number}.md",
        chunk_id=f"c{number}",
    )


def make_exam(answer: Answer | str = GOOD, **changes: Any) -> Exam:
    """The exam on the setup link; a text of `-` refuses."""
    if answer == "-":
        answer = Answer(answer=refusal_in("en"), abstained=True)
    fields: dict[str, Any] = {
        "question": QUESTION,
        "language": "en",
        "answer": make_answer(answer) if isinstance(answer, str) else answer,
        "chunks": make_chunks(),
        "reference": REFERENCE,
    }
    return Exam(**fields | changes)
