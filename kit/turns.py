"""Turns at something scarce, where whoever came last goes first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class LastFirst:
    """Lets `places` tasks in at a time; of those that wait the last one comes first.

    So tasks that are many steps ahead go on, and tasks that have not begun wait: what they all
    do in the end is the same, but the first ones are done while the last ones begin. Whoever is
    passed over waits no longer than all the others together take.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[asyncio.Future[None]] = []

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a place, and have it while the block runs."""
        if self._free:
            self._free -= 1
        else:
            await self._wait()
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self) -> None:
        mine = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                self._waiting.remove(mine)
            else:  # it was given the place, and cannot use it
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.pop().set_result(None)
        else:
            self._free += 1
