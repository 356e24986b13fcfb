"""Eval results: what one genome got for one question, in the store and as scores."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.purchases import Judged, PaidFor
from judge.verdict import Verdict
from models.tables import EvolutionEvalResult, Question

Phase = Literal["search", "confirm", "session"]

MAX_RESPONSE_CHARS = 2_000


@dataclass(frozen=True)
class Scored:
    """One question under one genome, 0-10 plus bonus; None where the judging failed."""

    question_id: UUID
    score: float | None
    bonus: float = 0.0
    failed: bool = False
    """The answer itself failed: it scores 0, as the genome's fault."""
    latency_ms: float = 0.0
    tokens: int = 0
    micros: int = 0
    """What the answer cost, judging not counted: millionths of the currency of the prices."""


@dataclass(frozen=True)
class Outcome:
    """The columns of an eval result that tell how it went."""

    response: str
    latency_ms: float
    answer_key: str
    judge_score: float | None
    judge_reasoning: str
    unscored_reason: str | None = None
    criteria: dict[str, Any] = field(default_factory=dict)
    judge_raw: str = ""
    bonus: float = 0.0


def outcome_of(paid: PaidFor, judged: Judged) -> Outcome:
    """Describe one judged answer: scored, unscored with its reason, or failed with 0."""
    judgement = judged.judgement
    given = (paid.answer.answer[:MAX_RESPONSE_CHARS], paid.latency_ms, paid.key)
    if judgement is None:
        return Outcome(*given, judge_score=0.0, judge_reasoning="the answer failed")
    if isinstance(judgement, Verdict):
        return Outcome(
            *given,
            judge_score=judgement.score,
            judge_reasoning=judgement.reasoning,
            criteria={k: v.model_dump(mode="json") for k, v in judgement.criteria.items()},
            judge_raw=judgement.raw,
        )
    return Outcome(
        *given,
        judge_score=None,
        judge_reasoning="",
        unscored_reason=judgement.reason,
        judge_raw=judgement.raw,
    )


async def load_known(
    tx: AsyncSession, cycle_id: UUID, genome_id: UUID, phase: Phase
) -> dict[UUID, Scored]:
    """Give what the cycle has of this genome already, by question."""
    rows = await tx.scalars(
        select(EvolutionEvalResult).filter_by(cycle_id=cycle_id, genome_id=genome_id, phase=phase)
    )
    return {r.question_id: _scored(r.question_id, r.judge_score, r.bonus, r.criteria) for r in rows}


@dataclass(frozen=True)
class Shelf:
    """Where an eval result belongs."""

    tenant: UUID
    cycle_id: UUID
    genome_id: UUID
    phase: Phase


async def keep_result(
    tx: AsyncSession, shelf: Shelf, question: Question, outcome: Outcome
) -> Scored:
    """Store one eval result, once; give its score."""
    row = {
        "tenant_id": shelf.tenant,
        "cycle_id": shelf.cycle_id,
        "genome_id": shelf.genome_id,
        "phase": shelf.phase,
        "question_id": question.id,
        "query": question.text,
        **asdict(outcome),
    }
    await tx.execute(insert(EvolutionEvalResult).values(row).on_conflict_do_nothing())
    return _scored(question.id, outcome.judge_score, outcome.bonus, outcome.criteria)


def _scored(
    question_id: UUID, score: float | None, bonus: float, criteria: dict[str, Any]
) -> Scored:
    failed = score is not None and not criteria
    return Scored(question_id, None if score is None else score + bonus, bonus, failed)
