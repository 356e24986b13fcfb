"""A cycle whose limits cannot pay for the least cycle is refused at the start, with the sum."""

from typing import Any

import pytest
from sqlalchemy import update

from evolution.buying.limits import Called, Limits
from kit.db import Database
from kit.errors import BadInput
from models.tables import DEFAULT_TENANT, Cycle
from tests.support.planted_world import World, make_world, nothing_matters

LEAST = 288
"""Judged answers of baseline + 3 proposals + proof on 120 questions."""


async def ran_before(world: World, **values: Any) -> None:
    """A former cycle of the layer, which took 3 calls, 850 tokens, 1,200 micros and 0.5 s each."""
    cycle_id = await world.order()
    spent = {"spent": 200, "spent_calls": 600, "spent_tokens": 170_000, "spent_micros": 240_000}
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        row = update(Cycle).filter_by(id=cycle_id)
        await tx.execute(row.values(status="done", ran_s=100.0, **(spent | values)))


async def limits_of(world: World, limits: Limits, **changes: Any) -> dict[str, Any]:
    cycle_id = await world.order(limits=limits, **changes)
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        return (await tx.get_one(Cycle, cycle_id)).limits


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(calls=863), "863 model calls is too small.*3 model calls.*= 864 model calls"),
        (Limits(tokens=244_799), "244,799 tokens is too small.*850 tokens.*= 244,800 tokens"),
        (Limits(micros=345_599), "0.3456 of money is too small.*0.0012 of money.*= 0.3456 of mon"),
        (Limits(seconds=143), "143 seconds is too small.*0.5 seconds.*= 144 seconds"),
        (Limits(tokens=0), "buys nothing"),
    ],
)
async def test_a_limit_below_the_least_cycle_is_refused_with_the_sum(
    db: Database, limits: Limits, words: str
) -> None:
    world = await make_world(db, nothing_matters)
    await ran_before(world)
    with pytest.raises(BadInput, match=words) as refused:
        await world.order(limits=limits)
    if limits.tokens != 0:
        assert f"baseline + 3 proposals + proof are {LEAST} of them" in str(refused.value)


async def test_of_each_limit_the_proof_is_sure_of_its_part(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    await ran_before(world)
    limits = Limits(calls=1_000, tokens=300_000, micros=400_000, seconds=200)
    stored = await limits_of(world, limits)
    kept = {"calls": 720, "tokens": 204_000, "micros": 288_000, "seconds": 120}
    assert stored == {**limits.given, "kept": kept}


async def test_before_the_first_cycle_the_proof_keeps_its_share(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    stored = await limits_of(world, Limits(tokens=60_000), budget=600)
    assert stored == {"tokens": 60_000, "kept": {"tokens": 24_000}}  # 240 of 600 answers


async def test_what_a_judged_answer_calls_at_the_least_is_known_beforehand(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    called = Called(each_answer=("reader", "judge"))
    with pytest.raises(BadInput, match="= 576 model calls"):
        await world.order(limits=Limits(calls=575), called=called)
    assert (await limits_of(world, Limits(calls=576), called=called))["kept"] == {"calls": 480}


async def test_money_is_limited_only_where_every_model_has_a_price(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    called = Called(unpriced=("b", "a", "b"))
    with pytest.raises(BadInput, match="needs a price for a, b: set GENOMA_PRICES"):
        await world.order(limits=Limits(micros=10**9), called=called)
    assert await limits_of(world, Limits(tokens=10**9), called=called)


async def test_a_cycle_without_limits_has_none(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    assert await limits_of(world, Limits()) == {}


async def test_cycles_of_other_layers_are_asked_where_this_one_never_ran(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    await ran_before(world, layer="routing", spent_tokens=200_000)
    with pytest.raises(BadInput, match="1,000 tokens"):
        await world.order(limits=Limits(tokens=1_000))
    await ran_before(world)
    with pytest.raises(BadInput, match="850 tokens"):
        await world.order(limits=Limits(tokens=1_000))
