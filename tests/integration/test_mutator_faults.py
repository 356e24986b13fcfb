"""A mutator that fails, raves or repeats itself costs no judged answer and ends no night."""

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from evolution.breeding.reflecting import gather_evidence, make_reflection
from evolution.breeding.reflection import Reflection, Written
from evolution.buying.evaluate import Evaluator
from evolution.buying.paid import PaidChat
from evolution.genomes import Origin, add_genome
from evolution.plan import make_plan
from evolution.progress import Board
from evolution.running import Run
from kit.chat import ChatModel
from kit.db import Database
from kit.errors import ProviderBusy
from kit.fakes import Script, ScriptedChat
from kit.retry import Retrying
from models.defaults import DEFAULT_GENOMES
from models.genome import PostprocessGenome, dump_genome
from models.lifecycle import Status
from models.tables import (
    DEFAULT_TENANT,
    LAB_TENANT,
    Cycle,
    LedgerEntry,
    PaidAnswer,
    PaidVerdict,
    Question,
    RefusedProposal,
)
from tests.support.planted_world import World, make_world, nothing_matters

OLD = DEFAULT_GENOMES["postprocess"]
assert isinstance(OLD, PostprocessGenome)
REFERENCE = "the harbour master keeps the third key in the left drawer of his desk"


def said(**changes: Any) -> str:
    return json.dumps({"genome": {**dump_genome(OLD), **changes}, "notes": "n"})


def with_rule(text: str) -> str:
    return said(system_prompt=[*dump_genome(OLD)["system_prompt"], {"id": "rule", "text": text}])


async def begin(world: World, model: ChatModel, cycle_id: UUID | None = None) -> Run:
    """Begin or resume a cycle as far as its mutator needs it."""
    parts = replace(world.parts, mutator=model)
    cycle_id = cycle_id or await world.order()
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
        plan = await make_plan(tx, parts, cycle)
    board = Board(world.db, DEFAULT_TENANT, cycle.id)
    return Run(parts, cycle, plan, board, Evaluator(parts, cycle.id, board.count))


async def talk(run: Run) -> Reflection:
    reflection = await make_reflection(run)
    assert reflection is not None
    return reflection


async def ask(run: Run, reflection: Reflection, number: int) -> Written | None:
    parent = run.incumbent_genome
    evidence = await gather_evidence(run, run.plan.incumbent_id, parent)
    return await reflection.propose(parent, run.plan.incumbent_id, evidence, number, "all")


async def refusals(world: World) -> list[RefusedProposal]:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        order = select(RefusedProposal).order_by(RefusedProposal.created_at)
        return list(await tx.scalars(order))


async def assert_nothing_was_judged(world: World, cycle_id: UUID) -> None:
    assert await world.count(PaidAnswer) == 0
    assert await world.count(PaidVerdict) == 0
    assert world.answers.calls == 0
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
    assert (cycle.spent, cycle.reserved) == (0, 0)


def paid(world: World, script: Script) -> tuple[ScriptedChat, PaidChat]:
    model = ScriptedChat(script)
    return model, PaidChat(model, world.db)


async def test_a_busy_mutator_is_waited_for_and_then_named_as_the_cause(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    model, chat = paid(world, [ProviderBusy("too many requests", 0.01)] * 5)
    run = await begin(world, Retrying(chat, attempts=5, first_wait_s=0.01))
    with pytest.raises(ProviderBusy, match="the mutator is unavailable: too many requests"):
        await ask(run, await talk(run), 1)
    assert model.calls == 5
    assert await refusals(world) == []
    await assert_nothing_was_judged(world, run.cycle.id)


async def test_what_a_mutator_raves_is_stored_with_its_reason_and_costs_no_answer(
    db: Database,
) -> None:
    world = await make_world(db, nothing_matters)
    ravings = [
        "I think we should read more.\0",
        "<think>more \ud83d</think>",
        said(chunk_count=6)[:200],
        f"Sure!\n```json\n{said(chunk_count=6)}\n```",
        with_rule("x" * 3_900).replace("}]", "}" + ", 1" * 20_000 + "]"),
        with_rule("See {{slot:contxt}}"),
        with_rule("Read this: {{slot:weather}}"),
    ]
    model, chat = paid(world, lambda request: ravings[model.calls - 1])
    run = await begin(world, chat)
    reflection = await talk(run)
    for number in range(1, len(ravings) + 1):
        assert await ask(run, reflection, number) is None
    stored = await refusals(world)
    assert len(stored) == model.calls == len(ravings)
    assert all(row.reason and row.text for row in stored)
    assert {row.parent_id for row in stored} == {run.plan.incumbent_id}
    assert await world.count(LedgerEntry, LAB_TENANT, purpose="mutate") == len(ravings)
    assert reflection.gave_up
    await assert_nothing_was_judged(world, run.cycle.id)


async def test_a_dead_proposal_is_taken_once_for_all_nights(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    model, chat = paid(world, lambda request: said(chunk_count=6))
    first = await begin(world, chat)
    written = await ask(first, await talk(first), 1)
    assert written is not None
    async with db.transaction() as tx:
        origin = Origin(operator="reflect_all", notes="six", cycle_id=first.cycle.id)
        row, _ = await add_genome(tx, "default", written.genome, origin)
        row.status = Status.EVALUATED
    second = await begin(world, chat)
    reflection = await talk(second)
    assert await ask(second, reflection, 1) is None
    assert await ask(second, reflection, 2) is None
    reasons = {row.reason for row in await refusals(world)}
    assert len(reasons) == 1
    assert "tried before" in reasons.pop()
    third = await begin(world, chat)
    await ask(third, await talk(third), 1)
    read = model.requests[-1].messages[-1].content
    assert "the same genome was there before" in read
    assert "six (not measured)" in read
    await assert_nothing_was_judged(world, third.cycle.id)


async def test_a_resumed_cycle_hears_the_same_again_and_pays_nothing(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    replies = ["no", said(chunk_count=6), "no", with_rule("Be plain.\u2028Always.")]
    _, chat = paid(world, replies)
    run = await begin(world, chat)
    reflection = await talk(run)
    before = [await ask(run, reflection, number) for number in range(1, 5)]
    stored = len(await refusals(world))
    silent, chat = paid(world, [])
    resumed = await begin(world, chat, run.cycle.id)
    reflection = await talk(resumed)
    assert [await ask(resumed, reflection, number) for number in range(1, 5)] == before
    assert silent.calls == 0
    assert len(await refusals(world)) == stored == 2


async def test_a_proposal_that_knows_a_confirm_question_or_its_reference_is_blocked(
    db: Database,
) -> None:
    world = await make_world(db, nothing_matters)
    async with db.transaction(DEFAULT_TENANT) as tx:
        question = (await tx.scalars(select(Question).limit(1))).one()
        question.reference_answer = REFERENCE
    _, chat = paid(world, [with_rule(f"Always say that {REFERENCE.upper()}!")])
    run = await begin(world, chat)
    assert await ask(run, await talk(run), 1) is None
    [row] = await refusals(world)
    assert row.reason.startswith("system_prompt.rule copies 8 or more words in a row")
    await assert_nothing_was_judged(world, run.cycle.id)
