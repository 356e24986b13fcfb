"""The latency of an answer is that of its models, whatever the lab was doing meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

import pytest

from evolution.buying.calls import PaidScope
from evolution.buying.paid import PaidChat, paying_for
from kit.chat import ChatRequest, Message
from kit.db import Database
from kit.fakes import ScriptedChat
from models.tables import DEFAULT_TENANT
from tests.support.planted_world import make_world, nothing_matters

T = TypeVar("T")

WAIT_S = 0.5
REQUEST = ChatRequest((Message("user", "How long?"),), 20)


class SlowGate:
    """A gate at which each call waits for its turn."""

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        await asyncio.sleep(WAIT_S)
        return await call()


@pytest.fixture
async def cycle_id(db: Database) -> UUID:
    world = await make_world(db, nothing_matters)
    return await world.order(budget=400)


async def ask(db: Database, cycle_id: UUID, key: str) -> PaidScope:
    chat = PaidChat(ScriptedChat(lambda request: "long", latency_s=0.1), db, gate=SlowGate())
    scope = PaidScope(DEFAULT_TENANT, cycle_id, key, "answer")
    with paying_for(scope):
        await chat.chat(REQUEST)
    return scope


async def test_waiting_for_a_turn_is_told_from_the_models_own_time(
    db: Database, cycle_id: UUID
) -> None:
    started = asyncio.get_running_loop().time()
    scope = await ask(db, cycle_id, "a")
    took_s = asyncio.get_running_loop().time() - started
    assert scope.tab.beside_s >= WAIT_S
    assert scope.tab.is_timed
    assert took_s - scope.tab.beside_s >= 0.1  # what is left is what the model took


async def test_a_reply_out_of_the_store_tells_no_time(db: Database, cycle_id: UUID) -> None:
    await ask(db, cycle_id, "a")
    again = await ask(db, cycle_id, "a")
    assert not again.tab.is_timed
