"""When cycles run by themselves: APScheduler says when, the queue says who, a key makes it once."""

from datetime import datetime
from uuid import UUID

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger
from procrastinate import App

from evolution.plan import CycleOrder, create_cycle
from kit.errors import GenomaError
from kit.settings import Settings
from lab.jobs import enqueue_cycle
from lab.wiring import Lab
from models.genome import LAYERS
from models.tables import DEFAULT_TENANT

DOMAIN = "default"
MISSED_FOR_S = 6 * 3600
"""A start that was missed by less than this is made up for; then the night is over."""

log = structlog.get_logger()


def nightly_trigger(settings: Settings) -> CronTrigger | None:
    """Give the trigger of the nightly cycles, None where there are none."""
    if not settings.nightly:
        return None
    hour, minute = map(int, settings.nightly.split(":"))
    return CronTrigger(hour=hour, minute=minute, timezone=settings.zone)


def next_nightly(settings: Settings, now: datetime) -> datetime | None:
    """Give the next due time after `now`, aware."""
    trigger = nightly_trigger(settings)
    due: datetime | None = trigger.get_next_fire_time(None, now) if trigger else None
    return due


def due_key(layer: str, domain: str, due: datetime) -> str:
    """Name a due time by its local date: one run a calendar day, whatever the clock does."""
    return f"nightly:{layer}:{domain}:{due.date().isoformat()}"


def start_schedule(lab: Lab, jobs: App) -> AsyncIOScheduler:
    """Start the clock of a process; any number of processes may have one."""
    scheduler = AsyncIOScheduler(timezone=lab.settings.zone)
    trigger = nightly_trigger(lab.settings)
    if trigger is not None:
        scheduler.add_job(
            order_night,
            trigger,
            args=(lab, jobs),
            misfire_grace_time=MISSED_FOR_S,
            coalesce=True,
        )
    scheduler.start()
    return scheduler


async def order_night(lab: Lab, jobs: App) -> list[UUID]:
    """Queue one cycle a layer for tonight; give those that were not queued before."""
    due = lab.clock.now().astimezone(lab.settings.zone)
    ordered = [await _order(lab, jobs, layer, due) for layer in LAYERS]
    return [cycle_id for cycle_id in ordered if cycle_id is not None]


async def _order(lab: Lab, jobs: App, layer: str, due: datetime) -> UUID | None:
    order = CycleOrder(
        layer=layer,
        domain=DOMAIN,
        budget=lab.settings.cycle_budget,
        due_key=due_key(layer, DOMAIN, due),
    )
    try:
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            cycle_id = await create_cycle(tx, DEFAULT_TENANT, order)
            if cycle_id is not None:
                await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, DOMAIN, layer)
    except GenomaError as error:
        log.warning("no nightly cycle", layer=layer, reason=str(error))
        return None
    return cycle_id
