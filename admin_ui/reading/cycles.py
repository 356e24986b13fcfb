"""Cycles: the list, and one cycle with its race, its proof and its refusals."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from admin_ui.reading.paging import Cursor, Page, cut, page_after
from evolution.shapes import CandidateProgress, CyclePlan, CycleProgress, CycleResult
from kit.errors import NotFound
from models.diff import GeneChange, changed_genes
from models.genome import Genome, short_name
from models.tables import Approval, ApprovalDecision, Cycle, EvolutionGenome
from models.upgrade import load_genome

ENDED = ("done", "failed", "cancelled")
RESTING = (*ENDED, "paused")
"""Nothing moves on the page of such a cycle."""


@dataclass(frozen=True)
class Runner:
    """One genome of the race, with what makes it different from the incumbent."""

    progress: CandidateProgress
    changes: tuple[GeneChange, ...]


@dataclass(frozen=True)
class CycleView:
    """One cycle as its page shows it."""

    row: Cycle
    plan: CyclePlan | None
    progress: CycleProgress
    result: CycleResult | None
    incumbent: str | None
    runners: tuple[Runner, ...]
    """Best first; the incumbent is among them once it was answered."""
    approval_id: UUID | None
    verdict: str | None
    """What became of the promoted genome; None where none was promoted."""

    @property
    def is_over(self) -> bool:
        return self.row.status in ENDED

    @property
    def rests(self) -> bool:
        return self.row.status in RESTING

    @property
    def actions(self) -> tuple[str, ...]:
        """What a person may ask of it now: `pause`, `resume`, `cancel`."""
        if self.row.wish == "cancel" or self.row.status in ("done", "cancelled"):
            return ()
        waits = self.row.wish == "pause" or self.row.status in ("paused", "failed")
        return ("resume" if waits else "pause", "cancel")

    @property
    def challengers(self) -> tuple[Runner, ...]:
        return tuple(r for r in self.runners if r.progress.state != "incumbent")

    @property
    def seen(self) -> str:
        """Names this state: it changes whenever the page would."""
        row = self.row
        spent = [row.spent, row.reserved, row.spent_calls]
        state = [row.status, row.wish, *spent, row.progress, row.result, row.error]
        text = json.dumps([*state, str(self.approval_id), self.verdict], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        if self.result is not None and self.result.seconds:
            return self.result.seconds
        if self.row.started_at is None or self.row.finished_at is None:
            return None
        return (self.row.finished_at - self.row.started_at).total_seconds()


async def load_cycles(tx: AsyncSession, cursor: Cursor | None) -> Page[Cycle]:
    """Give one page of cycles, newest first, and how many there are in all."""
    total = await tx.scalar(select(func.count()).select_from(Cycle)) or 0
    rows = list(await tx.scalars(page_after(select(Cycle), Cycle, cursor)))
    return cut(rows, cursor, total)


async def load_cycle(tx: AsyncSession, cycle_id: UUID) -> CycleView:
    """Give a cycle with the changed genes of each candidate. Raises NotFound."""
    row = await tx.scalar(select(Cycle).filter_by(id=cycle_id))
    if row is None:
        raise NotFound("there is no such cycle")
    plan = CyclePlan.model_validate(row.plan) if row.plan else None
    progress = CycleProgress.model_validate(row.progress)
    genomes = await _load_genomes(tx, [c.genome_id for c in progress.candidates])
    base = plan.genomes.of(row.layer) if plan else None  # type: ignore[arg-type]
    return CycleView(
        row=row,
        plan=plan,
        progress=progress,
        result=CycleResult.model_validate(row.result) if row.result else None,
        incumbent=await _name_of(tx, plan.incumbent_id) if plan else None,
        runners=_runners(progress, genomes, base),
        approval_id=await tx.scalar(select(Approval.id).filter_by(cycle_id=row.id).limit(1)),
        verdict=(await load_verdicts(tx, [row])).get(row.id),
    )


async def load_unfinished(tx: AsyncSession) -> tuple[Cycle, ...]:
    """Give up to five cycles that run or wait for a worker, those that run first."""
    order = (Cycle.status.desc(), Cycle.created_at, Cycle.id)
    query = select(Cycle).where(Cycle.status.not_in(ENDED)).order_by(*order).limit(5)
    return tuple(await tx.scalars(query))


async def load_last(tx: AsyncSession) -> Cycle | None:
    """Give the newest cycle that is over."""
    order = (Cycle.created_at.desc(), Cycle.id.desc())
    return await tx.scalar(select(Cycle).where(Cycle.status.in_(ENDED)).order_by(*order).limit(1))


async def load_verdicts(tx: AsyncSession, cycles: Iterable[Cycle]) -> dict[UUID, str]:
    """Say for each cycle that promoted a genome what became of it: a verdict, or `waiting`."""
    rows = await tx.execute(
        select(Approval.cycle_id, ApprovalDecision.verdict)
        .outerjoin(ApprovalDecision, ApprovalDecision.approval_id == Approval.id)
        .where(Approval.cycle_id.in_([cycle.id for cycle in cycles]))
    )
    return {cycle_id: verdict or "waiting" for cycle_id, verdict in rows}


def outcome(row: Cycle, verdict: str | None = None) -> str:
    """Say in one word how a cycle stands: what became of the genome that it promoted, else its
    own outcome, else its status."""
    if row.status != "done" or not row.result:
        return row.status
    return verdict or str(row.result["outcome"])


def sentence(row: Cycle) -> str:
    """Say in one sentence how a cycle ended; empty while it runs."""
    if row.error:
        return row.error
    return str(row.result.get("sentence", "")) if row.result else ""


async def _load_genomes(tx: AsyncSession, ids: list[UUID]) -> dict[UUID, Genome]:
    rows = await tx.scalars(select(EvolutionGenome).where(EvolutionGenome.id.in_(ids)))
    return {row.id: load_genome(row.content) for row in rows}


async def _name_of(tx: AsyncSession, genome_id: UUID) -> str | None:
    digest = await tx.scalar(select(EvolutionGenome.content_hash).filter_by(id=genome_id))
    return short_name(digest) if digest else None


def _runners(
    progress: CycleProgress, genomes: dict[UUID, Genome], base: Genome | None
) -> tuple[Runner, ...]:
    ranked = sorted(progress.candidates, key=_rank)
    return tuple(Runner(c, _changes(base, genomes.get(c.genome_id))) for c in ranked)


def _rank(candidate: CandidateProgress) -> tuple[bool, int, float]:
    """Who went furthest comes first, and among those the best; nothing known comes last."""
    delta = 0.0 if candidate.state == "incumbent" else candidate.delta
    return delta is None, -candidate.answered, -(delta or 0.0)


def _changes(base: Genome | None, genome: Genome | None) -> tuple[GeneChange, ...]:
    return changed_genes(base, genome) if base is not None and genome is not None else ()
