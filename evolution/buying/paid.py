"""What was paid for is stored, whole, before it is used, and never bought again."""

import asyncio
import dataclasses
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from evolution.buying.budget import Amount
from evolution.buying.calls import (
    Begun,
    Call,
    PaidScope,
    begin_at_once,
    begin_call,
    complete_call,
    find_reply,
    forget_call,
    lose_call,
)
from kit.chat import ChatModel, ChatReply, ChatRequest, Usage
from kit.db import Database
from kit.errors import BudgetExhausted, ProviderError, Unavailable
from kit.gate import Gate, OpenGate
from kit.prices import Price
from kit.tokens import bound_usage

LOOK_AGAIN_S = 0.25
"""Between two looks at a call that another process makes, or at a reservation that may pass."""

PATIENCE_S = 300.0
"""How long a call waits for others to settle what they have reserved."""

HOLD_ON_S = 30.0
"""How long a paid reply is held while the database is away."""

_scope: ContextVar[PaidScope] = ContextVar("paid_scope")


@contextmanager
def paying_for(scope: PaidScope) -> Iterator[None]:
    """Let every call of a PaidChat inside be looked up and stored under `scope`."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def hash_key(*parts: Any) -> str:
    """SHA-256 over JSON-able parts: the name under which something paid is found again."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Made:
    """A reply; `begun` is None where it was found."""

    reply: ChatReply
    begun: Begun | None = None
    model_s: float = 0.0


class PaidChat:
    """A ChatModel of the lab: each call is reserved before it is made, and booked as it ends.

    `price` is None where the settings name none. Retries stand outside: each attempt is a call
    of its own, and what may have been billed stays spent. The `gate` stands inside: a call that
    waits for it is not in flight yet, and one that went through it stays there until its reply is
    stored. So no more calls than it lets through can be lost with a process.
    """

    def __init__(
        self, inner: ChatModel, db: Database, price: Price | None = None, gate: Gate | None = None
    ) -> None:
        self._inner = inner
        self._db = db
        self._price = price
        self._gate = gate or OpenGate()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def provider(self) -> str:
        return self._inner.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Give the stored reply of the same call in the same scope, or make the call.

        Raises what the model raises; BudgetExhausted where it does not fit into the cycle's
        budget or the time ends while it runs, Stopped where a person stopped the cycle,
        Conflict where another process has begun it anew. Raises LookupError outside of
        `paying_for`: the lab makes no call that nobody books.
        """
        scope = _scope.get()
        key = hash_key(scope.key, self.name, dataclasses.asdict(request))
        bound = self._cost(bound_usage(request))
        call = Call(key, scope, self.name, self.provider, bound)
        asked = time.perf_counter()
        async with self._locks.setdefault(key, asyncio.Lock()):
            made = await self._gate.run(lambda: self._make(call, request))
        self._note(call, made, time.perf_counter() - asked)
        return made.reply

    async def _begin(self, call: Call) -> ChatReply | Begun:
        """Find the reply, or reserve the call; waits for what others are at."""
        async with self._db.transaction(call.scope.tenant) as tx:
            begun = await begin_at_once(tx, call)
        if begun is not None:
            return begun
        patient_until = time.monotonic() + PATIENCE_S
        while True:
            try:
                async with self._db.transaction(call.scope.tenant) as tx:
                    found = await find_reply(tx, call.key) or await begin_call(tx, call)
                if found is not None:
                    return found
            except BudgetExhausted as error:
                if not error.passing or time.monotonic() > patient_until:
                    raise
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _make(self, call: Call, request: ChatRequest) -> "Made":
        """Make the call and store its reply; where one is found, nothing was begun."""
        begun = await self._begin(call)
        if isinstance(begun, ChatReply):
            return Made(begun)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(begun.seconds_left):
                reply = await self._inner.chat(request)
        except TimeoutError as error:
            await self._give_up(call, begun, may_be_billed=True)
            raise BudgetExhausted("the cycle's budget of wall time is used up") from error
        except ProviderError as error:
            await self._give_up(call, begun, error.may_be_billed)
            raise
        model_s = time.perf_counter() - started
        await self._complete(call, begun, reply)
        return Made(reply, begun, model_s)

    async def _complete(self, call: Call, begun: Begun, reply: ChatReply) -> None:
        """Store what is paid; a database that is away for a while does not cost the reply."""
        patient_until = time.monotonic() + HOLD_ON_S
        while True:
            try:
                async with self._db.transaction(call.scope.tenant) as tx:
                    return await complete_call(tx, call, begun, reply, self._spent(call, reply))
            except Unavailable:
                if time.monotonic() > patient_until:
                    raise
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _give_up(self, call: Call, begun: Begun, may_be_billed: bool) -> None:
        """A call that was refused bought nothing; one that may be billed was lost in flight."""
        end = lose_call if may_be_billed else forget_call
        async with self._db.transaction(call.scope.tenant) as tx:
            await end(tx, call, begun)

    def _note(self, call: Call, made: "Made", took_s: float) -> None:
        """Add a call to the tab of what it is paid for."""
        cost, tab = self._spent(call, made.reply), call.scope.tab
        tab.tokens += cost.tokens
        tab.micros += cost.micros or 0
        tab.beside_s += took_s - made.model_s
        tab.is_timed = tab.is_timed and made.begun is not None

    def _spent(self, call: Call, reply: ChatReply) -> Amount:
        """Give the real cost of a call: at most what was reserved, where nobody counted."""
        return self._cost(reply.usage) if reply.usage.total else call.bound

    def _cost(self, usage: Usage) -> Amount:
        micros = self._price.micros(usage) if self._price else None
        return Amount(calls=1, tokens=usage.total, micros=micros)
