"""A budget in every unit is reserved before it is spent, and never exceeded."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, text, update

from evolution.buying.budget import (
    Amount,
    clock_starts,
    clock_stops,
    open_proof,
    release,
    reserve,
    settle,
)
from evolution.buying.calls import PRESUMED_DEAD_S, PaidScope, book_lost
from evolution.buying.paid import PaidChat, paying_for
from kit.chat import ChatReply, ChatRequest, Message, Usage
from kit.db import Database
from kit.errors import (
    BudgetExhausted,
    Conflict,
    Misconfigured,
    NotFound,
    ProviderBusy,
    ProviderError,
    ProviderRefused,
    ProviderUnreachable,
    Stopped,
)
from kit.fakes import ScriptedChat
from kit.prices import Price
from models.tables import (
    DEFAULT_TENANT,
    LAB_TENANT,
    Corpus,
    Cycle,
    LedgerEntry,
    PaidCall,
    Profile,
)

A_CALL = Amount(calls=1, tokens=300, micros=40)


async def add_cycle(db: Database, name: str = "1", **values: Any) -> UUID:
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name=name)
        tx.add(corpus)
        await tx.flush()
        profile = Profile(tenant_id=DEFAULT_TENANT, name=name, domain="p",
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


class Books:
    """A model of the lab whose provider counts, and what the lab has written down of it."""

    def __init__(self, db: Database, cycle_id: UUID, replies: Any, **price: int) -> None:
        self.db = db
        self.cycle_id = cycle_id
        self.provider = ScriptedChat(replies)
        cost = Price(**price) if price else None  # type: ignore[arg-type]
        self.model = PaidChat(self.provider, db, cost)
        self.scope = PaidScope(DEFAULT_TENANT, cycle_id, "an answer", "answer")

    async def ask(self, text: str = "What?", max_tokens: int = 100) -> ChatReply:
        with paying_for(self.scope):
            return await self.model.chat(ChatRequest((Message("user", text),), max_tokens))

    async def ledger(self) -> list[tuple[str, int]]:
        async with self.db.transaction(LAB_TENANT) as tx:
            entries = await tx.scalars(select(LedgerEntry).order_by(LedgerEntry.created_at))
            return [(entry.outcome, entry.units) for entry in entries]

    async def states(self) -> list[tuple[str, int]]:
        async with self.db.transaction(DEFAULT_TENANT) as tx:
            return [(call.state, call.fence) for call in await tx.scalars(select(PaidCall))]


USED = ChatReply("yes", "stop", "m-2026", Usage(20, 7))
BOUND = len("What?") + 16 + 100


async def test_a_call_reserves_the_most_that_it_can_cost_and_settles_what_it_did(
    db: Database,
) -> None:
    cycle_id = await add_cycle(db, limits={"tokens": 10_000, "micros": 10_000})
    seen: list[tuple[int, ...]] = []

    class Watched(ScriptedChat):
        async def chat(self, request: ChatRequest) -> ChatReply:
            seen.append(used(await load(db, cycle_id), "reserved"))
            return await super().chat(request)

    books = Books(db, cycle_id, [], input=2, output=10)
    books.model = PaidChat(Watched([USED]), db, Price(input=2, output=10))  # type: ignore[arg-type]
    await books.ask()
    assert seen == [(0, 1, BOUND, 2 * (BOUND - 100) + 1_000)]
    cycle = await load(db, cycle_id)
    assert used(cycle, "reserved") == (0, 0, 0, 0)
    assert used(cycle, "spent") == (0, 1, 27, 110)
    assert (books.scope.tab.tokens, books.scope.tab.micros) == (27, 110)
    assert await books.ledger() == [("settled", 27)]


async def test_a_stored_reply_costs_nothing_more_but_its_answer_knows_its_cost(
    db: Database,
) -> None:
    books = Books(db, await add_cycle(db, limits={"calls": 1}), [USED])
    assert await books.ask() == await books.ask()
    assert books.provider.calls == 1
    assert (await load(db, books.cycle_id)).spent_calls == 1
    assert books.scope.tab.tokens == 2 * 27


async def test_the_provider_is_not_asked_for_what_does_not_fit(db: Database) -> None:
    books = Books(db, await add_cycle(db, limits={"calls": 2}), lambda _: USED)
    await books.ask("1")
    await books.ask("2")
    with pytest.raises(BudgetExhausted, match="model calls"):
        await books.ask("3")
    assert books.provider.calls == 2
    assert await books.states() == [("done", 0), ("done", 0)]


async def test_a_refused_call_gives_all_back(db: Database) -> None:
    refusals = [ProviderRefused("bad key"), ProviderBusy("slow down", 1)]
    books = Books(db, await add_cycle(db), refusals)
    for _ in refusals:
        with pytest.raises(ProviderError):
            await books.ask()
    assert used(await load(db, books.cycle_id), "spent") == (0, 0, 0, 0)
    assert used(await load(db, books.cycle_id), "reserved") == (0, 0, 0, 0)
    assert await books.ledger() == await books.states() == []


async def test_what_may_be_billed_stays_spent_and_each_attempt_counts(db: Database) -> None:
    gone = ProviderUnreachable("timed out")
    down = ProviderUnreachable("no connection", may_be_billed=False)
    books = Books(db, await add_cycle(db), [gone, down, gone, USED])
    for _ in range(3):
        with pytest.raises(ProviderUnreachable):
            await books.ask()
    await books.ask()
    assert await books.ledger() == [("lost_in_flight", BOUND)] * 2 + [("settled", 27)]
    cycle = await load(db, books.cycle_id)
    assert used(cycle, "spent") == (0, 3, 2 * BOUND + 27, 0)
    assert used(cycle, "reserved") == (0, 0, 0, 0)
    assert await books.states() == [("done", 3)]


async def test_a_reply_that_nobody_counted_costs_what_was_reserved(db: Database) -> None:
    books = Books(db, await add_cycle(db), [ChatReply("yes", "stop", "m")])
    await books.ask()
    assert (await load(db, books.cycle_id)).spent_tokens == BOUND
    assert await books.ledger() == [("settled", BOUND)]


async def test_calls_side_by_side_wait_for_what_the_others_reserved(db: Database) -> None:
    """Together they would exceed the limit at the most; in fact they cost a fraction of it."""
    books = Books(db, await add_cycle(db, limits={"tokens": 2 * BOUND}), lambda _: USED)
    await asyncio.gather(*(books.ask(str(n)) for n in range(4)))
    assert (await load(db, books.cycle_id)).spent_tokens == 4 * 27


async def test_a_call_ends_with_the_time_of_its_cycle(db: Database) -> None:
    cycle_id = await add_cycle(db, limits={"seconds": 1})
    await change(db, cycle_id, **clock_starts())
    books = Books(db, cycle_id, [])
    books.model = PaidChat(ScriptedChat([USED], latency_s=60), db)
    with pytest.raises(BudgetExhausted, match="wall time"):
        await asyncio.wait_for(books.ask(), 5)
    assert await books.ledger() == [("lost_in_flight", BOUND)]


async def test_a_call_of_a_dead_process_is_lost_and_made_again(db: Database) -> None:
    first = Books(db, await add_cycle(db), [])
    begun = asyncio.Event()
    first.model = PaidChat(ScriptedChat(lambda _: begun.set() or USED, latency_s=60), db)
    dying = asyncio.create_task(first.ask())
    await begun.wait()
    dying.cancel()
    assert await first.states() == [("in_flight", 0)]
    second = Books(db, await add_cycle(db, name="2"), [USED])
    waiting = asyncio.create_task(second.ask())
    await asyncio.sleep(0.4)
    assert second.provider.calls == 0  # the first may be alive: nothing is bought twice
    async with db.transaction(DEFAULT_TENANT) as tx:
        long_ago = PaidCall.started_at - text(f"interval '{PRESUMED_DEAD_S + 1} seconds'")
        await tx.execute(update(PaidCall).values(started_at=long_ago))
    await waiting
    assert await second.states() == [("done", 1)]
    for cycle_id, tokens in ((first.cycle_id, BOUND), (second.cycle_id, 27)):
        cycle = await load(db, cycle_id)
        assert used(cycle, "spent") == (0, 1, tokens, 0)
        assert used(cycle, "reserved") == (0, 0, 0, 0)


async def test_what_comes_back_after_it_was_given_up_is_refused(db: Database) -> None:
    cycle_id = await add_cycle(db)
    late = Books(db, cycle_id, [])

    class Slow(ScriptedChat):
        async def chat(self, request: ChatRequest) -> ChatReply:
            async with db.transaction(DEFAULT_TENANT) as tx:
                assert await book_lost(tx, DEFAULT_TENANT, cycle_id) == 1
            return await super().chat(request)

    late.model = PaidChat(Slow([USED]), db)
    with pytest.raises(Conflict, match="given up for lost"):
        await late.ask()
    assert await late.ledger() == [("lost_in_flight", BOUND)]
    assert used(await load(db, cycle_id), "spent") == (0, 1, BOUND, 0)
