"""What running a cycle costs besides the model's own time, and whether its memory stays flat.

    python -m benchmarks.evolution.orchestration [--latency 5.0] [--at-once 1 8 64] [--memory 10000]

A model outside answers each call after a fixed time and counts how many calls it has at once.
Whole cycles run through the product's own lease, queue, gates, books and budget on an embedded
PostgreSQL. *Ideal* is the time that the model alone needs: the sum of all calls' latencies divided
by N, or the critical path where that is longer (each round of answers two latencies: an answer,
then its verdict). Memory is the resident set of the process after each thousand judged answers of
one cycle.
"""

import argparse
import asyncio
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import psutil

from accounts.capacity import Capacity
from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.hands import Desks, units_at_once
from evolution.buying.paid import PaidChat
from evolution.buying.results import Scored
from evolution.cycle import run_cycle
from evolution.fakes import PlantedAnswers, PlantedJudge, PlantedSession
from evolution.genomes import Origin, add_genome, seed_genomes
from evolution.lease import LeasedDatabase, hold
from evolution.parts import CycleParts, DoUnit, Hands, Unit
from evolution.plan import CycleOrder, create_cycle
from evolution.store import mark_running
from judge.port import Exam
from judge.verdict import Unscored, Verdict
from kit.chat import ChatModel, ChatReply, ChatRequest, Message, Usage
from kit.clock import SystemClock
from kit.db import Database, make_signal_engine
from kit.settings import Settings
from lab.database import DatabaseUrls, open_database
from lab.jobs import make_jobs
from lab.units import QueuedHands
from lab.wiring import Lab, open_lab
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet, genome_name
from models.profile import ProfileSettings
from models.tables import DEFAULT_TENANT, Corpus, Profile, Question
from pipeline.cache import MemoryAnswerCache
from pipeline.ports import Scope
from pipeline.state import State

CALLS_PER_ANSWER = 2
LEAST, STANDARD = (132, 62), (600, 240)
"""Judged answers of a cycle, and questions: the least that have a proof; what an order has."""
NAMES = {"reader": "fixed", "router": "fixed", "embedder": "none", "judge": "fixed"}


@dataclass
class FixedLatency:
    """A model that answers after a fixed time, and knows how many calls it had at once."""

    latency_s: float
    name: str = "fixed"
    provider: str = "outside"
    calls: int = 0
    under_way: int = 0
    most: int = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(self.latency_s)
        self.under_way -= 1
        return ChatReply("ok", "stop", self.name, Usage(10, 1))


@dataclass
class AskingAnswers(PlantedAnswers):
    """Planted answers, each of which takes a call of the model."""

    model: ChatModel | None = None

    async def __call__(self, question: str, genomes: GenomeSet) -> State:
        assert self.model is not None
        text = f"{genomes.fingerprint()} {question}"
        await self.model.chat(ChatRequest((Message("user", text),), 20))
        return await super().__call__(question, genomes)


@dataclass
class AskingJudge(PlantedJudge):
    """Planted verdicts, each of which takes a call of the model."""

    model: ChatModel | None = None

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        assert self.model is not None
        await self.model.chat(ChatRequest((Message("user", f"judge {exam.question}"),), 20))
        return await super().judge(exam)


@dataclass
class CountingHands:
    """Hands that remember how many units each round had."""

    inner: Hands
    rounds: list[int] = field(default_factory=list)

    async def evaluate(self, units: Sequence[Unit], do: DoUnit) -> None:
        self.rounds.append(len(units))
        await self.inner.evaluate(units, do)


def every_answer_differs(genomes: GenomeSet, question: str) -> float:
    """A quality that depends on every gene: no two genomes share an answer, or a verdict."""
    spread = int(genomes.fingerprint()[:6], 16) / 0xFFFFFF
    return 5.0 + 0.2 * genomes.postprocess.chunk_count + 0.1 * spread


async def measure_time(lab: Lab, latency_s: float, at_once: int) -> None:
    """Run one cycle with `at_once` calls at a time; print a row."""
    model = FixedLatency(latency_s)
    budget, questions = STANDARD if at_once > 1 else LEAST
    scope = await seed(lab.db, questions)
    async with HeldCycle(lab, scope, model, at_once, budget) as (cycle_id, parts):
        hands = CountingHands(parts.hands)  # type: ignore[arg-type]
        started = time.perf_counter()
        await run_cycle(replace(parts, hands=hands), cycle_id)
        wall = time.perf_counter() - started
    rounds = len(hands.rounds)
    ideal = latency_s * max(model.calls / at_once, CALLS_PER_ANSWER * rounds)
    print(
        f"N = {at_once:>3}   calls {model.calls:>4} (at once {model.most:>2})   "
        f"rounds {rounds:>2}   ideal {ideal:>7.1f} s   wall {wall:>7.1f} s   "
        f"ratio {wall / ideal:.3f}",
        flush=True,
    )


async def measure_memory(lab: Lab, scope: Scope, answers: int) -> None:
    """Judge so many answers in one process; print its resident memory after each thousand."""
    model, here = FixedLatency(0.0), psutil.Process()
    questions = await _load_questions(lab.db, scope)
    block = math.ceil(1000 / len(questions))
    async with HeldCycle(lab, scope, model, 8, budget=2 * answers) as (cycle_id, parts):
        async with parts.db.transaction(DEFAULT_TENANT) as tx:
            await mark_running(tx, cycle_id, SystemClock().now())
        evaluator = Evaluator(parts, cycle_id, _tell_nobody)
        contenders = await _contenders(lab.db, math.ceil(answers / len(questions)))
        for start in range(0, len(contenders), block):
            some = contenders[start : start + block]
            await evaluator.eval_all(some, questions, "search")
            done = (start + len(some)) * len(questions)
            rss = here.memory_info().rss / 2**20
            print(f"{done:>6} judged answers   {rss:7.1f} MiB", flush=True)


