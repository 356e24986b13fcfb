"""What all processes know of one model endpoint, and the lab's leases of it, in the database.

Every statement stands for itself and tells the time by the database's clock. The lab's leases of
an endpoint have numbers, 1 to N, and a number is a row of a fixed id: the primary key alone keeps
all machines together at N, and nobody waits for a lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, TextClause, text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from kit.errors import Unavailable

LEASE_S = 30
"""A lease that is not renewed for so long is free: its holder is dead or cut off."""

LIVE_S = 2
"""A live call that is not announced again for so long has ended."""

_LOOK = text(
    """
    with door as (
        select extract(epoch from closed_until - now()) as closed_s, reason
        from endpoint where name = :endpoint
    ), slot as (
        select md5(:endpoint || ' ' || n)::uuid as id from generate_series(1, :most) n
    ), used as (
        select count(*) as everyone, count(*) filter (where id in (select id from slot)) as lab
        from endpoint_lease where endpoint = :endpoint and expires_at > now()
    ), room as (
        select case when closed_s > 0 then 0 when reason <> '' then least(:most - everyone, 1 - lab)
               else :most - everyone end as leases from used left join door on true
    ), taken as (
        insert into endpoint_lease (id, created_at, endpoint, holder, expires_at)
        select id, now(), :endpoint, :holder, now() + make_interval(secs => :lease_s) from slot
        where not exists (
            select from endpoint_lease l where l.id = slot.id and l.expires_at > now())
        order by random() limit (select greatest(0, least(:want, leases)) from room)
        on conflict (id) do update
        set created_at = now(), holder = excluded.holder, expires_at = excluded.expires_at
        where endpoint_lease.expires_at <= now()
        returning id
    )
    select greatest(closed_s, 0)::float as closed_s, coalesce(reason, '') as reason,
        everyone as in_use, (select coalesce(array_agg(id), '{}') from taken) as taken
    from used left join door on true
    """
)
_RENEW = text(
    "update endpoint_lease set expires_at = now() + make_interval(secs => :lease_s) "
    "where id = any(:ids) and holder = :holder"
)
_GIVE_BACK = text("delete from endpoint_lease where id = any(:ids) and holder = :holder")
_BURY = text(
    """
    delete from endpoint_lease l where endpoint = :endpoint and not exists (
        select from pg_stat_activity a where a.application_name = l.holder
        or (a.datname = current_database() and a.application_name is null))
    """
)
_CLOSE = text(
    """
    insert into endpoint (name, closed_until, reason)
    values (:endpoint, now() + make_interval(secs => :seconds), :reason)
    on conflict (name) do update set reason = excluded.reason,
        closed_until = greatest(endpoint.closed_until, excluded.closed_until)
    """
)
_REOPEN = text(
    "update endpoint set closed_until = null, reason = '' "
    "where name = :endpoint and closed_until <= now()"
)
_ANNOUNCE = text(
    """
    insert into endpoint_lease (id, created_at, endpoint, holder, expires_at)
    select md5(:holder || ' ' || :endpoint || ' ' || n)::uuid, now(), :endpoint, :holder,
        now() + make_interval(secs => :live_s) from generate_series(1, :calls) n
    on conflict (id) do update set expires_at = excluded.expires_at
    """
)
_CLOSED = text(
    "select name, extract(epoch from closed_until - now())::float, reason from endpoint "
    "where closed_until > now() order by name"
)


@dataclass(frozen=True)
class Door:
    """How an endpoint stood when it was looked at."""

    closed_s: float = 0.0
    """Seconds for which the lab must not call it."""
    reason: str = ""
    """Why it was closed; empty once a call has gone well since."""
    in_use: int = 0
    """Calls under way: of the lab, on all machines, and of live traffic."""
    taken: tuple[UUID, ...] = ()
    """Leases that were taken while looking."""


@dataclass(frozen=True)
class ClosedEndpoint:
    """An endpoint that the lab waits for."""

    name: str
    seconds: float
    reason: str


class Endpoint:
    """One endpoint as one process sees it. Raises Unavailable where the database is away.

    `engine` must be one of `kit.db.make_signal_engine`: `holder` is its sessions' name, and the
    leases of a holder that has no session left are known to be free.
    """

    def __init__(self, engine: AsyncEngine, name: str, holder: str, most: int) -> None:
        self._engine = engine
        self._most = most
        self._given = {"endpoint": name, "holder": holder, "most": most}

    async def look(self, want: int) -> Door:
        """Look at the door, and take up to `want` leases where there is room for them."""
        (row,) = await self._run(_LOOK, want=want, lease_s=LEASE_S)
        return Door(row.closed_s, row.reason, row.in_use, tuple(row.taken))

    async def renew(self, leases: Sequence[UUID]) -> None:
        await self._run(_RENEW, ids=list(leases), lease_s=LEASE_S)

    async def give_back(self, leases: Sequence[UUID]) -> None:
        await self._run(_GIVE_BACK, ids=list(leases))

    async def bury(self) -> None:
        """Free what holders have left that died: no session of theirs is there any more."""
        await self._run(_BURY)

    async def close(self, seconds: float, reason: str) -> None:
        """Keep the lab away for `seconds`; one that is closed for longer stays so."""
        await self._run(_CLOSE, seconds=seconds, reason=reason)

    async def reopen(self) -> None:
        """A call went well after the wait: the lab may use all its leases again."""
        await self._run(_REOPEN)

    async def announce(self, calls: int) -> None:
        """Say that so many live calls are under way here; more than N say no more than N."""
        await self._run(_ANNOUNCE, calls=min(calls, self._most), live_s=LIVE_S)

    async def _run(self, statement: TextClause, **more: object) -> Sequence[Row[Any]]:
        try:
            async with self._engine.connect() as connection:
                result = await connection.execute(statement, self._given | more)
                return result.all() if result.returns_rows else ()
        except (OperationalError, InterfaceError) as error:
            raise Unavailable("the database is out of reach") from error


async def load_closed(tx: AsyncSession) -> list[ClosedEndpoint]:
    """Give the endpoints that the lab waits for, and why."""
    return [ClosedEndpoint(*row) for row in await tx.execute(_CLOSED)]
