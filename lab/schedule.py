"""When cycles run by themselves: APScheduler says when, the queue says who, a key makes it once."""

from datetime import UTC, date, datetime, time
from uuid import UUID

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from procrastinate import App

from evolution.plan import CycleOrder, create_cycle
from kit.errors import GenomaError
from kit.settings import Settings
from lab.jobs import enqueue_cycle
from lab.limits import called_models, make_limits
from lab.nightly import Nightly
from lab.wiring import Lab
from models.genome import LAYERS
from models.tables import DEFAULT_TENANT
from pipeline.active import DEFAULT_DOMAIN

MISSED_FOR_S = 6 * 3600
"""A start that was missed by less than this is made up for; then the night is over."""

log = structlog.get_logger()


def nightly_trigger(settings: Settings) -> Nightly | None:
    """Give the trigger of the nightly cycles, None where there are none."""
    if not settings.nightly:
        return None
    return Nightly(time.fromisoformat(settings.nightly), settings.zone)


def next_nightly(settings: Settings, now: datetime) -> datetime | None:
    """Give the next due time at or after `now`, in the lab's zone."""
    trigger = nightly_trigger(settings)
    due = trigger.get_next_fire_time(None, now) if trigger else None
    return due.astimezone(settings.zone) if due else None


def due_key(tenant: UUID, layer: str, domain: str, day: date) -> str:
    """Name a due time by its calendar date: a restart, or another process, does not repeat it."""
    return f"nightly:{tenant}:{layer}:{domain}:{day.isoformat()}"


def start_schedule(lab: Lab, jobs: App) -> AsyncIOScheduler:
    """Start the clock of a process; any number of processes may have one."""
    scheduler = AsyncIOScheduler(timezone=UTC)
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
    """Queue one cycle a layer for the night that was due last; give those that are new."""
    trigger = nightly_trigger(lab.settings)
    if trigger is None:
        return []
    day = trigger.last_date(lab.clock.now())
    ordered = [await _order(lab, jobs, layer, day) for layer in LAYERS]
    return [cycle_id for cycle_id in ordered if cycle_id is not None]


async def _order(lab: Lab, jobs: App, layer: str, day: date) -> UUID | None:
    order = CycleOrder(
        layer=layer,
        domain=DEFAULT_DOMAIN,
        budget=lab.settings.cycle_budget,
        limits=make_limits(lab.settings),
        called=called_models(lab.settings, lab.bare_chat),
        due_key=due_key(DEFAULT_TENANT, layer, DEFAULT_DOMAIN, day),
    )
    try:
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            cycle_id = await create_cycle(tx, DEFAULT_TENANT, order)
            if cycle_id is not None:
                await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, DEFAULT_DOMAIN, layer)
    except GenomaError as error:
        log.warning("no nightly cycle", layer=layer, reason=str(error))
        return None
    return cycle_id
