"""What the mutator reads: the incumbent's worst answers, live dialogues, what failed before."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.shapes import Dialogue
from kit.stemming import terms
from models.contract import Frozen
from models.genome import Layer
from models.lifecycle import Status
from models.tables import CachedAnswer, EvolutionEvalResult, EvolutionGenome, Question

WORST_SHOWN = 6
DIALOGUES_SHOWN = 6
TRIED_SHOWN = 20
ALIKE = 0.6
"""Share of common terms from which a live question counts as a near-duplicate."""


class Failure(Frozen):
    """A weak answer of the incumbent and why it is weak."""

    question: str
    answer: str
    score: float
    reasoning: str


class Evidence(Frozen):
    failures: tuple[Failure, ...]
    dialogues: tuple[Dialogue, ...]
    tried: tuple[str, ...]


async def load_failures(tx: AsyncSession, cycle_id: UUID, genome_id: UUID) -> tuple[Failure, ...]:
    """Give the incumbent's worst answers to the search questions, worst first."""
    rows = await tx.scalars(
        select(EvolutionEvalResult)
        .filter_by(cycle_id=cycle_id, genome_id=genome_id, phase="search")
        .where(EvolutionEvalResult.judge_score.is_not(None))
        .order_by(EvolutionEvalResult.judge_score, EvolutionEvalResult.query)
        .limit(WORST_SHOWN)
    )
    return tuple(
        Failure(
            question=row.query,
            answer=row.response,
            score=row.judge_score or 0.0,
            reasoning=row.judge_reasoning,
        )
        for row in rows
    )


async def load_dialogues(
    tx: AsyncSession, corpus_id: UUID, confirm: Sequence[UUID]
) -> tuple[Dialogue, ...]:
    """Give the newest live dialogues of the answer cache, none like a confirm question."""
    hidden = select(Question.text).where(Question.id.in_(confirm))
    secret = [_words(text) for text in await tx.scalars(hidden)]
    rows = await tx.scalars(
        select(CachedAnswer)
        .filter_by(corpus_id=corpus_id)
        .order_by(CachedAnswer.created_at.desc(), CachedAnswer.id)
        .limit(10 * DIALOGUES_SHOWN)
    )
    shown = [row for row in rows if not _is_like(_words(row.question), secret)]
    return tuple(
        Dialogue.model_validate(
            {"history": row.history, "question": row.question, "answer": row.answer["answer"]}
        )
        for row in shown[:DIALOGUES_SHOWN]
    )


async def load_tried(tx: AsyncSession, domain: str, layer: Layer) -> tuple[str, ...]:
    """Give the notes of proposals that were tried before and did not come to serve."""
    rows = await tx.scalars(
        select(EvolutionGenome.notes)
        .filter_by(domain=domain, layer=layer)
        .where(EvolutionGenome.status.in_((Status.EVALUATED, Status.REJECTED)))
        .order_by(EvolutionGenome.created_at.desc(), EvolutionGenome.id)
        .limit(TRIED_SHOWN)
    )
    return tuple(rows)


def _words(text: str) -> set[str]:
    return set(terms(text, ("en", "es", "ru")))


def _is_like(words: set[str], others: Sequence[set[str]]) -> bool:
    return any(len(words & other) >= ALIKE * len(words | other) for other in others if words)
