"""A budget that ends at any call: an honest result, nothing above the cap, nothing bought twice."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import settings
from sqlalchemy import func, select, update

from evolution.buying.paid import PaidChat
from evolution.cycle import run_cycle
from evolution.fakes import PlantedAnswers, PlantedJudge, PlantedSession
from evolution.shapes import CycleResult
from judge.port import Exam
from judge.verdict import Unscored, Verdict
from kit.chat import ChatModel, ChatReply, ChatRequest, Message, Usage
from kit.db import Database
from kit.errors import ProviderUnreachable
from kit.fakes import ScriptedChat
from kit.prices import Price
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet
from models.tables import (
    DEFAULT_TENANT,
    LAB_TENANT,
    Cycle,
    EvolutionEvalResult,
    LedgerEntry,
    PaidAnswer,
    PaidCall,
    ProofEntry,
)
from pipeline.state import State
from tests.support.planted_world import World, make_world

QUESTIONS = 62
"""20 to search with and 42 for a proof: the least that has one."""

BUDGET = 132
CALLS = 264
"""Of a whole cycle, at the most: two for each judged answer."""


def anything_else_is_better(genomes: GenomeSet, question: str) -> float:
    return 6.0 if genomes.postprocess == DEFAULT_SET.postprocess else 8.0


@dataclass
class ModelAnswers(PlantedAnswers):
    """Asks a model of the lab for each answer, as a reader with a model does."""

    model: ChatModel | None = None

    async def __call__(self, question: str, genomes: GenomeSet) -> State:
        assert self.model is not None
        await self.model.chat(ChatRequest((Message("user", question),), 20))
        return await super().__call__(question, genomes)


@dataclass
class ModelJudge(PlantedJudge):
    """Asks a model of the lab for each verdict."""

    model: ChatModel | None = None

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        assert self.model is not None
        await self.model.chat(ChatRequest((Message("user", f"judge {exam.question}"),), 20))
        return await super().judge(exam)


@dataclass(frozen=True)
class Night:
    """A world whose reader and judge are one model behind a provider that counts."""

    world: World
    provider: ScriptedChat

    async def order(self, **limits: Any) -> UUID:
        """Order a cycle, then limit it below what an order would be taken with."""
        cycle_id = await self.world.order(budget=BUDGET)
        async with self.world.db.transaction(DEFAULT_TENANT) as tx:
            await tx.execute(update(Cycle).filter_by(id=cycle_id).values(limits=limits))
        return cycle_id

    async def run(self, **limits: Any) -> tuple[Cycle, CycleResult]:
        cycle_id = await self.order(**limits)
        result = await run_cycle(self.world.parts, cycle_id)
        async with self.world.db.transaction(DEFAULT_TENANT) as tx:
            return await tx.get_one(Cycle, cycle_id), result

    async def ledger(self, cycle: Cycle) -> tuple[int, int]:
        """Give the number of calls that are booked for a cycle, and their tokens."""
        async with self.world.db.transaction(LAB_TENANT) as tx:
            counts = select(func.count(), func.coalesce(func.sum(LedgerEntry.units), 0))
            booked = counts.filter_by(cycle_id=cycle.id, ledger="generation")
            calls, tokens = (await tx.execute(booked)).one()
            return calls, tokens


async def make_night(db: Database) -> Night:
    world = await make_world(db, anything_else_is_better, QUESTIONS)
    used = Usage(30, 10)
    provider = ScriptedChat(lambda request: ChatReply("yes", "stop", "m-1", used), latency_s=0.001)
    model = PaidChat(provider, db, Price(input=1, output=2))  # type: ignore[arg-type]
    answers = ModelAnswers(world.parts.scope, anything_else_is_better, model=model)
    judge = ModelJudge(noise=0.8, model=model)
    parts = replace(world.parts, answer=answers, judge=judge, session=PlantedSession(answers))
    return Night(replace(world, parts=parts, answers=answers), provider)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Usually some indices: begin, ends of the stages and between; in a soak all of them."""
    if "at" in metafunc.fixturenames:
        soak = settings.get_current_profile_name() == "soak"
        metafunc.parametrize("at", range(CALLS + 1) if soak else (1, 24, 60, 130, 200))


async def test_a_budget_of_calls_ends_at_any_call(db: Database, at: int) -> None:
    night = await make_night(db)
    cycle, result = await night.run(calls=at)
    booked = night.provider.calls
    assert cycle.status == "done"
    assert cycle.error is None
    assert cycle.spent_calls == booked <= at
    assert cycle.reserved_calls == cycle.reserved_tokens == cycle.reserved == 0
    assert await night.ledger(cycle) == (booked, 40 * booked)
    assert (cycle.spent_tokens, cycle.spent_micros) == (40 * booked, 50 * booked)
    if "budget of model calls is used up" in result.sentence:
        assert booked == at
        assert result.outcome != "promoted"
    else:
        assert at >= 60  # baseline, three proposals and a proof that stopped at its first look
    await the_next_night_buys_nothing_again(night)


