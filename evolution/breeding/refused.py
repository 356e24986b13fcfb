"""Proposals that were refused at no judging cost: kept with their reason, and never bought."""

from dataclasses import dataclass
from uuid import UUID, uuid5

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from kit.utf8 import storable
from models.contract import Frozen
from models.genome import Layer
from models.tables import RefusedProposal

MAX_TEXT_CHARS = 4_000
MAX_REASON_CHARS = 500
SHOWN = 20


class RefusedNote(Frozen):
    """A refusal as the mutator reads it."""

    operator: str
    reason: str


@dataclass(frozen=True)
class Refused:
    """One refused proposal. `number` names it within its cycle: it is kept once."""

    number: int
    operator: str
    reason: str
    text: str = ""
    parent_id: UUID | None = None


def kept_reason(reason: str) -> str:
    """Cut a reason to what the store keeps of it, which the mutator reads as well."""
    return storable(reason)[:MAX_REASON_CHARS]


async def keep_refused(
    tx: AsyncSession, tenant: UUID, cycle_id: UUID, domain: str, layer: Layer, refused: Refused
) -> None:
    """Store a refusal with what was proposed; a resumed cycle that comes by again adds nothing."""
    row = {
        "id": _id(cycle_id, refused.operator, refused.number),
        "tenant_id": tenant,
        "cycle_id": cycle_id,
        "domain": domain,
        "layer": layer,
        "parent_id": refused.parent_id,
        "operator": refused.operator,
        "reason": kept_reason(refused.reason),
        "text": storable(refused.text)[:MAX_TEXT_CHARS],
    }
    await tx.execute(insert(RefusedProposal).values(row).on_conflict_do_nothing())


async def find_refused(
    tx: AsyncSession, cycle_id: UUID, operator: str, number: int
) -> RefusedNote | None:
    """Give the refusal of proposal `number` of a cycle; None where it was not refused."""
    row = await tx.get(RefusedProposal, _id(cycle_id, operator, number))
    return None if row is None else RefusedNote(operator=row.operator, reason=row.reason)


def _id(cycle_id: UUID, operator: str, number: int) -> UUID:
    return uuid5(cycle_id, f"{operator} {number}")


async def load_refused(
    tx: AsyncSession, domain: str, layer: Layer, cycle_id: UUID, limit: int = SHOWN
) -> tuple[RefusedNote, ...]:
    """Give the newest refusals of this tenant's other cycles, each reason once.

    Those of the cycle itself are left out, so that a resumed one reads the same.
    """
    newest = func.max(RefusedProposal.created_at)
    rows = await tx.execute(
        select(RefusedProposal.operator, RefusedProposal.reason)
        .filter_by(domain=domain, layer=layer)
        .where(RefusedProposal.cycle_id != cycle_id)
        .group_by(RefusedProposal.operator, RefusedProposal.reason)
        .order_by(newest.desc(), RefusedProposal.reason)
        .limit(limit)
    )
    return tuple(RefusedNote(operator=operator, reason=reason) for operator, reason in rows)
