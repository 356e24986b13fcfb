"""Who works at a cycle: one process at a time, under a lease, fenced off once it has lost it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select, text, update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from evolution.buying.budget import clock_stops
from evolution.store import load_cycle
from kit.db import Database
from kit.errors import Conflict, Unavailable
from kit.turns import LastFirst
from models.tables import Cycle

LEASE_S = 20
"""A holder that has not been heard of for so long is taken for dead."""

BEAT_EVERY_S = 5

AT_ONCE = 4
"""Transactions of one holder at a time: all of them meet at the cycle's row anyway. A unit that is
under way goes before one that has not begun, so that models are not left waiting for the books."""

_ENTER = text("select genoma_enter_cycle(:owner, :cycle, :acting_for)")


class LeasedDatabase(Database):
    """The database as one holder of a cycle sees it: every transaction checks the fence first.

    The check is a lock that a take-over waits for, so that a transaction either ends before the
    fence is raised, or is refused. Raises Conflict where another process has the cycle now.
    """

    def __init__(self, db: Database, tenant: UUID, cycle_id: UUID, fence: int) -> None:
        super().__init__(db.engine)
        self._fences = {fence}
        self._tenant = tenant
        self._cycle_id = cycle_id
        self._turns = LastFirst(AT_ONCE)

    @property
    def fence(self) -> int:
        return max(self._fences)

    @asynccontextmanager
    async def transaction(self, tenant: UUID | None = None) -> AsyncIterator[AsyncSession]:
        """Open a transaction that is refused under an older fence."""
        async with self._turns.turn(), super().transaction() as tx:
            entry = {"owner": self._tenant, "cycle": self._cycle_id, "acting_for": tenant}
            if await tx.scalar(_ENTER, entry) not in self._fences:
                raise Conflict("another process has taken this cycle over")
            yield tx

    async def renew(self, seconds: int | None) -> bool:
        """Renew the lease, or give it back (None); False where it is no longer ours."""
        given_back = {"holder": None, "lease_until": None, **clock_stops()}
        changes = given_back if seconds is None else {"lease_until": _from_now(seconds)}
        async with super().transaction(self._tenant) as tx:
            ours = Cycle.fence.in_(self._fences)
            renewed = update(Cycle).where(Cycle.id == self._cycle_id, ours).values(**changes)
            return (await tx.execute(renewed.returning(Cycle.id))).first() is not None

    async def shake_off(self) -> None:
        """Raise the own fence: who still works for it is refused, what they reserved is free."""
        new = self.fence + 1
        self._fences.add(new)
        async with super().transaction(self._tenant) as tx:
            ours = select(Cycle.fence).filter_by(id=self._cycle_id).with_for_update()
            if await tx.scalar(ours) not in self._fences:
                raise Conflict("another process has taken this cycle over")
            raised = update(Cycle).filter_by(id=self._cycle_id)
            await tx.execute(raised.values(fence=new, reserved=0))
        self._fences = {new}


@asynccontextmanager
async def hold(
    db: Database, tenant: UUID, cycle_id: UUID, holder: str
) -> AsyncIterator[LeasedDatabase]:
    """Hold a cycle while the block runs; give the database that its holder writes through.

    A cycle whose holder is dead, or has not renewed its lease, is taken over. Raises Conflict
    where somebody alive holds it, or another cycle of its domain and layer; NotFound.
    """
    async with db.transaction(tenant) as tx:
        cycle = await load_cycle(tx, cycle_id)
    async with _sign_of_life(db, f"cycle:{cycle.domain}:{cycle.layer}") as is_alone:
        async with db.transaction(tenant) as tx:
            fence = await _take(tx, cycle, holder, is_alone)
        leased = LeasedDatabase(db, tenant, cycle_id, fence)
        beating = asyncio.create_task(_beat(leased))
        try:
            yield leased
        finally:
            beating.cancel()
            with suppress(Unavailable):  # then the lease runs out by itself
                await leased.renew(None)


async def join(db: Database, tenant: UUID, cycle_id: UUID) -> LeasedDatabase | None:
    """Give the database of the present holder, for a process that works for it.

    None where nobody holds the cycle: then there is nothing to work at.
    """
    async with db.transaction(tenant) as tx:
        held = select(Cycle.fence).filter_by(id=cycle_id, status="running")
        fence = await tx.scalar(held.where(Cycle.lease_until > func.now()))
    return None if fence is None else LeasedDatabase(db, tenant, cycle_id, fence)


async def _take(tx: AsyncSession, cycle: Cycle, holder: str, is_alone: bool) -> int:
    """Raise the fence and take the lease; give the new fence."""
    valid = func.coalesce(Cycle.lease_until > func.now(), False)
    mine = select(Cycle.fence, Cycle.holder, valid).where(Cycle.id == cycle.id)
    fence, former, is_valid = (await tx.execute(mine.with_for_update())).one()
    others = (Cycle.domain == cycle.domain, Cycle.layer == cycle.layer, Cycle.id != cycle.id)
    running = select(Cycle.id).where(*others, Cycle.status == "running", valid)
    if (await tx.execute(running)).first() or not (is_alone or former):
        where = f"domain {cycle.domain!r}, layer {cycle.layer}"
        raise Conflict(f"another cycle of {where} is running")
    if is_valid and not is_alone:
        raise Conflict(f"this cycle is running already, in the process {former}")
    lost = update(Cycle).where(*others, Cycle.status == "running", Cycle.holder.is_not(None))
    ended = {"fence": Cycle.fence + 1, **clock_stops()}
    await tx.execute(lost.values(ended | {"holder": None, "lease_until": None}))
    taken = {"holder": holder, "lease_until": _from_now(LEASE_S)}
    await tx.execute(update(Cycle).filter_by(id=cycle.id).values(ended | taken))
    return int(fence) + 1


async def _beat(leased: LeasedDatabase) -> None:
    """Renew the lease as long as it is ours; a database that is away for a while is no end."""
    while True:
        await asyncio.sleep(BEAT_EVERY_S)
        with suppress(Unavailable):
            if not await leased.renew(LEASE_S):
                return


def _from_now(seconds: int) -> object:
    """The server's clock decides alone: machines need not agree on the time."""
    return func.now() + timedelta(seconds=seconds)


@asynccontextmanager
async def _sign_of_life(db: Database, name: str) -> AsyncIterator[bool]:
    """Hold a lock that goes when this process dies, however it dies; False where it is taken.

    By it a killed holder is known at once. A holder that is alive but no longer heard of is
    known by its lease.
    """
    try:
        session = await db.engine.connect()
    except (OperationalError, InterfaceError) as error:
        raise Unavailable("the database is out of reach") from error
    try:
        lock = text("select pg_try_advisory_lock(hashtextextended(:name, 0))")
        is_alone = bool(await session.scalar(lock, {"name": name}))
        await session.commit()
        yield is_alone
    finally:
        await _end_session(session, name)


async def _end_session(session: AsyncConnection, name: str) -> None:
    """Unlock; a connection that broke meanwhile has lost its lock with it."""
    try:
        unlock = text("select pg_advisory_unlock(hashtextextended(:name, 0))")
        await session.execute(unlock, {"name": name})
        await session.commit()
    except DBAPIError:
        await session.invalidate()
    await session.close()
