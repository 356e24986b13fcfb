"""The book of proofs: each is entered with its error rate before its first question is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.proof.wealth import Entry, next_alpha
from evolution.shapes import Claim
from models.tables import ProofEntry

_LOCK = 0x6765_6E6F_6D61  # one writer at a time: the rate of a proof depends on all before it


@dataclass(frozen=True)
class Opening:
    """What a cycle wants to prove about one genome."""

    genome_id: UUID
    claim: Claim


async def open_proofs(
    tx: AsyncSession, cycle_id: UUID, domain: str, layer: str, openings: Sequence[Opening]
) -> dict[UUID, float]:
    """Enter the proofs of a cycle, sharing the next error rate; give genome id -> its part.

    What is in the book already keeps the rate that it was given: a resumed cycle comes by
    here again.
    """
    await tx.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    mine = await tx.scalars(select(ProofEntry).filter_by(cycle_id=cycle_id))
    known = {entry.genome_id: entry.alpha for entry in mine}
    new = [opening for opening in openings if opening.genome_id not in known]
    if new:
        alpha = next_alpha(await load_history(tx), len(new))
        last = await tx.scalar(select(func.max(ProofEntry.number))) or 0
        for number, opening in enumerate(new, start=last + 1):
            place = {"domain": domain, "layer": layer, "cycle_id": cycle_id}
            claim = {"genome_id": opening.genome_id, "claim": opening.claim}
            tx.add(ProofEntry(number=number, alpha=alpha, **place, **claim))
            known[opening.genome_id] = alpha
        await tx.flush()
    return {opening.genome_id: known[opening.genome_id] for opening in openings}


async def load_history(tx: AsyncSession) -> list[Entry]:
    """Give all proofs of the lab, oldest first."""
    columns = select(ProofEntry.alpha, ProofEntry.proven, ProofEntry.cycle_id)
    rows = await tx.execute(columns.order_by(ProofEntry.number))
    return [Entry(alpha, proven, cycle_id) for alpha, proven, cycle_id in rows]


async def close_proof(tx: AsyncSession, cycle_id: UUID, genome_id: UUID, *, proven: bool) -> None:
    """Write down what the proof said."""
    row = update(ProofEntry).filter_by(cycle_id=cycle_id, genome_id=genome_id)
    await tx.execute(row.values(proven=proven))
