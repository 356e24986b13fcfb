"""Eval results: what one genome got for one question, in the store and as scores."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import load_only

from evolution.buying.purchases import Judged, PaidFor
from evolution.parts import Phase as Phase
from judge.verdict import Verdict
from models.tables import EvolutionEvalResult, Question, table_of

MAX_RESPONSE_CHARS = 2_000

_RESULT = table_of(EvolutionEvalResult)
_KEEP = insert(_RESULT).on_conflict_do_nothing().returning(_RESULT.c.id)


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

    @property
    def timed_ms(self) -> float:
        """Latency of an answer that called a model; 0 (not timed) for one of built-in parts.

        How long these take tells how busy the lab's machine is, not how they will serve.
        """
        return self.latency_ms if self.tokens else 0.0


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
    tokens: int = 0
    micros: int = 0


def outcome_of(paid: PaidFor, judged: Judged) -> Outcome:
    """Describe one judged answer: scored, unscored with its reason, or failed with 0."""
    judgement = judged.judgement
    response = paid.answer.answer[:MAX_RESPONSE_CHARS]
    given = Outcome(
        response,
        paid.latency_ms,
        paid.key,
        judge_score=0.0,
        judge_reasoning="the answer failed",
        tokens=paid.tokens,
        micros=paid.micros,
    )
    if judgement is None:
        return given
    if isinstance(judgement, Verdict):
        return replace(
            given,
            judge_score=judgement.score,
            judge_reasoning=judgement.reasoning,
            criteria={k: v.model_dump(mode="json") for k, v in judgement.criteria.items()},
            judge_raw=judgement.raw,
        )
    return replace(
        given,
        judge_score=None,
        judge_reasoning="",
        unscored_reason=judgement.reason,
        judge_raw=judgement.raw,
    )


async def load_known(
    tx: AsyncSession,
    cycle_id: UUID,
    genome_id: UUID,
    phase: Phase,
    questions: Collection[UUID] | None = None,
) -> dict[UUID, Scored]:
    """Give what the cycle has of this genome already, by question; of `questions` alone if given.

    Only what scores are made of is read: no texts.
    """
    columns = ("question_id", "judge_score", "bonus", "criteria", "latency_ms", "tokens", "micros")
    query = select(EvolutionEvalResult).options(
        load_only(*(getattr(EvolutionEvalResult, name) for name in columns))
    )
    if questions is not None:
        query = query.where(EvolutionEvalResult.question_id.in_(questions))
    rows = await tx.scalars(query.filter_by(cycle_id=cycle_id, genome_id=genome_id, phase=phase))
    return {row.question_id: _scored(row.question_id, row) for row in rows}


@dataclass(frozen=True)
class Shelf:
    """Where an eval result belongs."""

    tenant: UUID
    cycle_id: UUID
    genome_id: UUID
    phase: Phase


async def keep_result(
    tx: AsyncSession, shelf: Shelf, question: Question, outcome: Outcome
) -> tuple[Scored, bool]:
    """Store one eval result; give its score, or that of whoever was first, and who that was."""
    row = {
        "tenant_id": shelf.tenant,
        "cycle_id": shelf.cycle_id,
        "genome_id": shelf.genome_id,
        "phase": shelf.phase,
        "question_id": question.id,
        "query": question.text,
        **vars(outcome),
    }
    if (await tx.execute(_KEEP, row)).first() is not None:
        return _scored(question.id, outcome), True
    ids = [question.id]
    known = await load_known(tx, shelf.cycle_id, shelf.genome_id, shelf.phase, ids)
    return known[question.id], False


def _scored(question_id: UUID, result: Outcome | EvolutionEvalResult) -> Scored:
    score = result.judge_score
    return Scored(
        question_id,
        None if score is None else score + result.bonus,
        result.bonus,
        failed=score is not None and not result.criteria,
        latency_ms=result.latency_ms,
        tokens=result.tokens,
        micros=result.micros,
    )
