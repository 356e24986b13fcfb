"""The night is ordered once, however many processes have a clock."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from procrastinate import App
from pydantic import SecretStr
from sqlalchemy import select, text

from kit.db import Database, make_engine
from kit.settings import Settings
from lab.database import DatabaseUrls
from lab.jobs import make_jobs
from lab.schedule import order_night, start_schedule
from lab.wiring import Lab, open_lab
from models.genome import LAYERS
from models.tables import DEFAULT_TENANT, Corpus, Cycle, Profile, Question

BEFORE_MIDNIGHT = datetime(2026, 3, 28, 23, 50, tzinfo=UTC)
AT_NIGHT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
"""02:30 in Madrid does not exist on this date: this is 03:30."""
LATER_THAT_DAY = datetime(2026, 3, 29, 6, 0, tzinfo=UTC)


class StandingClock:
    def __init__(self, time: datetime) -> None:
        self.time = time

    def now(self) -> datetime:
        return self.time


@pytest.fixture
async def lab(db: Database, database_urls: DatabaseUrls, tmp_path: Path) -> AsyncIterator[Lab]:
    """A lab in Madrid with questions enough for a cycle."""
    settings = Settings(
        home=tmp_path,
        database_url=SecretStr(database_urls.service),
        timezone="Europe/Madrid",
        nightly="02:30",
    )
    await add_questions(db, 60)
    opened = await asyncio.to_thread(open_lab, settings)
    yield replace(opened, clock=StandingClock(AT_NIGHT))
    await opened.close()


async def add_questions(db: Database, count: int) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="c")
        tx.add(corpus)
        await tx.flush()
        tx.add(
            Profile(
                tenant_id=DEFAULT_TENANT,
                name="default",
                domain="default",
                corpus_id=corpus.id,
                settings={},
            )
        )
        tx.add_all(question(corpus.id, n) for n in range(count))


def question(corpus_id: UUID, n: int) -> Question:
    return Question(
        tenant_id=DEFAULT_TENANT,
        corpus_id=corpus_id,
        external_id=f"q{n}",
        text=f"What about {n}?",
        language="en",
        cluster=f"c{n}",
    )


async def cycles(db: Database) -> list[Cycle]:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return list(await tx.scalars(select(Cycle).order_by(Cycle.layer)))


async def jobs_queued(db: Database) -> int:
    async with db.transaction() as tx:
        count = await tx.scalar(
            text("select count(*) from procrastinate_jobs where task_name = 'run_cycle'")
        )
    assert isinstance(count, int)
    return count


async def order(lab: Lab, jobs: App, at: datetime) -> list[UUID]:
    return await order_night(replace(lab, clock=StandingClock(at)), jobs)


async def test_two_processes_order_one_cycle_a_layer(lab: Lab, database_urls: DatabaseUrls) -> None:
    other = replace(lab, db=Database(make_engine(database_urls.service)))
    jobs, other_jobs = make_jobs(lab), make_jobs(other)
    async with jobs.open_async(), other_jobs.open_async():
        ordered = await asyncio.gather(
            *(order_night(lab, jobs) for _ in range(3)),
            *(order_night(other, other_jobs) for _ in range(3)),
        )
    found = await cycles(lab.db)
    assert [cycle.layer for cycle in found] == sorted(LAYERS)
    assert sorted(cycle for each in ordered for cycle in each) == sorted(
        cycle.id for cycle in found
    )
    assert await jobs_queued(lab.db) == len(LAYERS)
    await other.close()


async def test_a_restart_does_not_repeat_the_night_and_the_next_date_has_its_own(lab: Lab) -> None:
    jobs = make_jobs(lab)
    async with jobs.open_async():
        assert len(await order(lab, jobs, BEFORE_MIDNIGHT)) == len(LAYERS)
        assert len(await order(lab, jobs, AT_NIGHT)) == len(LAYERS)
        assert await order(lab, jobs, LATER_THAT_DAY) == []
    dates = {(cycle.due_key or "")[-10:] for cycle in await cycles(lab.db)}
    assert dates == {"2026-03-28", "2026-03-29"}


async def test_a_night_that_cannot_be_paid_for_is_said_and_nothing_is_queued(lab: Lab) -> None:
    poor = replace(lab, settings=lab.settings.model_copy(update={"cycle_budget": 10}))
    jobs = make_jobs(poor)
    async with jobs.open_async():
        assert await order_night(poor, jobs) == []
    assert await cycles(lab.db) == []
    assert await jobs_queued(lab.db) == 0


async def test_the_clock_of_a_process_knows_the_next_night(lab: Lab) -> None:
    scheduler = start_schedule(lab, make_jobs(lab))
    try:
        (job,) = scheduler.get_jobs()
        due = job.next_run_time.astimezone(lab.settings.zone)
        assert (due.minute, due.tzinfo) == (30, lab.settings.zone)
        assert due.astimezone(UTC) > datetime.now(UTC)
    finally:
        scheduler.shutdown(wait=False)


async def test_without_a_nightly_time_the_clock_has_nothing_to_do(lab: Lab) -> None:
    quiet = replace(lab, settings=lab.settings.model_copy(update={"nightly": ""}))
    scheduler = start_schedule(quiet, make_jobs(quiet))
    try:
        assert scheduler.get_jobs() == []
        assert await order_night(quiet, make_jobs(quiet)) == []
    finally:
        scheduler.shutdown(wait=False)
