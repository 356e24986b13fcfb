"""The cycle of a worker that is killed, or freezes, goes on in another: no committed call again."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import func, select

from evolution.genomes import seed_genomes
from evolution.plan import CycleOrder, create_cycle
from kit.settings import Settings
from lab.jobs import enqueue_cycle, make_jobs
from lab.library import complete_corpus, take_beir
from lab.wiring import Lab, open_lab
from models.tables import DEFAULT_TENANT, LAB_TENANT, Cycle, LedgerEntry, PaidCall
from tests.support.folders import short_folder
from tests.support.lab_process import ROOT, clean_environment
from tests.support.openai_server import model_process, read_log
from tests.support.small_corpus import write_small_corpus

CONCURRENCY = 4
MODEL = "slow-100"


class Place:
    """A lab at home in a folder, and workers of it as processes of their own."""

    def __init__(self, home: Path, url: str, log: Path) -> None:
        models = {"GENOMA_RAG_POSTPROCESS_MODEL": MODEL, "GENOMA_JUDGE_MODEL": MODEL}
        self.environment = clean_environment(
            home, OPENAI_BASE_URL=url, GENOMA_CONCURRENCY=str(CONCURRENCY), GENOMA_NIGHTLY="",
            **models,
        )  # fmt: skip
        self.settings = Settings(
            home=home,
            OPENAI_BASE_URL=url,
            rag_postprocess_model=MODEL,
            judge_model=MODEL,
            nightly="",
            concurrency=CONCURRENCY,
        )
        self.log = log
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_worker(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "lab", "work"]
        worker = subprocess.Popen(command, cwd=ROOT, env=self.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        self.workers.append(worker)
        return worker

    @property
    def calls(self) -> int:
        return len(read_log(self.log))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    log = tmp_path / "calls.jsonl"
    with short_folder() as folder, model_process(log) as url:
        found = Place(folder / "home", url, log)
        yield found
        for worker in found.workers:
            worker.kill()
            worker.wait()


async def order(lab: Lab, folder: Path) -> UUID:
    async with lab.db.transaction() as tx:
        await seed_genomes(tx)
    await take_beir(lab, DEFAULT_TENANT, write_small_corpus(folder), "small", lambda *_: None)
    await complete_corpus(lab, DEFAULT_TENANT, "small")
    jobs = make_jobs(lab)
    asked = CycleOrder("postprocess", "small", 100, 3, seed=3)
    async with jobs.open_async(), lab.db.transaction(DEFAULT_TENANT) as tx:
        cycle_id = await create_cycle(tx, DEFAULT_TENANT, asked)
        assert cycle_id is not None
        await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, "small", "postprocess")
    return cycle_id


async def wait_for_calls(place: Place, count: int) -> None:
    deadline = time.monotonic() + 60
    while place.calls < count:
        assert time.monotonic() < deadline, "the cycle makes no calls"
        await asyncio.sleep(0.02)


async def has_ended(lab: Lab, cycle_id: UUID) -> Cycle:
    async with asyncio.timeout(150):
        while True:
            async with lab.db.transaction(DEFAULT_TENANT) as tx:
                cycle = await tx.get_one(Cycle, cycle_id)
            if cycle.status in ("done", "failed"):
                return cycle
            await asyncio.sleep(0.3)


async def books(lab: Lab) -> tuple[int, int]:
    """Give (calls committed, ledger entries of calls lost in flight)."""
    async with lab.db.transaction(DEFAULT_TENANT) as tx:
        done = await tx.scalar(select(func.count()).select_from(PaidCall).filter_by(state="done"))
    async with lab.db.transaction(LAB_TENANT) as tx:
        query = select(func.count()).select_from(LedgerEntry).filter_by(outcome="lost_in_flight")
        lost = await tx.scalar(query)
    return done or 0, lost or 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
async def test_another_worker_takes_over_and_late_writes_are_refused(
    place: Place, tmp_path: Path, number: signal.Signals
) -> None:
    lab = await asyncio.to_thread(open_lab, place.settings)
    cycle_id = await order(lab, tmp_path / "small")
    first = place.start_worker()
    await wait_for_calls(place, 9)
    first.send_signal(number)
    place.start_worker()
    cycle = await has_ended(lab, cycle_id)
    assert (cycle.status, cycle.error) == ("done", None)
    assert cycle.fence >= 2
    before = await books(lab)
    if number == signal.SIGSTOP:
        first.send_signal(signal.SIGCONT)
        await asyncio.sleep(5)
    committed, lost = await books(lab)
    assert (committed, lost) == before
    assert 0 <= place.calls - committed <= lost <= CONCURRENCY
    after = await has_ended(lab, cycle_id)
    assert (after.result, after.spent, after.fence) == (cycle.result, cycle.spent, cycle.fence)
    await lab.close()
