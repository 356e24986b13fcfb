"""A provider that answers 429 to a cycle: nothing is bought, and the cycle says why it ended."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from accounts.capacity import Capacity
from accounts.storm import Patience
from evolution.buying.paid import PaidChat
from evolution.cycle import run_cycle
from judge.llm_judge import LlmJudge
from kit.db import Database, make_signal_engine
from kit.errors import ProviderBusy
from kit.openai_llm import OpenAIChat
from lab.database import DatabaseUrls
from models.tables import (
    DEFAULT_TENANT,
    LAB_TENANT,
    Cycle,
    EvolutionEvalResult,
    LedgerEntry,
    Trial,
)
from tests.support.openai_server import ModelServer
from tests.support.planted_world import World, fewer_fragments_are_better, make_world

ALWAYS_BUSY = "busy-999-60"
PATIENCE = Patience(refusals=5)
CONCURRENCY = 8


@pytest.fixture
def models(tmp_path: Path) -> Iterator[ModelServer]:
    with ModelServer(tmp_path / "calls.jsonl") as running:
        yield running


@pytest.fixture
async def capacity(database_urls: DatabaseUrls) -> AsyncIterator[Capacity]:
    engine = make_signal_engine(database_urls.service, "the lab")
    made = Capacity(engine, "the lab", CONCURRENCY, PATIENCE)
    yield made
    await made.close()


def paid(world: World, model: OpenAIChat, capacity: Capacity) -> PaidChat:
    return PaidChat(model, world.db, gate=capacity.lab(model.provider))


async def load(world: World, cycle_id: UUID) -> Cycle:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        return await tx.get_one(Cycle, cycle_id)


async def test_a_busy_judge_ends_the_cycle_with_its_cause_and_no_answer_counts(
    db: Database, models: ModelServer, capacity: Capacity
) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    judge = LlmJudge(paid(world, OpenAIChat(models.url, None, ALWAYS_BUSY), capacity))
    cycle_id = await world.order()
    with pytest.raises(ProviderBusy):
        await run_cycle(replace(world.parts, judge=judge), cycle_id)
    cycle = await load(world, cycle_id)
    assert cycle.status == "failed"
    assert cycle.error is not None
    assert "answered HTTP 429: Slow down (5 times in a row): the lab stops asking" in cycle.error
    assert (cycle.spent, cycle.reserved, cycle.spent_calls, cycle.reserved_calls) == (0, 0, 0, 0)
    assert await world.count(EvolutionEvalResult) == 0
    assert await world.count(LedgerEntry, LAB_TENANT, ledger="generation") == 0
    assert len(models.calls) <= CONCURRENCY + 4


async def test_a_busy_mutator_ends_the_cycle_and_no_answer_is_judged_meanwhile(
    db: Database, models: ModelServer, capacity: Capacity
) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    mutator = paid(world, OpenAIChat(models.url, None, ALWAYS_BUSY), capacity)
    parts = replace(world.parts, mutator=mutator, inert_genes=frozenset())
    cycle_id = await world.order()
    with pytest.raises(ProviderBusy):
        await run_cycle(parts, cycle_id)
    cycle = await load(world, cycle_id)
    assert cycle.status == "failed"
    assert cycle.error is not None
    assert cycle.error.startswith("the mutator is unavailable: the model")
    async with db.transaction(DEFAULT_TENANT) as tx:
        trials = list(await tx.scalars(select(Trial)))
    assert {trial.round for trial in trials} == {0}  # before the mutator was first asked
    judged = await world.count(EvolutionEvalResult)
    assert cycle.spent <= judged == sum(len(trial.question_ids) for trial in trials)
    assert len(models.calls) == 5
    assert cycle.result is None


async def test_a_storm_that_ends_in_time_is_only_waited_for(
    db: Database, models: ModelServer, capacity: Capacity
) -> None:
    world = await make_world(db, fewer_fragments_are_better, questions=54)
    model = OpenAIChat(models.url, None, "busy-3-60")
    judge = LlmJudge(paid(world, model, capacity))
    cycle_id = await world.order(budget=100, max_mutations=4)
    await run_cycle(replace(world.parts, judge=judge), cycle_id)
    cycle = await load(world, cycle_id)
    assert cycle.status == "done"
    assert await world.count(EvolutionEvalResult, judge_score=None) == 0
    booked = await world.count(LedgerEntry, LAB_TENANT, ledger="generation", cycle_id=cycle_id)
    assert booked == cycle.spent_calls == len(models.calls) - 3
