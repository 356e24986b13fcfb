"""Units in the queue: what others take is waited for, what they lose is done by who waits."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from procrastinate import App
from pydantic import SecretStr
from sqlalchemy import text, update

from evolution.buying.hands import Desks
from evolution.lease import LeasedDatabase, hold, join
from evolution.parts import Unit
from kit.db import Database
from kit.errors import Conflict, ProviderRefused
from kit.settings import Settings
from lab.database import DatabaseUrls
from lab.jobs import make_jobs
from lab.units import QueuedHands
from lab.wiring import open_lab
from models.tables import DEFAULT_TENANT, Cycle
from tests.support.planted_world import make_world, nothing_matters

TAKE_BY_A_DEAD_WORKER = "update procrastinate_jobs set status = 'doing' where status = 'todo'"
WAITING = "select count(*) from procrastinate_jobs where status = 'todo'"


@pytest.fixture
async def jobs(database_urls: DatabaseUrls, tmp_path: Path) -> AsyncIterator[App]:
    settings = Settings(home=tmp_path, database_url=SecretStr(database_urls.service))
    lab = open_lab(settings)
    app = make_jobs(lab)
    async with app.open_async():
        yield app
    await lab.close()


@pytest.fixture
async def cycle_id(db: Database) -> UUID:
    cycle_id = await (await make_world(db, nothing_matters, questions=60)).order()
    async with db.transaction(DEFAULT_TENANT) as tx:
        await tx.execute(update(Cycle).values(status="running"))
    return cycle_id


def units(count: int) -> list[Unit]:
    return [Unit(uuid4(), (uuid4(),), "search") for _ in range(count)]


def make_hands(jobs: App, db: LeasedDatabase, cycle_id: UUID) -> QueuedHands:
    return QueuedHands(jobs, Desks(), db, DEFAULT_TENANT, cycle_id, here=1)


async def count(db: Database, query: str) -> int:
    async with db.transaction() as tx:
        return int((await tx.execute(text(query))).scalar_one())


async def test_alone_a_process_takes_its_units_out_of_the_queue_again(
    db: Database, jobs: App, cycle_id: UUID
) -> None:
    done: list[Unit] = []
    queued: list[int] = []

    async def do(unit: Unit) -> None:
        queued.append(await count(db, WAITING))
        done.append(unit)

    todo = units(4)
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1") as leased:
        await make_hands(jobs, leased, cycle_id).evaluate(todo, do)
    assert done == todo
    assert queued == [3, 2, 1, 0]  # the first of all was never in it


async def test_what_a_dead_worker_had_is_done_by_who_waits_and_the_dead_is_shaken_off(
    db: Database, jobs: App, cycle_id: UUID
) -> None:
    done: list[Unit] = []

    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1") as leased:
        dead = await join(db, DEFAULT_TENANT, cycle_id)
        assert dead is not None

        async def do(unit: Unit) -> None:
            if not done:  # others have taken all the rest, reserved an answer, and died
                async with db.transaction(DEFAULT_TENANT) as tx:
                    await tx.execute(text(TAKE_BY_A_DEAD_WORKER))
                    await tx.execute(update(Cycle).values(reserved=1))
            done.append(unit)

        todo = units(4)
        await make_hands(jobs, leased, cycle_id).evaluate(todo, do)
        assert sorted(done, key=todo.index) == todo
        with pytest.raises(Conflict):
            async with dead.transaction(DEFAULT_TENANT):
                pass
        async with leased.transaction(DEFAULT_TENANT) as tx:
            assert (await tx.get_one(Cycle, cycle_id)).reserved == 0


async def test_an_error_stops_the_rest_and_their_jobs_serve_the_next_run(
    db: Database, jobs: App, cycle_id: UUID
) -> None:
    done: list[Unit] = []

    async def refuse(unit: Unit) -> None:
        raise ProviderRefused("the key is refused")

    async def do(unit: Unit) -> None:
        done.append(unit)

    todo = units(5)
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1") as leased:
        hands = make_hands(jobs, leased, cycle_id)
        with pytest.raises(ProviderRefused):
            await hands.evaluate(todo, refuse)
        assert await count(db, WAITING) == 4
        await hands.evaluate(todo, do)
    assert sorted(done, key=todo.index) == todo
    assert await count(db, WAITING) == 0
