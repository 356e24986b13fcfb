"""Approvals: what waits for a person, what was proven, and what was decided."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from admin_ui.reading.paging import Cursor, Page, cut, page_after
from evolution.decide import find_moved
from evolution.shapes import Pair, Proof
from kit.errors import NotFound
from models.diff import GeneChange, changed_genes
from models.genome import short_name
from models.tables import (
    Approval,
    ApprovalDecision,
    Cycle,
    EvolutionEvalResult,
    EvolutionGenome,
)
from models.upgrade import load_genome

MAX_WAITING = 20
_PROOF_PHASES = ("confirm", "replay")


@dataclass(frozen=True)
class ApprovalLine:
    """One approval as the list shows it."""

    row: Approval
    genome: EvolutionGenome
    incumbent: EvolutionGenome
    proof: Proof
    decision: ApprovalDecision | None
    moved: tuple[str, ...] = ()
    """What has changed since the proof; then it is void, and approving is refused."""

    @property
    def name(self) -> str:
        return short_name(self.genome.content_hash)

    @property
    def incumbent_name(self) -> str:
        return short_name(self.incumbent.content_hash)

    @property
    def state(self) -> str:
        """`waiting`, `void`, or the verdict of the decision."""
        if self.decision is not None:
            return self.decision.verdict
        return "void" if self.moved else "waiting"

    @property
    def sentence(self) -> str:
        return str(self.row.evidence.get("result_sentence", ""))


@dataclass(frozen=True)
class Comparison:
    """One fresh question under both genomes, with both verdicts."""

    pair: Pair
    incumbent: EvolutionEvalResult | None
    candidate: EvolutionEvalResult | None


@dataclass(frozen=True)
class ApprovalView:
    line: ApprovalLine
    changes: tuple[GeneChange, ...]
    comparisons: tuple[Comparison, ...]
    """Worst for the candidate first; what is missing on a side comes last."""
    cycle: Cycle
    models: dict[str, str]
    judge_version: str

    @property
    def search_gain(self) -> float | None:
        """What the search saw, on the questions by which it chose; None where it is not told."""
        result = self.cycle.result or {}
        gain = result.get("search_gain")
        is_its_own = result.get("finalist_id") == str(self.line.row.genome_id)
        return float(gain) if gain is not None and is_its_own else None

    @property
    def deltas(self) -> tuple[float, ...]:
        return tuple(c.pair.delta for c in self.comparisons if c.pair.delta is not None)


async def load_approvals(
    tx: AsyncSession, cursor: Cursor | None, models: dict[str, str]
) -> Page[ApprovalLine]:
    """Give one page of approvals, newest first; those undecided are checked against today."""
    total = await tx.scalar(select(func.count()).select_from(Approval)) or 0
    rows = list(await tx.scalars(page_after(select(Approval), Approval, cursor)))
    page = cut(rows, cursor, total)
    lines = [await _line(tx, row, models) for row in page.rows]
    return Page(tuple(lines), page.total, page.older, page.is_first)


async def load_waiting(tx: AsyncSession, models: dict[str, str]) -> tuple[ApprovalLine, ...]:
    """Give the newest approvals that nobody has decided; those that still hold come first."""
    order = (Approval.created_at.desc(), Approval.id.desc())
    rows = await tx.scalars(_undecided(select(Approval)).order_by(*order).limit(MAX_WAITING))
    lines = [await _line(tx, row, models) for row in rows.all()]
    return tuple(sorted(lines, key=lambda line: bool(line.moved)))


async def count_waiting(tx: AsyncSession) -> int:
    query = _undecided(select(func.count()).select_from(Approval))
    return int(await tx.scalar(query) or 0)


async def load_approval(
    tx: AsyncSession, approval_id: UUID, models: dict[str, str]
) -> ApprovalView:
    """Give an approval with all that was proven. Raises NotFound."""
    row = await tx.scalar(select(Approval).filter_by(id=approval_id))
    if row is None:
        raise NotFound("there is no such approval")
    line = await _line(tx, row, models)
    cycle = await tx.scalar(select(Cycle).filter_by(id=row.cycle_id))
    assert cycle is not None
    before, after = load_genome(line.incumbent.content), load_genome(line.genome.content)
    return ApprovalView(
        line=line,
        changes=changed_genes(before, after),
        comparisons=await _comparisons(tx, row),
        cycle=cycle,
        models=dict(row.evidence.get("models", {})),
        judge_version=str(row.evidence.get("judge_version", "")),
    )


def _undecided(query: Select[Any]) -> Select[Any]:
    decided = select(ApprovalDecision.id).where(ApprovalDecision.approval_id == Approval.id)
    return query.where(~decided.exists())


async def _line(tx: AsyncSession, row: Approval, models: dict[str, str]) -> ApprovalLine:
    genome = await tx.get_one(EvolutionGenome, row.genome_id)
    decision = await tx.scalar(select(ApprovalDecision).filter_by(approval_id=row.id))
    return ApprovalLine(
        row=row,
        genome=genome,
        incumbent=await tx.get_one(EvolutionGenome, row.incumbent_id),
        proof=Proof.model_validate(row.evidence["proof"]),
        decision=decision,
        moved=() if decision else tuple(await find_moved(tx, row, genome, models)),
    )


async def _comparisons(tx: AsyncSession, row: Approval) -> tuple[Comparison, ...]:
    results = await tx.scalars(
        select(EvolutionEvalResult)
        .filter_by(cycle_id=row.cycle_id)
        .where(EvolutionEvalResult.phase.in_(_PROOF_PHASES))
        .where(EvolutionEvalResult.genome_id.in_([row.genome_id, row.incumbent_id]))
        .order_by(EvolutionEvalResult.replicate.desc())
    )
    found = {(r.genome_id, r.question_id): r for r in results}
    pairs = [Pair.model_validate(pair) for pair in row.evidence.get("pairs", [])]
    pairs.sort(key=lambda pair: (pair.delta is None, pair.delta or 0.0))
    return tuple(
        Comparison(
            pair,
            found.get((row.incumbent_id, pair.question_id)),
            found.get((row.genome_id, pair.question_id)),
        )
        for pair in pairs
    )
