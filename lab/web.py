"""The web process: the API and the pages, and what keeps them fresh."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from uuid import UUID

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, RedirectResponse
from procrastinate import App

from admin_ui.app import make_admin
from admin_ui.deps import AdminParts
from evolution.plan import DEFAULT_MAX_MUTATIONS, CycleOrder, create_cycle
from evolution.store import load_cycle
from evolution.wishes import let_go_on
from gateway.app import make_gateway
from gateway.deps import GatewayParts
from lab.jobs import enqueue_cycle, make_jobs
from lab.limits import called_models, make_limits
from lab.schedule import next_nightly
from lab.wiring import Asker, Lab, model_names
from models.contract import Turn
from models.tables import DEFAULT_TENANT
from pipeline.active import follow
from pipeline.state import State


def make_web(lab: Lab) -> FastAPI:
    """Make the app of the web process."""
    jobs = make_jobs(lab)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await lab.active.refresh(lab.db)
        follower = asyncio.create_task(follow(lab.urls.service, lab.db, lab.active))
        async with jobs.open_async():
            yield
        follower.cancel()
        with suppress(asyncio.CancelledError):
            await follower
        await lab.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.get("/", include_in_schema=False)(_home)
    app.get("/healthz", include_in_schema=False)(_health)
    app.mount("/v1", make_gateway(_gateway_parts(lab)))
    app.mount("/", make_admin(_admin_parts(lab, jobs)))
    return app


async def _home() -> RedirectResponse:
    return RedirectResponse("/admin", status_code=303)


async def _health() -> PlainTextResponse:
    return PlainTextResponse("ok\n")


def _gateway_parts(lab: Lab) -> GatewayParts:
    asker = Asker(lab, origin="live")

    async def ask(tenant: UUID, profile: str, question: str, history: Sequence[Turn]) -> State:
        return await asker.ask(tenant, profile, question, history)

    return GatewayParts(lab.db, ask)


def _admin_parts(lab: Lab, jobs: App) -> AdminParts:
    playground = Asker(lab, origin="playground")

    async def ask(question: str, profile: str) -> State:
        return await playground.ask(DEFAULT_TENANT, profile, question)

    async def start_cycle(
        layer: str, domain: str, budget: int | None, max_mutations: int | None, actor: str
    ) -> UUID:
        order = CycleOrder(
            layer,
            domain,
            lab.settings.cycle_budget if budget is None else budget,
            DEFAULT_MAX_MUTATIONS if max_mutations is None else max_mutations,
            limits=make_limits(lab.settings),
            called=called_models(lab.settings, lab.bare_chat),
        )
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            cycle_id = await create_cycle(tx, DEFAULT_TENANT, order)
            assert cycle_id is not None  # only a nightly order can be there already
            await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, domain, layer)
        return cycle_id

    async def resume_cycle(cycle_id: UUID) -> None:
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            if await let_go_on(tx, cycle_id):
                cycle = await load_cycle(tx, cycle_id)
                where = (cycle.domain, cycle.layer)
                await enqueue_cycle(tx, jobs, DEFAULT_TENANT, cycle_id, *where)

    def night() -> datetime | None:
        return next_nightly(lab.settings, lab.clock.now())

    return AdminParts(
        db=lab.db,
        tenant=DEFAULT_TENANT,
        ask=ask,
        start_cycle=start_cycle,
        resume_cycle=resume_cycle,
        models=lambda: model_names(lab),
        next_nightly=night,
        clock=lab.clock,
        zone=lab.settings.zone,
        cycle_budget=lab.settings.cycle_budget,
    )
