"""The job queue: who does what a process has asked for, on the same PostgreSQL."""

from uuid import UUID

from procrastinate import App, PsycopgConnector, RetryStrategy
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.cycle import run_cycle
from kit.db import libpq_url
from kit.errors import Conflict
from lab.library import complete_corpus
from lab.wiring import Lab, make_cycle_parts

STALLED_AFTER_S = 30
_TRY_AGAIN = RetryStrategy(max_attempts=30, wait=20, retry_exceptions={Conflict})
"""Another process evolves the same layer, or a former worker's lock is not gone yet."""


def make_jobs(lab: Lab) -> App:
    """Make the queue with its two tasks."""
    connector = PsycopgConnector(conninfo=libpq_url(lab.urls.service), min_size=1, max_size=4)
    app = App(connector=connector)

    @app.task(name="run_cycle", retry=_TRY_AGAIN)
    async def run_cycle_job(tenant: str, cycle: str) -> None:
        parts = await make_cycle_parts(lab, UUID(tenant), UUID(cycle))
        await run_cycle(parts, UUID(cycle))

    @app.task(name="complete_corpus")
    async def complete_corpus_job(tenant: str, profile: str) -> None:
        await complete_corpus(lab, UUID(tenant), profile)

    return app


async def enqueue(tx: AsyncSession, jobs: App, task: str, lock: str, **arguments: str) -> None:
    """Put a job into the queue inside the caller's own transaction: both happen, or none.

    Jobs with the same `lock` run one after another.
    """
    raw = await (await tx.connection()).get_raw_connection()
    job = jobs.configure_task(task, lock=lock, connection=raw.driver_connection)
    await job.defer_async(**arguments)


async def enqueue_cycle(
    tx: AsyncSession, jobs: App, tenant: UUID, cycle_id: UUID, domain: str, layer: str
) -> None:
    """Queue a cycle, behind others of its domain and layer."""
    lock = f"cycle:{domain}:{layer}"
    await enqueue(tx, jobs, "run_cycle", lock, tenant=str(tenant), cycle=str(cycle_id))


async def retry_stalled(jobs: App) -> int:
    """Put the jobs of workers that died back into the queue; give their number."""
    stalled = list(await jobs.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER_S))
    for job in stalled:
        await jobs.job_manager.retry_job(job)
    return len(stalled)
