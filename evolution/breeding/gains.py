"""What genomes gained over the incumbent of their cycle, read from the eval results."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from models.genome import Layer

# Repeated judgings of one question are averaged first: the unit is the question. Numbers of a
# proof that has not ended are not read. A window pairs in one pass, where a join of two such
# sums is planned as nested loops.
_GAINS = text("""
    with night as materialized (
        select id as cycle_id, created_at as started, result is not null as ended,
               (plan ->> 'incumbent_id')::uuid as incumbent_id
        from cycle where domain = :domain and layer = :layer
    ), score as (
        select r.genome_id, cycle_id, r.phase, r.question_id, started, incumbent_id,
               avg(r.judge_score + r.bonus) as score
        from evolution_eval_result r join night using (cycle_id)
        where r.judge_score is not null
          and (r.phase = 'search' or (r.phase = 'confirm' and ended))
        group by r.genome_id, cycle_id, r.phase, r.question_id, started, incumbent_id
    ), paired as (
        select *, score - max(score) filter (where genome_id = incumbent_id)
                          over (partition by cycle_id, phase, question_id) as gain
        from score
    )
    select genome_id, phase, avg(gain) as mean, count(*) as pairs,
           stddev_samp(gain) / sqrt(count(*)) as error
    from paired
    where gain is not null and genome_id <> incumbent_id
    group by genome_id, cycle_id, phase, started
    order by phase = 'confirm', started, cycle_id
""")


@dataclass(frozen=True)
class MeasuredGain:
    """Mean paired difference on common questions, in points of 10."""

    mean: float
    error: float | None
    """Standard error; None where there is one pair alone."""
    pairs: int
    proven_on: bool
    """On the fresh questions of a proof, not on those of the search."""

    def __str__(self) -> str:
        mean = f"{self.mean:+.2f}".replace("-", "\u2212")
        error = "" if self.error is None else f" ± {self.error:.2f}"
        kind = "fresh" if self.proven_on else "search"
        noun = "question" if self.pairs == 1 else "questions"
        return f"{mean}{error} of 10 on {self.pairs} {kind} {noun}"


async def load_gains(tx: AsyncSession, domain: str, layer: Layer) -> dict[UUID, MeasuredGain]:
    """Give for each genome that this tenant's cycles evaluated its gain over their incumbent.

    A proof counts more than a search, a later cycle more than an earlier one.
    """
    rows = await tx.execute(_GAINS, {"domain": domain, "layer": layer})
    return {
        row.genome_id: MeasuredGain(row.mean, row.error, row.pairs, row.phase == "confirm")
        for row in rows
    }
