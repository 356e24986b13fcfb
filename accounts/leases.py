"""The leases that this process holds of one endpoint, handed from call to call."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from uuid import UUID

from accounts.endpoints import LEASE_S, Door, Endpoint
from kit.errors import Unavailable

LOOK_EVERY_S = 0.1
"""For so long what was seen of the door is believed: a lease in hand then costs nothing."""

TIDY_EVERY_S = 0.1
"""A lease that nobody here has taken up by then goes back, for other processes to have."""

RENEW_EVERY_S = LEASE_S / 3
BURY_EVERY_S = 1.0


class Leases:
    """Takes leases for the calls that wait, first come first served, and keeps them alive.

    One of the waiting looks at the door for all of them. A lease that is given back goes to the
    next call here without a word to the database, as long as the last look allows it.
    """

    def __init__(self, endpoint: Endpoint, most: int) -> None:
        self._endpoint = endpoint
        self._most = most
        self._busy: set[UUID] = set()
        self._idle: list[UUID] = []
        self._leaving: list[UUID] = []
        self._waiting = 0
        self._first = asyncio.Lock()
        self._freed = asyncio.Event()
        self._door = Door()
        self._looked_at = self._buried_at = self._shut_until = float("-inf")
        self._shut_for = ""
        self._keeper: asyncio.Task[None] | None = None

    async def take(self, check: Callable[[Door], None]) -> UUID:
        """Wait for a lease; `check` may raise at each look that finds none."""
        self._waiting += 1
        try:
            async with self._first:
                while (lease := self._hand_over()) is None:
                    # Cancelled in between, what was taken would be nobody's.
                    await asyncio.shield(self._look())
                    check(self._door)
                    if not self._may_hand_over:
                        await self._pause()
                return lease
        finally:
            self._waiting -= 1

    def give_back(self, lease: UUID) -> None:
        """The call has ended: the next one here may have it."""
        self._busy.remove(lease)
        self._idle.append(lease)
        self._freed.set()

    async def shut(self, seconds: float, reason: str) -> None:
        """Keep away from the endpoint for `seconds`, here at once and on all machines soon."""
        until = monotonic() + seconds
        if until <= self._shut_until:
            return
        self._shut_until, self._shut_for = until, reason
        with suppress(Unavailable):  # then the others learn it from the endpoint
            await self._endpoint.close(seconds, reason)

    async def reopen(self) -> None:
        """The storm is over: all leases may be used again, on all machines."""
        if self._door.reason and monotonic() >= self._shut_until:
            self._door = replace(self._door, closed_s=0.0, reason="")
            with suppress(Unavailable):  # what a call has brought is not lost for that
                await self._endpoint.reopen()

    def close(self) -> None:
        """Let go of everything: leases of a process without sessions are free."""
        if self._keeper is not None:
            self._keeper.cancel()

    @property
    def _may_hand_over(self) -> bool:
        door = self._door
        is_open = door.closed_s <= 0 and monotonic() >= self._shut_until
        goes_alone = not door.reason or not self._busy
        return is_open and goes_alone and door.in_use <= self._most and bool(self._idle)

    def _hand_over(self) -> UUID | None:
        if monotonic() - self._looked_at > LOOK_EVERY_S or not self._may_hand_over:
            return None
        lease = self._idle.pop()
        self._busy.add(lease)
        return lease

    async def _look(self) -> None:
        if (left := self._shut_until - monotonic()) > 0:
            self._door = Door(left, self._shut_for)
            return
        door = await self._endpoint.look(0 if self._idle else self._waiting)
        self._door, self._looked_at = door, monotonic()
        self._idle += door.taken
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep())
        if not self._idle and door.closed_s <= 0:
            await self._bury()

    async def _bury(self) -> None:
        """Nothing is free: perhaps the dead hold some of it."""
        if monotonic() - self._buried_at > BURY_EVERY_S:
            self._buried_at = monotonic()
            await self._endpoint.bury()

    async def _pause(self) -> None:
        """Wait until a lease is given back here, or it is time to look again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(min(self._door.closed_s, 1.0) or LOOK_EVERY_S):
                await self._freed.wait()
        self._freed.clear()

    async def _keep(self) -> None:
        """Renew what is in use and give back what is not, as long as there is any."""
        renewed_at = monotonic()
        while self._busy or self._idle or self._leaving:
            await asyncio.sleep(TIDY_EVERY_S)
            with suppress(Unavailable):  # the next round comes soon
                await self._tidy()
                if monotonic() - renewed_at > RENEW_EVERY_S:
                    renewed_at = monotonic()
                    await self._endpoint.renew([*self._busy])

    async def _tidy(self) -> None:
        if self._waiting and self._may_hand_over:
            return
        self._leaving += self._idle
        self._idle = []
        if self._leaving:
            await self._endpoint.give_back(self._leaving)
            self._leaving = []
