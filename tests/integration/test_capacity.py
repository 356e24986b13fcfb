"""One limiter for all processes: how many calls, in whose favour, and what a 429 means to all."""

import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, text

from accounts.capacity import Capacity
from accounts.endpoints import Endpoint, load_closed
from accounts.storm import Patience
from kit.chat import ChatModel, ChatReply, ChatRequest, Message
from kit.db import Database, make_signal_engine
from kit.errors import ProviderBusy, Unavailable
from kit.gate import GatedChat
from kit.openai_llm import OpenAIChat
from lab.database import DatabaseUrls
from tests.support.lab_process import ROOT
from tests.support.openai_server import ModelServer

ASK = ChatRequest((Message("user", "Question: is it well?"),), 60)
HOST = "models.example:443"

MakeCapacity = Callable[..., Capacity]


@pytest.fixture
def models(tmp_path: Path) -> Iterator[ModelServer]:
    with ModelServer(tmp_path / "calls.jsonl") as running:
        yield running


@pytest.fixture
async def make_capacity(database_urls: DatabaseUrls) -> AsyncIterator[MakeCapacity]:
    """Make what a process has: sessions of its own, under a name of its own."""
    made: list[Capacity] = []

    def make(most: int = 4, patience: Patience | None = None) -> Capacity:
        holder = f"process {len(made)}"
        engine = make_signal_engine(database_urls.service, holder)
        made.append(Capacity(engine, holder, most, patience))
        return made[-1]

    yield make
    for capacity in made:
        await capacity.close()


class Counted:
    """A ChatModel that knows how many of its calls are under way."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner
        self.name, self.provider = inner.name, inner.provider
        self.under_way = self.most = 0
        self.reached: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.reached[self.under_way].set()
        try:
            return await self._inner.chat(request)
        finally:
            self.under_way -= 1


def lab_of(capacity: Capacity, model: ChatModel) -> GatedChat:
    return GatedChat(model, capacity.lab(model.provider))


def live_of(capacity: Capacity, model: ChatModel) -> GatedChat:
    return GatedChat(model, capacity.live(model.provider))


def times_of(models: ModelServer) -> list[float]:
    """When each request came in, in seconds after the first."""
    at = [json.loads(line)["at"] for line in models.log.read_text().splitlines()]
    return [time - at[0] for time in at]


async def asked(model: ChatModel, times: int) -> list[ChatReply | BaseException]:
    return await asyncio.gather(*(model.chat(ASK) for _ in range(times)), return_exceptions=True)


async def test_all_processes_together_stay_within_the_allowed_calls(
    models: ModelServer, make_capacity: MakeCapacity
) -> None:
    model = Counted(OpenAIChat(models.url, None, "slow-30"))
    processes = [lab_of(make_capacity(most=3), model) for _ in range(3)]
    replies = await asyncio.gather(*(asked(process, 10) for process in processes))
    assert all(isinstance(reply, ChatReply) for each in replies for reply in each)
    assert (model.most, len(models.calls)) == (3, 30)


async def test_a_lease_is_handed_on_without_a_word_to_the_database(
    database_urls: DatabaseUrls,
) -> None:
    engine = make_signal_engine(database_urls.service, "alone")
    statements: list[str] = []
    event.listen(
        engine.sync_engine, "after_cursor_execute", lambda *about: statements.append(about[2])
    )
    capacity = Capacity(engine, "alone", 64)
    gate = capacity.lab(HOST)
    await asyncio.gather(*(gate.run(lambda: asyncio.sleep(0.02)) for _ in range(1280)))
    await capacity.close()
    assert len(statements) < 1280 / 4


async def test_after_a_429_nobody_of_the_lab_calls_before_the_time_that_was_asked_for(
    models: ModelServer, make_capacity: MakeCapacity
) -> None:
    model = OpenAIChat(models.url, None, "busy-1-1200")
    here, there = lab_of(make_capacity(most=1), model), lab_of(make_capacity(most=1), model)
    replies = await asyncio.gather(asked(here, 4), asked(there, 4))
    assert all(isinstance(reply, ChatReply) for each in replies for reply in each)
    times = times_of(models)
    assert len(times) == 9
    assert times[1] >= 1.2


async def test_the_first_call_after_the_wait_goes_alone(
    models: ModelServer, make_capacity: MakeCapacity, db: Database
) -> None:
    model = OpenAIChat(models.url, None, "busy-4-500")
    await asked(lab_of(make_capacity(most=4), model), 4)
    assert len(models.calls) == 8
    counted = Counted(OpenAIChat(models.url, None, "slow-100"))
    capacity = make_capacity(most=4)
    async with db.transaction() as tx:
        storm = "update endpoint set reason = 'slow down', closed_until = now()"
        await tx.execute(text(storm))
    await asked(lab_of(capacity, counted), 8)
    first, second = times_of(models)[8:10]
    assert second - first >= 0.1
    assert counted.most == 4


async def test_a_storm_is_not_fed_and_its_cause_comes_through_to_all_who_wait(
    models: ModelServer, make_capacity: MakeCapacity
) -> None:
    model = OpenAIChat(models.url, None, "busy-99-50")
    failures = await asked(lab_of(make_capacity(most=2), model), 16)
    assert {str(failure) for failure in failures} == {
        f"the model 'busy-99-50' at {model.provider} answered HTTP 429: Slow down "
        "(5 times in a row): the lab stops asking"
    }
    assert all(isinstance(failure, ProviderBusy) for failure in failures)
    # Two were under way when it began; then one at a time tried, four times more.
    assert len(models.calls) == 2 + 4


async def test_a_storm_that_ended_leaves_nothing_behind(
    models: ModelServer, make_capacity: MakeCapacity, db: Database
) -> None:
    capacity = make_capacity(most=2)
    await asked(lab_of(capacity, OpenAIChat(models.url, None, "busy-99-50")), 2)
    await asyncio.sleep(0.1)
    again = lab_of(capacity, OpenAIChat(models.url, None, "ok"))
    assert isinstance((await asked(again, 1))[0], ChatReply)
    async with db.transaction() as tx:
        left = (await tx.execute(text("select closed_until, reason from endpoint"))).all()
    assert [tuple(row) for row in left] == [(None, "")]


async def test_what_the_lab_waits_for_can_be_read(
    make_capacity: MakeCapacity, db: Database
) -> None:
    async def refuse() -> None:
        raise ProviderBusy("the endpoint answered HTTP 429", 600)

    with pytest.raises(ProviderBusy, match="not to be called for 600 s more"):
        await make_capacity().lab(HOST).run(refuse)
    async with db.transaction() as tx:
        (closed,) = await load_closed(tx)
    assert (closed.name, closed.reason) == (HOST, "the endpoint answered HTTP 429")
    assert 590 < closed.seconds <= 600


async def test_live_traffic_never_waits_and_the_lab_makes_room(
    models: ModelServer, make_capacity: MakeCapacity
) -> None:
    model = Counted(OpenAIChat(models.url, None, "slow-100"))
    lab, live = lab_of(make_capacity(most=3), model), live_of(make_capacity(most=3), model)
    work = asyncio.create_task(asked(lab, 40))
    await model.reached[3].wait()
    talks = [asyncio.create_task(asked_in_turn(live, 20)) for _ in range(2)]
    await asyncio.sleep(0)
    assert model.under_way == 5  # both went at once, although nothing was free
    await asyncio.sleep(1)
    model.most = model.under_way
    await asyncio.gather(*talks)
    assert model.most <= 3  # two live calls leave one lease to the lab
    assert all(isinstance(reply, ChatReply) for reply in await work)


async def asked_in_turn(model: ChatModel, times: int) -> None:
    for _ in range(times):
        await model.chat(ASK)


async def test_live_at_full_use_leaves_the_lab_nothing_until_it_is_over(
    models: ModelServer, make_capacity: MakeCapacity
) -> None:
    lab = lab_of(make_capacity(most=2), OpenAIChat(models.url, None, "ok"))
    live = live_of(make_capacity(most=2), OpenAIChat(models.url, None, "slow-900"))
    talk = asyncio.create_task(asked(live, 2))
    await asyncio.sleep(0.2)
    waiting = asyncio.create_task(lab.chat(ASK))
    await talk
    assert not waiting.done()
    assert isinstance(await waiting, ChatReply)


async def test_a_429_that_live_traffic_sees_keeps_the_lab_away(
    models: ModelServer, make_capacity: MakeCapacity
) -> None:
    with pytest.raises(ProviderBusy):
        busy = OpenAIChat(models.url, None, "busy-9-1000")
        await live_of(make_capacity(), busy).chat(ASK)
    await asyncio.sleep(0.2)
    await lab_of(make_capacity(), OpenAIChat(models.url, None, "ok")).chat(ASK)
    assert times_of(models)[1] >= 1.0


async def test_live_traffic_does_not_need_the_limiters_database(models: ModelServer) -> None:
    engine = make_signal_engine("postgresql://nobody@127.0.0.1:1/none", "alone")
    capacity = Capacity(engine, "alone", 2)
    model = OpenAIChat(models.url, None, "ok")
    assert isinstance(await live_of(capacity, model).chat(ASK), ChatReply)
    with pytest.raises(Unavailable):
        await lab_of(capacity, model).chat(ASK)
    await capacity.close()


HOLD_ALL = """
import asyncio, sys
from accounts.capacity import Capacity
from kit.db import make_signal_engine

