"""One process at a time works at a cycle, and who has lost it writes nothing more."""

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import DBAPIError

from evolution.lease import LeasedDatabase, hold, join
from kit.db import Database, make_engine
from kit.errors import Conflict, Unavailable
from lab.database import DatabaseUrls
from models.tables import DEFAULT_TENANT, LAB_TENANT, Corpus, Cycle, Profile


@pytest.fixture
async def other(database_urls: DatabaseUrls) -> AsyncIterator[Database]:
    """The same store as another process has it."""
    database = Database(make_engine(database_urls.service))
    yield database
    await database.close()


@pytest.fixture
async def cycle_id(db: Database) -> UUID:
    return await add_cycle(db)


async def add_cycle(db: Database, layer: str = "routing") -> UUID:
    async with db.transaction(DEFAULT_TENANT) as tx:
        profile = await tx.scalar(select(Profile))
        if profile is None:
            corpus = Corpus(tenant_id=DEFAULT_TENANT, name="c")
            tx.add(corpus)
            await tx.flush()
            profile = Profile(tenant_id=DEFAULT_TENANT, name="d", domain="d",
                              corpus_id=corpus.id, settings={})  # fmt: skip
            tx.add(profile)
            await tx.flush()
        cycle = Cycle(tenant_id=DEFAULT_TENANT, layer=layer, domain="d", budget=9, seed=1,
                      profile_id=profile.id, max_mutations=1, status="running")  # fmt: skip
        tx.add(cycle)
        await tx.flush()
        return cycle.id


async def load(db: Database, cycle_id: UUID) -> Cycle:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await tx.get_one(Cycle, cycle_id)


async def let_the_lease_run_out(db: Database, cycle_id: UUID) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        past = func.now() - timedelta(seconds=1)
        await tx.execute(update(Cycle).filter_by(id=cycle_id).values(lease_until=past))


async def test_a_cycle_is_held_by_one_and_free_afterwards(
    db: Database, other: Database, cycle_id: UUID
) -> None:
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1"):
        held = await load(db, cycle_id)
        assert (held.holder, held.fence) == ("a:1", 1)
        with pytest.raises(Conflict, match="in the process a:1"):
            async with hold(other, DEFAULT_TENANT, cycle_id, "b:2"):
                pass
    assert (await load(db, cycle_id)).holder is None
    async with hold(other, DEFAULT_TENANT, cycle_id, "b:2") as second:
        assert second.fence == 2


async def test_a_domain_and_layer_has_one_running_cycle(
    db: Database, other: Database, cycle_id: UUID
) -> None:
    rival, elsewhere = await add_cycle(db), await add_cycle(db, "cache_policy")
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1"):
        with pytest.raises(Conflict, match="another cycle of domain 'd', layer routing"):
            async with hold(other, DEFAULT_TENANT, rival, "b:2"):
                pass
        async with hold(other, DEFAULT_TENANT, elsewhere, "b:2"):
            pass
    async with hold(other, DEFAULT_TENANT, rival, "b:2"):
        pass


async def test_of_many_that_start_a_cycle_at_once_one_has_it(db: Database, cycle_id: UUID) -> None:
    inside = 0

    async def start(name: str) -> bool:
        nonlocal inside
        try:
            async with hold(db, DEFAULT_TENANT, cycle_id, name):
                inside += 1
                await asyncio.sleep(0.3)
        except Conflict:
            return False
        return True

    started = await asyncio.gather(*(start(f"p:{n}") for n in range(8)))
    assert started.count(True) == inside == 1


async def test_who_is_alive_but_not_heard_of_is_taken_over_and_its_late_writes_are_refused(
    db: Database, other: Database, cycle_id: UUID
) -> None:
    async with hold(db, DEFAULT_TENANT, cycle_id, "frozen:1") as late:
        await let_the_lease_run_out(db, cycle_id)
        async with hold(other, DEFAULT_TENANT, cycle_id, "b:2") as present:
            for tenant in (DEFAULT_TENANT, LAB_TENANT, None):
                with pytest.raises(Conflict, match="taken this cycle over"):
                    async with late.transaction(tenant):
                        pytest.fail("a late write was let in")
            async with present.transaction(DEFAULT_TENANT) as tx:
                await tx.execute(update(Cycle).filter_by(id=cycle_id).values(error="mine"))
    assert (await load(db, cycle_id)).error == "mine"


