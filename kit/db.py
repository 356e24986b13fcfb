"""The database as the rooms see it: a transaction, opened for one tenant, committed once."""

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoneFree
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from kit.any_text import dump_json, take_any_text
from kit.errors import Misconfigured, Unavailable

SILENT_S = 15
"""A session that falls silent inside a transaction for so long is ended: others wait for its locks,
and its process is frozen or its machine is gone."""


class Database:
    """Sessions on one engine.

    Inside `transaction(tenant)` the setting `genoma.tenant` holds the tenant for as long
    as the transaction lasts, and row-level security shows only its rows. Without a tenant
    every table of tenants raises: only the lab's own tables (genomes, admins) can be read.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @asynccontextmanager
    async def transaction(self, tenant: UUID | None = None) -> AsyncIterator[AsyncSession]:
        """Open a session, commit at the end, roll back on any error.

        Raises Unavailable where the database cannot be reached or closes the connection, or
        where no connection has become free for half a minute.
        """
        try:
            async with (
                AsyncSession(self.engine, expire_on_commit=False) as session,
                session.begin(),
            ):
                if tenant is not None:
                    await set_tenant(session, tenant)
                yield session
        except DBAPIError as error:
            if _is_cut_off(error):
                raise Unavailable("the database is out of reach") from error
            raise
        except NoneFree as error:
            raise Unavailable("all connections to the database are in use") from error

    async def close(self) -> None:
        await self.engine.dispose()


def _is_cut_off(error: DBAPIError) -> bool:
    fell_silent = isinstance(error.orig, psycopg.errors.IdleInTransactionSessionTimeout)
    return fell_silent or isinstance(error, OperationalError | InterfaceError)


async def set_tenant(session: AsyncSession, tenant: UUID) -> None:
    """Let row-level security show the rows of `tenant`, until this transaction ends."""
    await session.execute(
        text("select set_config('genoma.tenant', :tenant, true)"), {"tenant": str(tenant)}
    )


def make_engine(
    url: str, pool_size: int = 10, silent_s: int = SILENT_S, wait_s: float = 30.0
) -> AsyncEngine:
    """Make the engine for a libpq or SQLAlchemy URL of a PostgreSQL server.

    It takes any text: what PostgreSQL cannot store is exchanged on its way in (`kit.any_text`).
    Whoever finds all connections in use waits: transactions are short, and a new one costs more.
    """
    engine = create_async_engine(
        psycopg_url(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=wait_s,
        json_serializer=dump_json,
        connect_args={"options": f"-c idle_in_transaction_session_timeout={silent_s}s"},
    )
    take_any_text(engine)
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    return engine


def _refuse_closed(connection: Any, _record: Any, _fairy: Any) -> None:
    """Let the pool replace a connection that the server has closed while it lay idle.

    An idle connection has nothing to read but its end: looking costs no round trip, as a ping
    before each transaction would.
    """
    driver = connection.driver_connection
    poll = select.poll()
    if not driver.closed:
        poll.register(driver.fileno(), select.POLLIN)
    if driver.closed or poll.poll(0):
        raise DisconnectionError


def make_signal_engine(url: str, name: str) -> AsyncEngine:
    """Make an engine for small, frequent statements that need not outlive a crash of the server.

    Each statement is a transaction of its own that does not wait for the disk. Two connections
    of their own, so that a signal never queues behind work; `name` is theirs at the server.
    """
    return create_async_engine(
        psycopg_url(url),
        pool_size=2,
        max_overflow=0,
        pool_pre_ping=True,
        isolation_level="AUTOCOMMIT",
        connect_args={"application_name": name, "options": "-c synchronous_commit=off"},
    )


def psycopg_url(url: str) -> str:
    """Name psycopg as the driver. Raises Misconfigured where it is not a PostgreSQL URL."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        # What was given is not quoted: it may hold a password.
        raise Misconfigured("what is given is not a PostgreSQL URL (postgresql://user@host/db)")
    return f"postgresql+psycopg://{rest}"


def libpq_url(url: str) -> str:
    """The same URL as libpq and plain psycopg read it."""
    return psycopg_url(url).replace("postgresql+psycopg://", "postgresql://", 1)


async def listen(url: str, channel: str) -> AsyncIterator[str]:
    """Yield the payload of each NOTIFY on `channel`; ends by raising when the connection ends.

    The first item is an empty string, once the channel is really listened to: what was
    notified before is not heard, so the listener reads its state then.
    """
    connection = await psycopg.AsyncConnection.connect(libpq_url(url), autocommit=True)
    async with connection:
        await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        yield ""
        async for notice in connection.notifies():
            yield notice.payload
