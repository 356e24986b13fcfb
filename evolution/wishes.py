"""What a person asks of a cycle: pause, cancel, go on."""

from typing import Literal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from kit.errors import Conflict, NotFound
from models.tables import Cycle

Wish = Literal["pause", "cancel"]

STOPPED_AS = {"pause": "paused", "cancel": "cancelled"}
_OPEN_TO = {"pause": ("queued", "running"), "cancel": ("queued", "running", "paused", "failed")}


async def ask_to_stop(tx: AsyncSession, cycle_id: UUID, wish: Wish) -> str:
    """Pause or cancel a cycle; give its status now.

    One that somebody works at is `running` still: it obeys before it buys another answer, and
    what is under way is kept. Raises Conflict where its status does not allow it, NotFound.
    """
    cycle, is_held = await _lock(tx, cycle_id)
    if cycle.status not in _OPEN_TO[wish]:
        raise Conflict(f"a cycle that is {cycle.status} cannot be {STOPPED_AS[wish]}")
    if cycle.status == "running" and is_held:
        cycle.wish = wish
        return cycle.status
    cycle.status, cycle.wish = STOPPED_AS[wish], None
    cycle.fence += 1  # whoever held it may only seem to be dead
    return cycle.status


async def let_go_on(tx: AsyncSession, cycle_id: UUID) -> bool:
    """Take a pause back, or queue a cycle that was paused or failed.

    Gives False where nothing is to be queued: somebody works at it, and now goes on doing so.
    Raises Conflict where the cycle has ended, NotFound.
    """
    cycle, is_held = await _lock(tx, cycle_id)
    if cycle.status in ("done", "cancelled"):
        raise Conflict(f"a cycle that is {cycle.status} does not go on: start a new one")
    if cycle.wish == "cancel":
        raise Conflict("this cycle was cancelled: start a new one")
    cycle.wish = None
    if is_held:
        return False
    cycle.status, cycle.error, cycle.finished_at = "queued", None, None
    return True


async def _lock(tx: AsyncSession, cycle_id: UUID) -> tuple[Cycle, bool]:
    """Give a cycle's row, locked, and whether somebody holds it."""
    is_held = func.coalesce(Cycle.lease_until > func.now(), False)
    query = select(Cycle, is_held).where(Cycle.id == cycle_id).with_for_update()
    row = (await tx.execute(query)).first()
    if row is None:
        raise NotFound(f"there is no cycle {cycle_id}")
    return row[0], bool(row[1])
