"""Units of one cycle are done by several processes, and each is bought once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from procrastinate import App
from pydantic import SecretStr
from sqlalchemy import select, text

from evolution.genomes import seed_genomes
from evolution.plan import CycleOrder, create_cycle
from kit.db import Database
from kit.settings import Settings
from lab.database import DatabaseUrls
from lab.jobs import enqueue_cycle, make_jobs
from lab.library import complete_corpus, take_beir
from lab.wiring import Lab, open_lab
from lab.worker import work
from models.tables import DEFAULT_TENANT, Cycle, PaidCall
from tests.support.openai_server import ModelServer, read_log
from tests.support.small_corpus import write_small_corpus

DOMAIN = "small"
UNIT_JOBS = "select count(*) from procrastinate_jobs where queue_name = 'units'"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[ModelServer]]:
    """Two model servers, one for each process: each counts what its process calls."""
    with ModelServer(tmp_path / "a.jsonl") as a, ModelServer(tmp_path / "b.jsonl") as b:
        yield [a, b]


@asynccontextmanager
async def process(urls: DatabaseUrls, home: Path, server: ModelServer) -> AsyncIterator[Lab]:
    """A lab as a process of its own has it, on the common database."""
    settings = Settings(
        home=home,
        database_url=SecretStr(urls.service),
        OPENAI_BASE_URL=server.url,
        rag_postprocess_model="slow-20",
        judge_model="slow-20",
        embedding_model="ok",
        nightly="",
        concurrency=4,
    )
    lab = await asyncio.to_thread(open_lab, settings)
    yield lab
    await lab.close()


async def order(lab: Lab, jobs: App) -> UUID:
    async with lab.db.transaction(DEFAULT_TENANT) as tx:
        cycle_id = await create_cycle(
            tx, DEFAULT_TENANT, CycleOrder("postprocess", DOMAIN, 100, 3, seed=3)
        )
        assert cycle_id is not None
        await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, DOMAIN, "postprocess")
    return cycle_id


async def has_ended(db: Database, cycle_id: UUID) -> Cycle:
    """Wait until a cycle is done or failed; give it."""
    async with asyncio.timeout(120):
        while True:
            async with db.transaction(DEFAULT_TENANT) as tx:
                cycle = await tx.get_one(Cycle, cycle_id)
            if cycle.status in ("done", "failed"):
                return cycle
            await asyncio.sleep(0.2)


async def test_two_workers_share_one_cycle_and_buy_each_answer_once(
    db: Database, database_urls: DatabaseUrls, tmp_path: Path, servers: list[ModelServer]
) -> None:
    async with AsyncExitStack() as labs:
        a, b = [
            await labs.enter_async_context(process(database_urls, tmp_path, s)) for s in servers
        ]
        async with a.db.transaction() as tx:
            await seed_genomes(tx)
        await take_beir(a, DEFAULT_TENANT, write_small_corpus(tmp_path / "c"), DOMAIN, _silent)
        await complete_corpus(a, DEFAULT_TENANT, DOMAIN)
        jobs = make_jobs(a)
        async with jobs.open_async():
            cycle_id = await order(a, jobs)
        told = asyncio.Event()
        working = [asyncio.create_task(work(lab, told)) for lab in (a, b)]
        cycle = await has_ended(db, cycle_id)
        told.set()
        await asyncio.gather(*working)
    assert (cycle.status, cycle.error) == ("done", None)
    counted = [calls(server) for server in servers]
    async with db.transaction(DEFAULT_TENANT) as tx:
        states = list(await tx.scalars(select(PaidCall.state)))
        left = await tx.scalar(text(UNIT_JOBS))
    assert set(states) == {"done"}
    assert sum(counted) == len(states) >= 20
    assert min(counted) > 0, counted
    assert (left, cycle.reserved) == (0, 0)


def calls(server: ModelServer) -> int:
    return sum(1 for call in read_log(server.log) if call.path.endswith("/completions"))


def _silent(what: str, done: int, total: int) -> None:
    pass
