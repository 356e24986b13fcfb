"""The cycle's own row: found, started or resumed, finished or failed."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.budget import clock_starts, clock_stops
from evolution.shapes import CycleResult
from evolution.wishes import STOPPED_AS
from kit.errors import Conflict, NotFound, Stopped
from models.tables import Cycle


async def load_cycle(tx: AsyncSession, cycle_id: UUID) -> Cycle:
    """Give a cycle's row. Raises NotFound."""
    cycle = await tx.get(Cycle, cycle_id)
    if cycle is None:
        raise NotFound(f"there is no cycle {cycle_id}")
    return cycle


async def find_cycle(tx: AsyncSession, prefix: str) -> Cycle:
    """Give the one cycle whose id begins with `prefix`. Raises NotFound, Conflict."""
    found = [c for c in await tx.scalars(select(Cycle)) if str(c.id).startswith(prefix.lower())]
    if not found or not prefix:
        raise NotFound(f"there is no cycle {prefix!r}")
    if len(found) > 1:
        raise Conflict(f"{len(found)} cycles begin with {prefix!r}: give more of the id")
    return found[0]


async def mark_running(tx: AsyncSession, cycle_id: UUID, now: datetime) -> None:
    """Start or resume: what was reserved when a former run died is free again.

    Raises Stopped where a person has paused or cancelled the cycle.
    """
    status = await tx.scalar(select(Cycle.status).filter_by(id=cycle_id).with_for_update())
    if status in ("paused", "cancelled"):
        raise Stopped("pause" if status == "paused" else "cancel")
    running = {"status": "running", "reserved": 0, "error": None, "started_at": now}
    await tx.execute(update(Cycle).filter_by(id=cycle_id).values(running | clock_starts()))


async def mark_stopped(tx: AsyncSession, cycle_id: UUID, wish: str, now: datetime) -> None:
    """Do what a person asked for: a paused cycle can go on, a cancelled one has ended."""
    ended = {"finished_at": now} if wish == "cancel" else {}
    stopped = {"status": STOPPED_AS[wish], "wish": None, "reserved": 0, **ended}
    await tx.execute(update(Cycle).filter_by(id=cycle_id).values(stopped | clock_stops()))


async def mark_done(tx: AsyncSession, cycle_id: UUID, result: CycleResult, now: datetime) -> None:
    """Keep the result; a pause that came too late is forgotten."""
    done = {"status": "done", "result": result.model_dump(mode="json"), "finished_at": now}
    done["wish"] = None
    await tx.execute(update(Cycle).filter_by(id=cycle_id).values(done | clock_stops()))


async def mark_failed(tx: AsyncSession, cycle_id: UUID, cause: str, now: datetime) -> None:
    """Keep the first cause in words; a failed cycle can be resumed."""
    failed = {"status": "failed", "error": cause, "finished_at": now, "wish": None}
    await tx.execute(update(Cycle).filter_by(id=cycle_id).values(failed | clock_stops()))
