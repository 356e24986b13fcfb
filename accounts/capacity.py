"""Model capacity, shared by all processes: live traffic goes at once, the lab by leases."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from accounts.endpoints import Endpoint
from accounts.leases import Leases
from accounts.storm import Patience, Storm
from kit.errors import ProviderBusy, Unavailable

T = TypeVar("T")

ANNOUNCE_EVERY_S = 0.5
CLOSES_WITHIN_S = 2


class Capacity:
    """The gates of this process to its model endpoints.

    At most `most` calls of the lab are under way at an endpoint, over all machines, and one less
    for each live call. `holder` names this process and the sessions of `engine`.
    """

    def __init__(
        self, engine: AsyncEngine, holder: str, most: int, patience: Patience | None = None
    ) -> None:
        self._engine = engine
        self._holder = holder
        self._most = most
        self._patience = patience or Patience()
        self._lab: dict[str, LabGate] = {}
        self._live: dict[str, LiveGate] = {}

    def lab(self, endpoint: str) -> "LabGate":
        """Give the gate of the lab's calls to `endpoint` (host and port)."""
        if endpoint not in self._lab:
            made = LabGate(self._endpoint(endpoint), self._most, self._patience)
            self._lab[endpoint] = made
        return self._lab[endpoint]

    def live(self, endpoint: str) -> "LiveGate":
        """Give the gate of everybody else's calls to `endpoint`: it is always open."""
        if endpoint not in self._live:
            self._live[endpoint] = LiveGate(self._endpoint(endpoint), self._patience)
        return self._live[endpoint]

    def _endpoint(self, name: str) -> Endpoint:
        return Endpoint(self._engine, name, self._holder, self._most)

    async def close(self) -> None:
        for lab in self._lab.values():
            lab.close()
        for live in self._live.values():
            await live.close()
        await self._engine.dispose()


class LabGate:
    """Lets a call of the lab through under a lease, and sits out what the endpoint asks for.

    Raises ProviderBusy, with the endpoint's words, where patience ends; Unavailable.
    """

    def __init__(self, endpoint: Endpoint, most: int, patience: Patience) -> None:
        self._leases = Leases(endpoint, most)
        self._storm = Storm(patience)

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        entry = self._storm.enter()
        while True:
            lease = await self._leases.take(lambda door: self._storm.check(entry, door))
            started = monotonic()
            try:
                result = await call()
            except ProviderBusy as busy:
                await self._leases.shut(self._storm.refuse(started, busy), str(busy))
            else:
                if self._storm.calm(started):
                    await self._leases.reopen()
                return result
            finally:
                self._leases.give_back(lease)

    def close(self) -> None:
        self._leases.close()


class LiveGate:
    """Lets every call through at once, and tells the lab of it, behind the caller's back."""

    def __init__(self, endpoint: Endpoint, patience: Patience) -> None:
        self._endpoint = endpoint
        self._patience = patience
        self._under_way = 0
        self._announcer: asyncio.Task[None] | None = None
        self._notes: set[asyncio.Task[None]] = set()
        self._closed = asyncio.Event()

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        self._under_way += 1
        if self._announcer is None or self._announcer.done():
            self._announcer = asyncio.create_task(self._announce())
        try:
            return await call()
        except ProviderBusy as busy:
            wait = busy.retry_after_s or self._patience.first_wait_s
            task = asyncio.create_task(self._shut(wait, str(busy)))
            self._notes.add(task)
            task.add_done_callback(self._notes.discard)
            raise
        finally:
            self._under_way -= 1

    async def _announce(self) -> None:
        while self._under_way and not self._closed.is_set():
            with suppress(Unavailable):
                await self._endpoint.announce(self._under_way)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), ANNOUNCE_EVERY_S)

    async def _shut(self, seconds: float, reason: str) -> None:
        with suppress(Unavailable):
            await self._endpoint.close(seconds, reason)

    async def close(self) -> None:
        """Let what is being told end, for a moment: a statement that is broken off complains."""
        self._closed.set()
        tasks = {task for task in (self._announcer, *self._notes) if task is not None}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSES_WITHIN_S)
            for task in late:
                task.cancel()
