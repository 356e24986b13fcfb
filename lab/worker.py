"""`genoma work`: runs cycles, does units of all cycles, and keeps the lab's clock."""

import asyncio
import signal

import psycopg
import structlog
from procrastinate import App
from procrastinate.exceptions import ConnectorException

from evolution.buying.hands import units_at_once
from kit.errors import Unavailable
from lab.jobs import make_jobs, take_up_lost
from lab.schedule import start_schedule
from lab.units import QUEUE
from lab.wiring import Lab

LOOK_FOR_LOST_EVERY_S = 5
LOOK_FOR_JOBS_EVERY_S = 1
"""Besides being notified: a notice that comes while the queue is read would be missed."""
BEAT_EVERY_S = 5
"""Who has not been heard of for three times as long is taken for dead (`lab.jobs`)."""
STOPS_WITHIN_S = 1
"""A job that is not done by then goes on with the next worker, behind what it has committed."""

log = structlog.get_logger()


def listen_for_the_end() -> asyncio.Event:
    """Give an event that is set when this process is told to end.

    It is listened for from the first moment on: a pool of connections that is cancelled while it
    opens would hang for ever.
    """
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, told.set)
    return told


async def work(lab: Lab, told: asyncio.Event) -> None:
    """Run jobs until told to stop. A job that a killed worker left is taken up again."""
    jobs = make_jobs(lab)
    async with jobs.open_async():
        scheduler = start_schedule(lab, jobs)
        running = [
            asyncio.create_task(_run(jobs, "default", 1)),
            asyncio.create_task(_run(jobs, QUEUE, units_at_once(lab.settings.concurrency))),
            asyncio.create_task(_watch_lost(lab, jobs)),
            asyncio.create_task(told.wait()),
        ]
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        scheduler.shutdown(wait=False)
        for task in running:
            task.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
        await lab.close()
    for each in ended:
        if isinstance(each, Exception):  # none of them ends by itself but by an error
            raise each


async def _run(jobs: App, queue: str, concurrency: int) -> None:
    """Run the jobs of one queue; of units nothing is kept but their results."""
    await jobs.run_worker_async(
        queues=[queue],
        concurrency=concurrency,
        name=f"genoma {queue}",
        fetch_job_polling_interval=LOOK_FOR_JOBS_EVERY_S,
        update_heartbeat_interval=BEAT_EVERY_S,
        delete_jobs="always" if queue == QUEUE else "never",
        shutdown_graceful_timeout=STOPS_WITHIN_S,
        install_signal_handlers=False,
    )


async def _watch_lost(lab: Lab, jobs: App) -> None:
    """Look for lost work now and then; a database that is away for a moment is no end."""
    while True:
        try:
            if count := await take_up_lost(lab, jobs):
                log.warning("lost work is taken up again", jobs=count)
        except (Unavailable, psycopg.Error, ConnectorException) as error:
            log.warning("the database is out of reach", error=str(error))
        await asyncio.sleep(LOOK_FOR_LOST_EVERY_S)
