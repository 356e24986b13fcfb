"""The books of the lab, kept inside the transactions of the tenant that it works for."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID, uuid4

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from models.tables import LAB_TENANT, LedgerEntry

# One row a statement: it is checked as the lab's before its `returning` goes back to the tenant.
_BOOK = text(
    """
    with lab as (select set_config('genoma.tenant', :lab, true) as tenant)
    insert into ledger_entry (id, created_at, tenant_id, ledger, outcome, purpose, provider, model,
                              unit, units, trace_id, cycle_id)
    select :id, clock_timestamp(), lab.tenant::uuid, :ledger, :outcome, :purpose, :provider, :model,
           :unit, :units, :trace_id, :cycle_id
    from lab
    returning set_config('genoma.tenant', :tenant, true)
    """
)


@dataclass(frozen=True)
class Line:
    """One line of the lab's books: `units` are tokens of a generation, queries of a retrieval."""

    ledger: Literal["generation", "retrieval"]
    purpose: str
    model: str
    units: int
    cycle_id: UUID
    provider: str = "unknown"
    trace_id: UUID | None = None
    outcome: Literal["settled", "lost_in_flight"] = "settled"


async def book_lab(tx: AsyncSession, tenant: UUID, line: Line) -> None:
    """Write `line` into the lab's books inside a transaction that works for `tenant`."""
    unit = "tokens" if line.ledger == "generation" else "queries"
    own = {"id": uuid4(), "lab": str(LAB_TENANT), "tenant": str(tenant), "unit": unit}
    await tx.execute(_BOOK, vars(line) | own)


@dataclass(frozen=True)
class Lost:
    """Calls that were under way when a process died: nobody knows whether they were billed."""

    calls: int
    tokens: int
    """What they may have cost at the most; it counts as spent."""


async def load_lost(tx: AsyncSession, cycle_id: UUID) -> Lost:
    """Read from the lab's books, in a transaction of the lab, what a cycle lost in flight."""
    sums = select(func.count(), func.coalesce(func.sum(LedgerEntry.units), 0))
    lost = sums.filter_by(cycle_id=cycle_id, outcome="lost_in_flight")
    calls, tokens = (await tx.execute(lost.select_from(LedgerEntry))).one()
    return Lost(calls, tokens)
