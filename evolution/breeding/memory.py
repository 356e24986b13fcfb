"""What former nights have paid for: judged answers that this night's search starts from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.paid import hash_key
from models.genome import LAYERS, Genome, GenomeSet, Layer, content_hash
from models.tables import Cycle, EvolutionEvalResult, EvolutionGenome
from models.upgrade import load_genome
from pipeline.ports import Scope
from pipeline.run import PIPELINE_VERSION

MOST_REMEMBERED = 6_000
"""Judged answers that a search takes along, the newest first: a fit stays below a second."""

JUDGES_OF_WORTH = ("reader", "router", "embedder", "judge")


@dataclass(frozen=True)
class Remembered:
    """One judged answer of a former cycle."""

    genome_id: UUID
    question_id: UUID
    score: float


def context_of(layer: Layer, genomes: GenomeSet, scope: Scope, models: dict[str, str]) -> str:
    """Name everything that scores depend on beside the layer's own genome.

    Scores of another context are not comparable: another corpus, reader, judge or other layer.
    """
    others = [content_hash(genomes.of(each)) for each in LAYERS if each != layer]
    roles = [models.get(role) for role in JUDGES_OF_WORTH]
    settings: dict[str, Any] = scope.settings.model_dump(mode="json")
    corpus = [str(scope.corpus_id), scope.corpus_version, scope.abstain_below]
    return hash_key(layer, others, roles, settings, corpus, PIPELINE_VERSION)


async def find_remembered(
    tx: AsyncSession, domain: str, layer: Layer, context: str
) -> tuple[UUID, ...]:
    """List the ended cycles whose scores are comparable, newest first."""
    return tuple(
        await tx.scalars(
            select(Cycle.id)
            .filter_by(domain=domain, layer=layer)
            .where(Cycle.plan["context"].astext == context, Cycle.finished_at.is_not(None))
            .order_by(Cycle.created_at.desc(), Cycle.id)
        )
    )


async def load_remembered(tx: AsyncSession, cycles: Sequence[UUID]) -> list[Remembered]:
    """Load the judged answers of `cycles`, of searches and proofs alike."""
    result = EvolutionEvalResult
    rows = await tx.execute(
        select(result.genome_id, result.question_id, result.judge_score + result.bonus)
        .where(result.cycle_id.in_(cycles), result.judge_score.is_not(None))
        .where(result.phase.in_(("search", "confirm")))
        .order_by(result.created_at.desc(), result.id)
        .limit(MOST_REMEMBERED)
    )
    return [Remembered(genome, question, float(score or 0)) for genome, question, score in rows]


async def load_genomes(tx: AsyncSession, ids: set[UUID]) -> dict[UUID, Genome]:
    """Load genomes by their ids."""
    rows = await tx.scalars(select(EvolutionGenome).where(EvolutionGenome.id.in_(ids)))
    return {row.id: load_genome(row.content) for row in rows}
