"""A person pauses, resumes and cancels a cycle; what is paid stays."""

from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import update

from evolution.cycle import run_cycle
from evolution.fakes import PlantedAnswers
from evolution.lease import hold
from evolution.wishes import Wish, ask_to_stop, let_go_on
from kit.db import Database
from kit.errors import Conflict, Stopped
from models.genome import GenomeSet
from models.tables import DEFAULT_TENANT, Cycle, PaidAnswer
from tests.support.planted_world import World, fewer_fragments_are_better, make_world


@dataclass
class Interrupting(PlantedAnswers):
    """Answers, and at one call lets a person ask for something first."""

    db: Database | None = None
    cycle_id: UUID | None = None
    at: int = 25
    wish: str = "pause"

    async def __call__(self, question: str, genomes: GenomeSet) -> Any:
        if self.calls == self.at and self.db and self.cycle_id:
            await stop(self.db, self.cycle_id, self.wish)
            self.at = -1
        return await super().__call__(question, genomes)


async def stop(db: Database, cycle_id: UUID, wish: str) -> str:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await ask_to_stop(tx, cycle_id, cast("Wish", wish))


async def go_on(db: Database, cycle_id: UUID) -> bool:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await let_go_on(tx, cycle_id)


async def load(db: Database, cycle_id: UUID) -> Cycle:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await tx.get_one(Cycle, cycle_id)


async def run_until_stopped(world: World, wish: str) -> tuple[UUID, World]:
    """Run a cycle in which a person asks for `wish` at the 25th answer."""
    cycle_id = await world.order()
    scope, quality = world.parts.scope, fewer_fragments_are_better
    answers = Interrupting(scope, quality, db=world.db, cycle_id=cycle_id, wish=wish)
    world = replace(world, answers=answers, parts=replace(world.parts, answer=answers))
    with pytest.raises(Stopped, match=wish):
        async with hold(world.db, DEFAULT_TENANT, cycle_id, "a:1") as db:
            await run_cycle(replace(world.parts, db=db), cycle_id)
    return cycle_id, world


async def test_a_paused_cycle_keeps_what_is_paid_and_goes_on_where_it_was(db: Database) -> None:
    cycle_id, world = await run_until_stopped(
        await make_world(db, fewer_fragments_are_better), "pause"
    )
    paused = await load(db, cycle_id)
    assert (paused.status, paused.wish, paused.reserved) == ("paused", None, 0)
    assert paused.finished_at is None and paused.resumed_at is None and paused.ran_s > 0
    # calls under way were waited for: no more than the allowed concurrency after the wish
    assert 25 <= world.answers.calls <= 25 + world.parts.concurrency
    assert await go_on(db, cycle_id)
    result = await run_cycle(world.parts, cycle_id)
    assert result.outcome == "promoted"
    assert await world.count(PaidAnswer) == world.answers.calls


async def test_a_cancelled_cycle_never_goes_on(db: Database) -> None:
    cycle_id, world = await run_until_stopped(
        await make_world(db, fewer_fragments_are_better), "cancel"
    )
    cancelled = await load(db, cycle_id)
    assert (cancelled.status, cancelled.result) == ("cancelled", None)
    assert cancelled.finished_at is not None
    with pytest.raises(Stopped):
        await run_cycle(world.parts, cycle_id)
    with pytest.raises(Conflict, match="does not go on"):
        await go_on(db, cycle_id)


async def test_who_only_waits_is_stopped_at_once(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better, questions=60)
    cycle_id = await world.order()
    assert await stop(db, cycle_id, "pause") == "paused"
    with pytest.raises(Stopped):
        await run_cycle(world.parts, cycle_id)
    assert await go_on(db, cycle_id)
    assert (await load(db, cycle_id)).status == "queued"
    assert await stop(db, cycle_id, "cancel") == "cancelled"
    assert world.answers.calls == 0


async def test_a_pause_that_is_not_yet_obeyed_can_be_taken_back(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better, questions=60)
    cycle_id = await world.order()
    async with hold(db, DEFAULT_TENANT, cycle_id, "a:1"):
        async with db.transaction(DEFAULT_TENANT) as tx:
            await tx.execute(update(Cycle).values(status="running"))
        assert await stop(db, cycle_id, "pause") == "running"
        assert (await load(db, cycle_id)).wish == "pause"
        assert not await go_on(db, cycle_id)
        assert (await load(db, cycle_id)).wish is None


@pytest.mark.parametrize("status", ["done", "cancelled"])
async def test_what_has_ended_is_not_stopped(db: Database, status: str) -> None:
    world = await make_world(db, fewer_fragments_are_better, questions=60)
    cycle_id = await world.order()
    async with db.transaction(DEFAULT_TENANT) as tx:
        await tx.execute(update(Cycle).values(status=status))
    for wish in ("pause", "cancel"):
        with pytest.raises(Conflict, match=f"that is {status}"):
            await stop(db, cycle_id, wish)