async def the_next_night_buys_nothing_again(night: Night) -> None:
    """Each reply is in the store, each answer that a reader gave as well; both are used again."""
    await night.run()
    assert await night.world.count(PaidCall) == night.provider.calls
    assert await night.world.count(PaidCall, state="done") == night.provider.calls
    answers = await night.world.count(PaidCall, role="answer")
    assert await night.world.count(PaidAnswer) == answers


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"tokens": 4_000}, "budget of tokens is used up"),
        ({"micros": 4_000}, "budget of money is used up"),
    ],
)
async def test_tokens_and_money_end_as_honestly(
    db: Database, limits: dict[str, int], words: str
) -> None:
    night = await make_night(db)
    cycle, result = await night.run(**limits)
    assert words in result.sentence
    assert cycle.status == "done"
    assert 0 < cycle.spent_tokens <= limits.get("tokens", 10**9)
    assert 0 < cycle.spent_micros <= limits.get("micros", 10**9)
    assert await night.ledger(cycle) == (cycle.spent_calls, cycle.spent_tokens)


async def test_wall_time_ends_a_cycle_in_the_middle_of_a_call(db: Database) -> None:
    night = await make_night(db)
    night.provider._latency_s = 600.0
    cycle, result = await asyncio.wait_for(night.run(seconds=2), 30)
    assert "budget of wall time is used up" in result.sentence
    assert cycle.ran_s < 10
    assert cycle.spent_calls == night.provider.calls  # they may be billed: they stay spent
    assert await night.world.count(PaidCall, state="lost_in_flight") == night.provider.calls


async def test_wall_time_ends_a_cycle_that_waits_for_something_else(db: Database) -> None:
    night = await make_night(db)

    async def answer(question: str, genomes: GenomeSet) -> State:
        await asyncio.Event().wait()
        raise AssertionError("nobody waits for ever")

    night.world.parts = replace(night.world.parts, answer=answer)
    cycle, result = await asyncio.wait_for(night.run(seconds=1), 30)
    assert "budget of wall time is used up: 0 candidates tried" in result.sentence
    assert (cycle.status, cycle.spent, cycle.reserved) == ("done", 0, 0)


async def test_the_search_leaves_the_proof_its_part(db: Database) -> None:
    """72 calls pay for the first rung of the race; the second ends it, and the best is proven."""
    night = await make_night(db)
    cycle, result = await night.run(calls=72 + 168, kept={"calls": 168})
    assert cycle.limits == {"calls": 72 + 168}
    assert result.outcome == "promoted"
    confirm = await night.world.count(EvolutionEvalResult, phase="confirm")
    assert confirm == result.proof.pairs * 2  # type: ignore[union-attr]
    assert cycle.spent_calls <= 72 + 168


@dataclass
class FailsInProof(ModelJudge):
    """Judges a search, and is out of reach as soon as a proof has begun."""

    world: World | None = None

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        assert self.world is not None
        if await self.world.count(ProofEntry):
            raise ProviderUnreachable("no route")
        return await super().judge(exam)


async def test_a_cycle_that_broke_off_in_its_proof_searches_no_more(db: Database) -> None:
    """The proof's calls, free by then, would pay for a round that the search had to leave."""
    night = await make_night(db)
    parts = night.world.parts
    fails = FailsInProof(noise=0.8, model=parts.judge.model, world=night.world)  # type: ignore[attr-defined]
    cycle_id = await night.order(calls=72 + 168, kept={"calls": 168})
    with pytest.raises(ProviderUnreachable):
        await run_cycle(replace(parts, judge=fails), cycle_id)
    searched = await night.world.count(EvolutionEvalResult, phase="search")
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert "kept" not in (await tx.get_one(Cycle, cycle_id)).limits
        proven = (await tx.scalars(select(ProofEntry.genome_id))).one()
    result = await run_cycle(parts, cycle_id)
    assert result.finalist_id == proven
    assert await night.world.count(EvolutionEvalResult, phase="search") == searched
    assert await night.world.count(ProofEntry) == 1


async def test_the_end_of_the_searchs_time_ends_no_call_and_leaves_the_proof(db: Database) -> None:
    night = await make_night(db)
    night.provider._latency_s = 0.2
    cycle, result = await night.run(seconds=60, kept={"seconds": 58})
    assert cycle.limits == {"seconds": 60}
    assert result.proof is not None
    assert await night.world.count(PaidCall, state="lost_in_flight") == 0
