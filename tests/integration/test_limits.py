"""A budget in every unit is reserved before it is spent, and never exceeded."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, text, update

from evolution.budget import Amount, clock_starts, clock_stops, open_proof, release, reserve, settle
from kit.db import Database
from kit.errors import BudgetExhausted, Misconfigured, NotFound, Stopped
from models.tables import DEFAULT_TENANT, Corpus, Cycle, Profile

A_CALL = Amount(calls=1, tokens=300, micros=40)


async def add_cycle(db: Database, **values: Any) -> UUID:
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="small")
        tx.add(corpus)
        await tx.flush()
        profile = Profile(tenant_id=DEFAULT_TENANT, name="p", domain="p",
                          corpus_id=corpus.id, settings={})  # fmt: skip
        tx.add(profile)
        await tx.flush()
        values = {"budget": 100, "profile_id": profile.id, "max_mutations": 3, "seed": 1} | values
        cycle = Cycle(tenant_id=DEFAULT_TENANT, layer="postprocess", domain="p", **values)
        tx.add(cycle)
        await tx.flush()
        return cycle.id


async def change(db: Database, cycle_id: UUID, **values: Any) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        await tx.execute(update(Cycle).filter_by(id=cycle_id).values(**values))


async def load(db: Database, cycle_id: UUID) -> Cycle:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await tx.get_one(Cycle, cycle_id)


async def take(db: Database, cycle_id: UUID, *amounts: Amount) -> float | None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        left = None
        for amount in amounts or (Amount(answers=1),):
            left = await reserve(tx, cycle_id, amount)
        return left


def used(cycle: Cycle, kind: str) -> tuple[int, int, int, int]:
    units = ("", "_calls", "_tokens", "_micros")
    return tuple(getattr(cycle, kind + unit) for unit in units)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("limits", "fits", "unit"),
    [
        ({}, 100, "judged answers"),
        ({"calls": 7}, 7, "model calls"),
        ({"tokens": 1_000}, 3, "tokens"),
        ({"micros": 199}, 4, "money"),
    ],
)
async def test_the_first_unit_that_ends_is_named_and_none_is_exceeded(
    db: Database, limits: dict[str, int], fits: int, unit: str
) -> None:
    cycle_id = await add_cycle(db, limits=limits)
    amount = Amount(answers=1, calls=1, tokens=300, micros=40)
    await take(db, cycle_id, *[amount] * fits)
    with pytest.raises(BudgetExhausted, match=f"budget of {unit} is used up"):
        await take(db, cycle_id, amount)
    assert used(await load(db, cycle_id), "reserved") == (fits, fits, 300 * fits, 40 * fits)


async def test_of_many_that_reserve_at_once_only_those_that_fit_get_it(db: Database) -> None:
    cycle_id = await add_cycle(db, limits={"calls": 9})
    tries = [take(db, cycle_id, A_CALL) for _ in range(30)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(r, BudgetExhausted) for r in results) == 21
    assert (await load(db, cycle_id)).reserved_calls == 9


async def test_what_was_reserved_is_settled_to_what_it_really_cost(db: Database) -> None:
    cycle_id = await add_cycle(db, limits={"tokens": 1_000})
    await take(db, cycle_id, Amount(answers=1), A_CALL, A_CALL)
    async with db.transaction(DEFAULT_TENANT) as tx:
        await settle(tx, cycle_id)
        await settle(tx, cycle_id, A_CALL, Amount(calls=1, tokens=11, micros=2))
        await release(tx, cycle_id, A_CALL)
    cycle = await load(db, cycle_id)
    assert used(cycle, "reserved") == (0, 0, 0, 0)
    assert used(cycle, "spent") == (1, 1, 11, 2)


async def test_a_refusal_says_whether_it_may_pass(db: Database) -> None:
    cycle_id = await add_cycle(db, limits={"tokens": 500})
    await take(db, cycle_id, A_CALL)
    with pytest.raises(BudgetExhausted) as refused:
        await take(db, cycle_id, A_CALL)
    assert refused.value.passing
    async with db.transaction(DEFAULT_TENANT) as tx:
        await settle(tx, cycle_id, A_CALL)
    with pytest.raises(BudgetExhausted) as refused:
        await take(db, cycle_id, A_CALL)
    assert not refused.value.passing


@pytest.mark.parametrize("wish", ["pause", "cancel"])
async def test_nothing_is_bought_for_a_cycle_that_a_person_stopped(db: Database, wish: str) -> None:
    cycle_id = await add_cycle(db, wish=wish)
    for amount in (Amount(answers=1), A_CALL):
        with pytest.raises(Stopped, match=f"asked this cycle to {wish}") as stopped:
            await take(db, cycle_id, amount)
        assert stopped.value.wish == wish
    assert used(await load(db, cycle_id), "reserved") == (0, 0, 0, 0)


async def test_limited_money_buys_nothing_without_a_price(db: Database) -> None:
    unpriced = Amount(calls=1, tokens=1, micros=None)
    with pytest.raises(Misconfigured, match="GENOMA_PRICES"):
        await take(db, await add_cycle(db, limits={"micros": 10**9}), unpriced)


async def test_without_a_price_nothing_else_is_in_the_way(db: Database) -> None:
    cycle_id = await add_cycle(db, limits={"tokens": 10})
    await take(db, cycle_id, Amount(calls=1, tokens=1, micros=None))
    assert used(await load(db, cycle_id), "reserved") == (0, 1, 1, 0)


async def test_a_cycle_that_is_gone_is_named(db: Database) -> None:
    with pytest.raises(NotFound, match="there is no cycle"):
        await take(db, UUID(int=7))


async def test_what_is_kept_for_the_proof_is_there_once_it_begins(db: Database) -> None:
    limits = {"calls": 10, "kept": {"calls": 4}}
    cycle_id = await add_cycle(db, limits=limits)
    await take(db, cycle_id, *[A_CALL] * 6)
    with pytest.raises(BudgetExhausted):
        await take(db, cycle_id, A_CALL)
    for _ in range(2):  # a resumed cycle comes by here again
        async with db.transaction(DEFAULT_TENANT) as tx:
            await open_proof(tx, cycle_id)
    await take(db, cycle_id, *[A_CALL] * 4)
    assert (await load(db, cycle_id)).limits == {"calls": 10}


async def test_time_is_over_when_all_runs_together_took_it(db: Database) -> None:
    cycle_id = await add_cycle(db, limits={"seconds": 60}, ran_s=25.0)
    await change(db, cycle_id, **clock_starts())
    left = await take(db, cycle_id)
    assert left == pytest.approx(35, abs=1)
    ago = func.clock_timestamp() - text("interval '36 seconds'")
    await change(db, cycle_id, resumed_at=ago)
    with pytest.raises(BudgetExhausted, match="wall time"):
        await take(db, cycle_id)
    await change(db, cycle_id, **clock_stops())
    cycle = await load(db, cycle_id)
    assert cycle.resumed_at is None
    assert cycle.ran_s == pytest.approx(61, abs=1)


async def test_a_killed_run_counts_no_longer_than_its_lease(db: Database) -> None:
    cycle_id = await add_cycle(db)

    def minutes_ago(minutes: int) -> Any:
        return func.clock_timestamp() - text(f"interval '{minutes} minutes'")

    await change(db, cycle_id, resumed_at=minutes_ago(10), lease_until=minutes_ago(9))
    await change(db, cycle_id, **clock_starts())
    assert (await load(db, cycle_id)).ran_s == pytest.approx(60, abs=1)