async def hold() -> None:
    capacity = Capacity(make_signal_engine(sys.argv[1], "doomed"), "doomed", 2)
    gate = capacity.lab(sys.argv[2])
    async def call() -> None:
        print("held", flush=True)
        await asyncio.sleep(60)
    await asyncio.gather(gate.run(call), gate.run(call))

asyncio.run(hold())
"""


async def test_the_leases_of_a_killed_process_are_free_at_once(
    make_capacity: MakeCapacity, database_urls: DatabaseUrls
) -> None:
    command = [sys.executable, "-c", HOLD_ALL, database_urls.service, HOST]
    doomed = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert doomed.stdout is not None
    assert [await doomed.stdout.readline() for _ in range(2)] == [b"held\n", b"held\n"]
    waiting = asyncio.create_task(make_capacity(most=2).lab(HOST).run(lambda: asyncio.sleep(0)))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    doomed.kill()
    await doomed.wait()
    async with asyncio.timeout(10):
        await waiting


async def test_a_lease_that_is_not_renewed_is_free(
    database_urls: DatabaseUrls, db: Database
) -> None:
    engine = make_signal_engine(database_urls.service, "cut off")
    cut_off, other = Endpoint(engine, HOST, "cut off", 2), Endpoint(engine, HOST, "other", 2)
    held = (await cut_off.look(5)).taken
    assert len(held) == 2
    async with db.transaction() as tx:
        await tx.execute(text("update endpoint_lease set expires_at = now() + interval '1 second'"))
    await cut_off.renew(held[:1])
    assert (await other.look(5)).taken == ()
    await asyncio.sleep(1.1)
    assert (await other.look(5)).taken == held[1:]
    await cut_off.give_back(held)
    assert (await other.look(5)).taken == held[:1]  # what is another's now is not given back
    await engine.dispose()
