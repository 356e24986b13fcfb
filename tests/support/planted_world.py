"""Planted worlds: a seeded store with questions, and parts of cycles whose truth is known."""

from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import func, select

from evolution.buying.paid import PaidChat
from evolution.cycle import run_cycle
from evolution.fakes import PlantedAnswers, PlantedJudge, PlantedSession, Quality
from evolution.genomes import seed_genomes
from evolution.parts import CycleParts
from evolution.plan import CycleOrder, create_cycle
from evolution.shapes import CycleResult
from kit.chat import ChatModel, ChatRequest, Message
from kit.clock import SystemClock
from kit.db import Database
from kit.fakes import ScriptedChat
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet
from models.profile import ProfileSettings
from models.tables import DEFAULT_TENANT, Corpus, Profile, Question
from pipeline.cache import MemoryAnswerCache
from pipeline.ports import Scope

MODELS = {"reader": "planted", "router": "planted", "embedder": "hash", "judge": "planted-1"}


def fewer_fragments_are_better(genomes: GenomeSet, question: str) -> float:
    return 8.0 - 0.5 * abs(genomes.postprocess.chunk_count - 8)


def nothing_matters(genomes: GenomeSet, question: str) -> float:
    return 6.0


@dataclass
class PricedAnswers(PlantedAnswers):
    """Asks a model with a prompt as long as the fragments that the genome reads."""

    model: ChatModel | None = None

    async def __call__(self, question: str, genomes: GenomeSet):  # type: ignore[no-untyped-def]
        assert self.model is not None
        prompt = "a fragment of some text " * genomes.postprocess.chunk_count
        await self.model.chat(ChatRequest((Message("user", prompt),), 20))
        return await super().__call__(question, genomes)


@dataclass
class World:
    """A seeded store with questions, and the parts of cycles in it."""

    db: Database
    parts: CycleParts
    answers: PlantedAnswers
    domain: str = "default"

    @property
    def genomes(self) -> GenomeSet:
        """What a cycle starts from."""
        return DEFAULT_SET

    async def order(self, **changes: object) -> UUID:
        """Order a cycle: 240 judged answers are the proof's, and 160 find what is planted here."""
        order = CycleOrder("postprocess", self.domain, 400, seed=11)
        async with self.db.transaction(DEFAULT_TENANT) as tx:
            cycle_id = await create_cycle(tx, DEFAULT_TENANT, replace(order, **changes))  # type: ignore[arg-type]
        assert cycle_id is not None
        return cycle_id

    async def run(self, **changes: object) -> CycleResult:
        return await run_cycle(self.parts, await self.order(**changes))

    async def count(self, table: type, tenant: UUID = DEFAULT_TENANT, **filters: object) -> int:
        async with self.db.transaction(tenant) as tx:
            query = select(func.count()).select_from(table).filter_by(**filters)
            return await tx.scalar(query) or 0


async def make_world(db: Database, quality: Quality, questions: int = 230) -> World:
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="planted")
        tx.add(corpus)
        await tx.flush()
        tx.add(Profile(tenant_id=DEFAULT_TENANT, name="default", domain="default",
                       corpus_id=corpus.id, settings={}))  # fmt: skip
        tx.add_all(_question(corpus.id, n) for n in range(questions))
    async with db.transaction() as tx:
        await seed_genomes(tx)
    scope = Scope(DEFAULT_TENANT, "default", "default", corpus.id, "planted", corpus.version,
                  ProfileSettings(), 0.5)  # fmt: skip
    answers = PlantedAnswers(scope, quality)
    return World(db, make_parts(db, scope, answers), answers)


def with_prices(world: World) -> World:
    """Give the same world where an answer costs what its genome reads."""
    paid = PaidChat(ScriptedChat(lambda request: "yes"), world.db)
    answers = PricedAnswers(world.parts.scope, world.answers.quality, model=paid)
    return replace(world, parts=replace(world.parts, answer=answers), answers=answers)


def make_parts(db: Database, scope: Scope, answers: PlantedAnswers) -> CycleParts:
    return CycleParts(
        db=db,
        clock=SystemClock(),
        tenant=DEFAULT_TENANT,
        scope=scope,
        answer=answers,
        judge=PlantedJudge(noise=0.8),
        mutator=None,
        session=PlantedSession(answers),
        private_cache=lambda: MemoryAnswerCache(SystemClock()),
        inert_genes=frozenset({"postprocess.system_prompt", "postprocess.system_prompt_reduce"}),
        models=MODELS,
        concurrency=8,
    )


def _question(corpus_id: UUID, n: int) -> Question:
    return Question(
        tenant_id=DEFAULT_TENANT,
        corpus_id=corpus_id,
        external_id=f"q{n:03}",
        text=f"What about fact number {n}?",
        language="en",
        answerable=True,
        cluster=f"c{n}",
        reference_answer=None,
    )
