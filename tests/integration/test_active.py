"""The active genomes in memory: swapped whole, and healed when a notice is lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from evolution.genomes import Origin, add_genome, deploy, seed_genomes
from kit.db import Database, make_engine, psycopg_url
from lab.database import DatabaseUrls
from models.defaults import DEFAULT_SET
from models.genome import Genome, genome_name
from models.lifecycle import Status
from models.tables import EvolutionGenome
from pipeline.active import ActiveGenomes, Snapshot, follow, load_snapshot, notify_active

GENEROUS_S = 10.0


def with_chunks(count: int) -> Genome:
    return DEFAULT_SET.postprocess.model_copy(update={"chunk_count": count})


async def put_live(
    db: Database, genome: Genome, domain: str = "default", *, say: bool = True
) -> str:
    """Make `genome` the active one, as an approval does; with `say`, tell every process."""
    async with db.transaction() as tx:
        row, _ = await add_genome(tx, domain, genome, Origin(operator="hand"))
        row.status = Status.PENDING_APPROVAL
        await deploy(tx, row, action="approve", actor="ada", reason="better in the proof")
        if say:
            await notify_active(tx)
    return genome_name(genome)


async def comes(condition: Callable[[], bool]) -> bool:
    for _ in range(round(GENEROUS_S / 0.005)):
        if condition():
            return True
        await asyncio.sleep(0.005)
    return False


@asynccontextmanager
async def following(
    urls: DatabaseUrls, db: Database, poll_s: float = 3600.0
) -> AsyncIterator[ActiveGenomes]:
    """A process that follows, and is known to listen already."""
    active = ActiveGenomes()
    before = active.snapshot
    task = asyncio.create_task(follow(urls.service, db, active, poll_s))
    assert await comes(lambda: active.snapshot is not before)
    yield active
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def serves(active: ActiveGenomes, name: str, domain: str = "default") -> bool:
    return active.snapshot.genomes_for(domain).names()["postprocess"] == name


def test_a_domain_without_genomes_gets_defaults_and_then_the_built_in_ones() -> None:
    own, shared = with_chunks(3), with_chunks(7)
    snapshot = Snapshot({("1c", "postprocess"): own, ("default", "postprocess"): shared})
    assert snapshot.genomes_for("1c").postprocess == own
    assert snapshot.genomes_for("finance").postprocess == shared
    assert snapshot.genomes_for("1c").routing == DEFAULT_SET.routing
    assert Snapshot().genomes_for("1c") == DEFAULT_SET


async def test_only_active_genomes_are_in_a_snapshot(db: Database) -> None:
    async with db.transaction() as tx:
        await seed_genomes(tx)
        await add_genome(tx, "default", with_chunks(9), Origin(operator="typed"))
        snapshot = await load_snapshot(tx)
    assert snapshot.genomes_for("default") == DEFAULT_SET


async def test_a_snapshot_that_was_taken_does_not_change_with_the_next(db: Database) -> None:
    active = ActiveGenomes()
    taken = active.snapshot
    name = await put_live(db, with_chunks(9))
    await active.refresh(db)
    assert serves(active, name)
    assert taken.genomes_for("default") == DEFAULT_SET


async def test_a_decision_reaches_every_process(db: Database, database_urls: DatabaseUrls) -> None:
    elsewhere = Database(make_engine(database_urls.service))
    async with (
        following(database_urls, elsewhere) as one,
        following(database_urls, elsewhere) as two,
    ):
        for count in (2, 3, 4):
            name = await put_live(db, with_chunks(count))
            assert await comes(lambda name=name: serves(one, name) and serves(two, name))
    await elsewhere.close()


async def test_what_is_rolled_back_before_its_commit_tells_nobody(
    db: Database, database_urls: DatabaseUrls
) -> None:
    async with following(database_urls, db) as active:
        before = active.snapshot
        with suppress(ZeroDivisionError):
            async with db.transaction() as tx:
                await notify_active(tx)
                raise ZeroDivisionError
        await asyncio.sleep(0.2)
        assert active.snapshot is before


async def test_a_lost_notice_is_healed_by_the_poll(
    db: Database, database_urls: DatabaseUrls
) -> None:
    async with following(database_urls, db, poll_s=0.05) as active:
        name = await put_live(db, with_chunks(9), say=False)
        assert await comes(lambda: serves(active, name))


async def test_a_listener_whose_connection_is_cut_listens_again(
    db: Database, database_urls: DatabaseUrls
) -> None:
    async with following(database_urls, db) as active:
        heard = active.snapshot
        await asyncio.to_thread(cut_listeners, database_urls)
        assert await comes(
            lambda: active.snapshot is not heard
        )  # it reads its state on coming back
        name = await put_live(db, with_chunks(9))
        assert await comes(lambda: serves(active, name))


async def test_while_the_store_cannot_be_read_the_last_genomes_serve(
    db: Database, database_urls: DatabaseUrls
) -> None:
    async with following(database_urls, db, poll_s=0.05) as active:
        name = await put_live(db, with_chunks(9))
        assert await comes(lambda: serves(active, name))
        unread = await add_unreadable(db)
        await asyncio.sleep(0.3)
        assert serves(active, name)
        async with db.transaction() as tx:
            (await tx.get_one(EvolutionGenome, unread)).status = Status.RETIRED
        newer = await put_live(db, with_chunks(8))
        assert await comes(lambda: serves(active, newer))


async def add_unreadable(db: Database) -> Any:
    """An active genome such as a later version would write."""
    content = {"layer": "routing", "schema_version": 99}
    row = EvolutionGenome(
        domain="later", layer="routing", schema_version=99, content=content,
        content_hash="f" * 64, status=Status.ACTIVE, operator="hand",
    )  # fmt: skip
    async with db.transaction() as tx:
        tx.add(row)
    return row.id


def cut_listeners(urls: DatabaseUrls) -> None:
    assert urls.owner is not None
    engine = create_engine(psycopg_url(urls.owner), isolation_level="AUTOCOMMIT")
    cut = text(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and query ilike 'listen%'"
    )
    with engine.connect() as connection:
        assert connection.scalars(cut).all() == [True]
    engine.dispose()


@pytest.mark.parametrize("domain", ["default", "1c"])
async def test_a_genome_of_one_domain_leaves_the_others_alone(db: Database, domain: str) -> None:
    async with db.transaction() as tx:
        await seed_genomes(tx)
    name = await put_live(db, with_chunks(11), "1c")
    active = ActiveGenomes()
    await active.refresh(db)
    assert serves(active, name, domain) is (domain == "1c")
