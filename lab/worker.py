"""The worker process: runs jobs one at a time, and keeps the lab's clock."""

import asyncio
from contextlib import suppress

import structlog
from procrastinate import App

from lab.jobs import make_jobs, retry_stalled
from lab.schedule import start_schedule
from lab.wiring import Lab

LOOK_FOR_STALLED_EVERY_S = 10
STOPS_WITHIN_S = 1
"""A job that is not done by then goes on with the next worker, behind what it has committed."""

log = structlog.get_logger()


async def work(lab: Lab) -> None:
    """Run jobs until told to stop. A job that a killed worker left is taken up again."""
    jobs = make_jobs(lab)
    async with jobs.open_async():
        scheduler = start_schedule(lab, jobs)
        watcher = asyncio.create_task(_watch_stalled(jobs))
        try:
            await jobs.run_worker_async(
                concurrency=1, name="genoma", shutdown_graceful_timeout=STOPS_WITHIN_S
            )
        finally:
            watcher.cancel()
            scheduler.shutdown(wait=False)
            with suppress(asyncio.CancelledError):
                await watcher
            await lab.close()


async def _watch_stalled(jobs: App) -> None:
    while True:
        if count := await retry_stalled(jobs):
            log.warning("jobs of a worker that died go on", jobs=count)
        await asyncio.sleep(LOOK_FOR_STALLED_EVERY_S)