async def test_a_late_holder_does_not_give_back_what_another_holds(
    db: Database, other: Database, cycle_id: UUID
) -> None:
    first = hold(db, DEFAULT_TENANT, cycle_id, "frozen:1")
    await first.__aenter__()
    await let_the_lease_run_out(db, cycle_id)
    async with hold(other, DEFAULT_TENANT, cycle_id, "b:2"):
        await first.__aexit__(None, None, None)
        assert (await load(db, cycle_id)).holder == "b:2"


async def test_a_take_over_waits_for_the_transaction_that_was_let_in(
    db: Database, other: Database, cycle_id: UUID
) -> None:
    async with hold(db, DEFAULT_TENANT, cycle_id, "frozen:1") as slow:
        await let_the_lease_run_out(db, cycle_id)
        async with slow.transaction(DEFAULT_TENANT) as tx:
            taking = asyncio.create_task(enter(hold(other, DEFAULT_TENANT, cycle_id, "b:2")))
            await asyncio.sleep(0.2)
            assert not taking.done()
            await tx.execute(update(Cycle).filter_by(id=cycle_id).values(error="in time"))
        await taking
    assert (await load(db, cycle_id)).error == "in time"


async def enter(held: "object") -> None:
    async with held:  # type: ignore[attr-defined]
        pass


CUT_ALL = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where pid <> pg_backend_pid() and datname = current_database()
"""

_HOLD = """
import asyncio, sys
from uuid import UUID
from evolution.lease import hold
from kit.db import Database, make_engine

async def main():
    tenant, cycle = UUID(sys.argv[2]), UUID(sys.argv[3])
    async with hold(Database(make_engine(sys.argv[1])), tenant, cycle, "killed:1"):
        print("holds", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_killed_holder_is_known_at_once_and_its_cycle_is_taken_over(
    db: Database, database_urls: DatabaseUrls, cycle_id: UUID
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLD, database_urls.service, str(DEFAULT_TENANT), str(cycle_id),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"holds\n"
    with pytest.raises(Conflict, match="killed:1"):
        async with hold(db, DEFAULT_TENANT, cycle_id, "b:2"):
            pass
    process.kill()
    await process.wait()
    for _ in range(100):  # the server learns of it within milliseconds
        try:
            async with hold(db, DEFAULT_TENANT, cycle_id, "b:2") as taken:
                assert taken.fence == 2
                return
        except Conflict:
            await asyncio.sleep(0.05)
    pytest.fail("the cycle of a killed process is not free")


async def test_a_worker_joins_the_holder_and_goes_with_it(
    db: Database, other: Database, cycle_id: UUID
) -> None:
    assert await join(other, DEFAULT_TENANT, cycle_id) is None
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1"):
        helper = await join(other, DEFAULT_TENANT, cycle_id)
        assert isinstance(helper, LeasedDatabase)
        async with helper.transaction(DEFAULT_TENANT) as tx:
            assert await tx.scalar(select(Cycle.id)) == cycle_id
    assert await join(other, DEFAULT_TENANT, cycle_id) is None
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1"):
        with pytest.raises(Conflict):
            async with helper.transaction():
                pass


async def test_without_a_tenant_a_leased_transaction_shows_no_rows_of_tenants(
    db: Database, cycle_id: UUID
) -> None:
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1") as leased:
        with pytest.raises(DBAPIError):
            async with leased.transaction() as tx:
                await tx.execute(select(Cycle.id))
        async with leased.transaction(LAB_TENANT) as tx:
            assert (await tx.scalars(select(Cycle.id))).all() == []


async def test_the_database_away_for_a_moment_costs_no_lease(
    db: Database, database_urls: DatabaseUrls, cycle_id: UUID
) -> None:
    """All connections are cut; the holder goes on, and gives the cycle back in the end."""
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1") as leased:
        owner = make_engine(database_urls.owner or "")
        async with owner.connect() as connection:
            await connection.execute(text(CUT_ALL))
        await owner.dispose()
        async with leased.transaction(DEFAULT_TENANT) as tx:
            assert await tx.scalar(select(Cycle.holder)) == "a:1"
    assert (await load(db, cycle_id)).holder is None


async def test_who_falls_silent_inside_a_transaction_holds_nobody_up(
    db: Database, database_urls: DatabaseUrls, cycle_id: UUID
) -> None:
    frozen = Database(make_engine(database_urls.service, silent_s=1))
    with pytest.raises(Unavailable):
        async with (
            hold(frozen, DEFAULT_TENANT, cycle_id, "a:1") as leased,
            leased.transaction(DEFAULT_TENANT),  # it has locked the fence
        ):
            await let_the_lease_run_out(db, cycle_id)
            async with asyncio.timeout(20), hold(db, DEFAULT_TENANT, cycle_id, "b:2") as second:
                assert second.fence == 2
    await frozen.close()