class HeldCycle:
    """A cycle that is held, with all its parts."""

    def __init__(
        self, lab: Lab, scope: Scope, model: FixedLatency, at_once: int, budget: int
    ) -> None:
        self._lab, self._scope, self._model = lab, scope, model
        self._at_once, self._budget = at_once, budget

    async def __aenter__(self) -> tuple[UUID, CycleParts]:
        lab = self._lab
        order = CycleOrder("postprocess", "default", self._budget, seed=7)
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            cycle_id = await create_cycle(tx, DEFAULT_TENANT, order)
        assert cycle_id is not None
        self._jobs = make_jobs(lab, desks := Desks())
        await self._jobs.open_async()
        engine = make_signal_engine(lab.urls.service, "bench")
        self._capacity = Capacity(engine, "bench", self._at_once)
        self._held = hold(lab.db, DEFAULT_TENANT, cycle_id, "bench:1")
        db = await self._held.__aenter__()
        here = units_at_once(self._at_once)
        hands = QueuedHands(self._jobs, desks, db, DEFAULT_TENANT, cycle_id, here)
        return cycle_id, replace(self._parts(db), hands=hands)

    async def __aexit__(self, *error: object) -> None:
        await self._held.__aexit__(None, None, None)
        await self._capacity.close()
        await self._jobs.close_async()

    def _parts(self, db: LeasedDatabase) -> CycleParts:
        model = PaidChat(self._model, db, gate=self._capacity.lab("outside"))
        answers = AskingAnswers(self._scope, every_answer_differs, model=model)
        return CycleParts(
            db=db,
            clock=SystemClock(),
            tenant=DEFAULT_TENANT,
            scope=self._scope,
            answer=answers,
            judge=AskingJudge(noise=0.5, model=model),
            mutator=None,
            session=PlantedSession(answers),
            private_cache=lambda: MemoryAnswerCache(SystemClock()),
            inert_genes=frozenset(
                {"postprocess.system_prompt", "postprocess.system_prompt_reduce"}
            ),
            models=NAMES,
            concurrency=self._at_once,
        )


async def _tell_nobody(_: Scored) -> None:
    pass


async def _contenders(db: Database, count: int) -> list[Contender]:
    """Store so many genomes that differ in their numbers."""
    made = []
    numbers = itertools.product(range(1, 13), range(64, 2049, 64))
    async with db.transaction() as tx:
        for chunk_count, max_tokens in itertools.islice(numbers, count):
            change = {"chunk_count": chunk_count, "max_tokens": max_tokens}
            genome = DEFAULT_SET.postprocess.model_copy(update=change)
            row, _ = await add_genome(tx, "default", genome, Origin(operator="typed"))
            genomes = DEFAULT_SET.with_genome(genome)
            made.append(Contender(row.id, genome_name(genome), genomes))
    return made


async def _load_questions(db: Database, scope: Scope) -> list[Question]:
    from sqlalchemy import select

    async with db.transaction(DEFAULT_TENANT) as tx:
        return list(await tx.scalars(select(Question).filter_by(corpus_id=scope.corpus_id)))


async def seed(db: Database, questions: int) -> Scope:
    """Fill an empty store with questions, and the genomes that serve."""
    async with db.transaction() as tx:
        await seed_genomes(tx)
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="planted")
        tx.add(corpus)
        await tx.flush()
        tx.add(Profile(tenant_id=DEFAULT_TENANT, name="default", domain="default",
                       corpus_id=corpus.id, settings={}))  # fmt: skip
        tx.add_all(
            Question(tenant_id=DEFAULT_TENANT, corpus_id=corpus.id, external_id=f"q{n}",
                     text=f"What about fact number {n}?", language="en", cluster=f"c{n}")
            for n in range(questions)
        )  # fmt: skip
    return Scope(DEFAULT_TENANT, "default", "default", corpus.id, "planted", corpus.version,
                 ProfileSettings(), 0.5)  # fmt: skip


@contextmanager
def fresh_database() -> Iterator[tuple[Settings, DatabaseUrls]]:
    with TemporaryDirectory(prefix="genoma-bench-") as folder:
        settings = Settings(home=Path(folder), nightly="")
        urls = open_database(settings)
        try:
            yield settings, urls
        finally:
            assert urls.embedded is not None
            urls.embedded.stop()


async def run(options: argparse.Namespace) -> None:
    for at_once in options.at_once:
        with fresh_database() as (settings, _):
            lab = open_lab(settings)
            await measure_time(lab, options.latency, at_once)
            await lab.close()
    if options.memory:
        with fresh_database() as (settings, _):
            lab = open_lab(settings)
            await measure_memory(lab, await seed(lab.db, 100), options.memory)
            await lab.close()


def main() -> None:
    options = argparse.ArgumentParser(description="Orchestration of a cycle")
    options.add_argument("--latency", type=float, default=5.0, help="of one call, in seconds")
    options.add_argument("--at-once", type=int, nargs="*", default=[1, 8, 64])
    options.add_argument("--memory", type=int, default=10_000, help="judged answers; 0: none")
    asyncio.run(run(options.parse_args()))


if __name__ == "__main__":
    main()
