"""The lineage of a domain and layer: who came from whom, how, and what became of each."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.breeding.gains import MeasuredGain, load_gains
from evolution.breeding.refused import RefusedNote
from models.contract import Frozen
from models.genome import Layer, short_name
from models.lifecycle import Status
from models.tables import Approval, ApprovalDecision, Cycle, EvolutionGenome, RefusedProposal


class LineageNode(Frozen):
    """One genome in the lineage."""

    genome_id: UUID
    name: str
    domain: str
    """Another than the lineage's own where the domain began from a genome of `default`."""
    parent_id: UUID | None = None
    mate_id: UUID | None = None
    """The second parent of a crossover."""
    operator: str
    notes: str = ""
    status: Status
    gain: MeasuredGain | None = None
    """Over the incumbent of the cycle that measured it."""
    reason: str = ""
    """Why it was rejected or not proven, where somebody or something said so."""
    refused: tuple[RefusedNote, ...] = ()
    """Proposals for a child of it that were refused before they cost anything."""

    def told(self) -> str:
        """Say in one line what it is and what became of it."""
        said = [self.status.value.replace("_", " "), str(self.gain or ""), self.reason]
        ended = "; ".join(filter(None, said))
        return f"{self.name} by {self.operator}: {self.notes or 'no note'} ({ended})"


class Lineage(Frozen):
    """All genomes of a domain and layer, and what they descend from; parents come first."""

    domain: str
    layer: Layer
    nodes: tuple[LineageNode, ...]


async def load_lineage(tx: AsyncSession, domain: str, layer: Layer) -> Lineage:
    """Give the lineage with what this tenant's cycles measured and this lab's people decided."""
    rows = await _load_rows(tx, domain, layer)
    gains = await load_gains(tx, domain, layer)
    reasons = {**await _unproven(tx, domain, layer), **await _turned_down(tx, list(rows))}
    refused = await _load_refused(tx, domain, layer)
    nodes = tuple(
        LineageNode(
            genome_id=row.id,
            name=short_name(row.content_hash),
            domain=row.domain,
            parent_id=row.parent_id,
            mate_id=row.mate_id,
            operator=row.operator,
            notes=row.notes,
            status=row.status,
            gain=gains.get(row.id),
            reason=reasons.get(row.id, "") if row.status in _ENDED else "",
            refused=tuple(refused.get(row.id, ())),
        )
        for row in sorted(rows.values(), key=lambda row: (row.created_at, str(row.id)))
    )
    return Lineage(domain=domain, layer=layer, nodes=_parents_first(nodes))


_ENDED = (Status.EVALUATED, Status.REJECTED)


async def _load_rows(tx: AsyncSession, domain: str, layer: Layer) -> dict[UUID, EvolutionGenome]:
    found = await tx.scalars(select(EvolutionGenome).filter_by(domain=domain, layer=layer))
    rows = {row.id: row for row in found}
    while missing := _parents(rows.values()) - rows.keys():
        more = await tx.scalars(select(EvolutionGenome).where(EvolutionGenome.id.in_(missing)))
        rows |= {row.id: row for row in more}
    return rows


def _parents(rows: Collection[EvolutionGenome]) -> set[UUID]:
    return {i for row in rows for i in (row.parent_id, row.mate_id) if i is not None}


async def _turned_down(tx: AsyncSession, ids: Sequence[UUID]) -> dict[UUID, str]:
    rows = await tx.execute(
        select(Approval.genome_id, ApprovalDecision.reason)
        .join(ApprovalDecision, ApprovalDecision.approval_id == Approval.id)
        .where(ApprovalDecision.verdict == "rejected", Approval.genome_id.in_(ids))
    )
    return {genome_id: f"turned down: {reason}" for genome_id, reason in rows}


async def _unproven(tx: AsyncSession, domain: str, layer: Layer) -> dict[UUID, str]:
    """Finalists whose proof did not succeed, with the sentence that the cycle ended in."""
    results = await tx.scalars(
        select(Cycle.result)
        .filter_by(domain=domain, layer=layer)
        .where(Cycle.result.is_not(None))
        .order_by(Cycle.finished_at)
    )
    return {
        UUID(result["finalist_id"]): result["sentence"]
        for result in results
        if result and result.get("finalist_id") and result.get("outcome") != "promoted"
    }


async def _load_refused(
    tx: AsyncSession, domain: str, layer: Layer
) -> dict[UUID, list[RefusedNote]]:
    rows = await tx.scalars(
        select(RefusedProposal)
        .filter_by(domain=domain, layer=layer)
        .order_by(RefusedProposal.created_at, RefusedProposal.id)
    )
    notes: dict[UUID, list[RefusedNote]] = {}
    for row in rows:
        if row.parent_id is not None:
            note = RefusedNote(operator=row.operator, reason=row.reason)
            notes.setdefault(row.parent_id, []).append(note)
    return notes


def _parents_first(nodes: Sequence[LineageNode]) -> tuple[LineageNode, ...]:
    """Order by descent; among those that could come next, the older one does."""
    placed: dict[UUID, LineageNode] = {}
    waiting = list(nodes)
    while waiting:
        for node in waiting:
            parents = {node.parent_id, node.mate_id} - {None}
            if parents <= placed.keys():
                break
        else:
            node = waiting[0]  # a parent that is gone: it stands as a root
        placed[node.genome_id] = node
        waiting.remove(node)
    return tuple(placed.values())
