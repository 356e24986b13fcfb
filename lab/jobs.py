"""The job queue: who does what a process has asked for, on the same PostgreSQL."""

import asyncio
from uuid import UUID

import psycopg
import structlog
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import JobAborted
from procrastinate.jobs import Job
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.hands import Desks
from evolution.parts import Phase, Unit
from evolution.store import load_cycle
from kit.db import libpq_url
from kit.errors import (
    Conflict,
    GenomaError,
    ProviderBusy,
    ProviderUnreachable,
    Stopped,
    Unavailable,
)
from lab.library import complete_corpus
from lab.running import run_held
from lab.units import QUEUE, TASK, Helpers, read_unit
from lab.wiring import Lab
from models.tables import DEFAULT_TENANT

STALLED_AFTER_S = 15
TRY_AGAIN_AFTER_S = 20
MOST_ATTEMPTS = 30

PASSING = (Conflict, ProviderBusy, ProviderUnreachable, Unavailable, psycopg.Error, OSError)
"""Somebody else holds the lock, or an endpoint or the database is out of reach for a while."""

_ORPHANS = """
    select c.id, c.domain, c.layer from cycle c
    where c.status in ('queued', 'running') and c.created_at < now() - interval '1 minute'
      and coalesce(c.lease_until < now(), true)
      and not exists (
        select from procrastinate_jobs j
        where j.task_name = 'run_cycle' and j.status in ('todo', 'doing')
          and j.args ->> 'cycle' = c.id::text)
"""

log = structlog.get_logger()


class GoOn(BaseRetryStrategy):
    """Says when a job that did not come to its end runs again.

    At once where its worker was told to stop; later where another process evolves the same
    layer, a former worker's lock is not gone yet, or an endpoint is out of reach.
    """

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, asyncio.CancelledError | JobAborted):
            return RetryDecision()
        passing = isinstance(exception, PASSING)
        if passing and job.attempts < MOST_ATTEMPTS:
            return RetryDecision(retry_in={"seconds": TRY_AGAIN_AFTER_S})
        return None


class TakeUpAgain(BaseRetryStrategy):
    """A unit whose process is told to end waits for another one; else who runs its cycle looks
    after it."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        is_told = isinstance(exception, asyncio.CancelledError | JobAborted)
        return RetryDecision() if is_told else None


def make_jobs(lab: Lab, desks: Desks | None = None) -> App:
    """Make the queue with its three tasks; `desks` holds the units of cycles that run here."""
    connector = PsycopgConnector(conninfo=libpq_url(lab.urls.service), min_size=1, max_size=8)
    app = App(connector=connector)
    own = Desks() if desks is None else desks
    helpers = Helpers(lab)

    @app.task(name="run_cycle", retry=GoOn())
    async def run_cycle_job(tenant: str, cycle: str) -> None:
        await _run_cycle(lab, app, own, UUID(tenant), UUID(cycle))

    @app.task(name=TASK, queue=QUEUE, retry=TakeUpAgain())
    async def evaluate_unit_job(
        tenant: str, cycle: str, genome: str, questions: list[str], phase: Phase
    ) -> None:
        unit = read_unit(genome, questions, phase)
        await _evaluate_unit(own, helpers, UUID(tenant), UUID(cycle), unit)

    @app.task(name="complete_corpus", retry=GoOn())
    async def complete_corpus_job(tenant: str, profile: str) -> None:
        await complete_corpus(lab, UUID(tenant), profile)

    return app


async def _evaluate_unit(
    own: Desks, helpers: Helpers, tenant: UUID, cycle_id: UUID, unit: Unit
) -> None:
    """Do a unit. What cannot be done here goes back to whoever runs the cycle."""
    if own.runs(cycle_id):
        desk = own.find(cycle_id, unit)
        if desk is not None:
            await desk.do(unit)
        return
    try:
        await helpers.do(tenant, cycle_id, unit)
    except GenomaError as error:
        log.warning("a unit is given back", cycle=str(cycle_id), reason=str(error))


async def _run_cycle(lab: Lab, jobs: App, desks: Desks, tenant: UUID, cycle_id: UUID) -> None:
    """Run a cycle to its end. One that failed has ended too: its row says why."""
    try:
        await run_held(lab, jobs, desks, tenant, cycle_id)
    except Stopped as stopped:
        log.info("a cycle was stopped", cycle=str(cycle_id), wish=stopped.wish)
    except GenomaError as error:
        async with lab.db.transaction(tenant) as tx:
            cycle = await load_cycle(tx, cycle_id)
        if cycle.status != "failed":
            raise
        log.warning("a cycle failed", cycle=str(cycle_id), reason=str(error))


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


async def take_up_lost(lab: Lab, jobs: App) -> int:
    """Queue again what nobody works at any more; give the number of jobs.

    These are jobs of workers that died, and cycles that no job stands for: begun at a command
    line that was killed, or given up by a worker that lost its database.
    """
    stalled = list(await jobs.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER_S))
    for job in stalled:
        await jobs.job_manager.retry_job(job)
    async with lab.db.transaction(DEFAULT_TENANT) as tx:
        orphans = (await tx.execute(text(_ORPHANS))).all()
        for cycle_id, domain, layer in orphans:
            await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, domain, layer)
    return len(stalled) + len(orphans)
