"""Who does the units of an evaluation, and the desk on which they lie until they are done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from evolution.parts import DoUnit, Unit
from kit.errors import GenomaError

Claim = Callable[[Unit], Awaitable[bool]]
"""Takes a unit for this process; False where another one has it."""


class Desk:
    """The units that a cycle waits for, in the process that runs the cycle."""

    def __init__(self, units: Iterable[Unit], do: DoUnit, slots: asyncio.Semaphore) -> None:
        self._open = dict.fromkeys(units)
        self._under_way: set[Unit] = set()
        self._do = do
        self._slots = slots
        self._moved = asyncio.Event()
        self._error: GenomaError | None = None

    def __contains__(self, unit: Unit) -> bool:
        return unit in self._open

    @property
    def waits(self) -> bool:
        """Whether there is still something to wait for."""
        return bool(self._under_way or (self._open and self._error is None))

    @property
    def elsewhere(self) -> tuple[Unit, ...]:
        """Units that are open and not under way in this process."""
        if self._error is not None:
            return ()
        return tuple(unit for unit in self._open if unit not in self._under_way)

    async def do(self, unit: Unit, claim: Claim | None = None) -> None:
        """Do a unit that is open, as soon as there is a slot; its error is kept for who waits."""
        async with self._slots:
            if unit not in self._open or unit in self._under_way or self._error is not None:
                return
            self._under_way.add(unit)
            try:
                if claim is None or await claim(unit):
                    await self._do(unit)
                    self.close([unit])
            except GenomaError as error:
                self._error = self._error or error
            finally:
                self._under_way.discard(unit)
                self._moved.set()

    def close(self, units: Iterable[Unit]) -> None:
        """Take away what is done."""
        for unit in units:
            self._open.pop(unit, None)

    async def wait(self, seconds: float) -> None:
        """Wait until a unit of this process has ended, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._moved.wait()
        except TimeoutError:
            return
        self._moved.clear()

    def check(self) -> None:
        """Raise the first error."""
        if self._error is not None:
            raise self._error


class Desks:
    """The desks of one process, by cycle."""

    def __init__(self) -> None:
        self._desks: dict[UUID, list[Desk]] = {}

    def runs(self, cycle_id: UUID) -> bool:
        """Whether this process runs the cycle and waits for units of it."""
        return cycle_id in self._desks

    def find(self, cycle_id: UUID, unit: Unit) -> Desk | None:
        """Give the desk on which a unit lies."""
        return next((d for d in self._desks.get(cycle_id, ()) if unit in d), None)

    @contextmanager
    def at(self, cycle_id: UUID, desk: Desk) -> Iterator[None]:
        """Let `desk` be found while the block runs."""
        self._desks.setdefault(cycle_id, []).append(desk)
        try:
            yield
        finally:
            self._desks[cycle_id].remove(desk)
            if not self._desks[cycle_id]:
                del self._desks[cycle_id]


def units_at_once(calls: int) -> int:
    """Give how many units are done at once where so many model calls are allowed.

    Twice as many: while some are written into the books, the calls of others are under way, and
    towards the end of a round there are verdicts left to ask for when no answers are.
    """
    return 2 * calls


class LocalHands:
    """This process alone, so many units at once."""

    def __init__(self, units: int) -> None:
        self._slots = asyncio.Semaphore(units)

    async def evaluate(self, units: Sequence[Unit], do: DoUnit) -> None:
        """See `evolution.parts.Hands`."""
        desk = Desk(units, do, self._slots)
        await run_all_of(desk.do(unit) for unit in units)
        desk.check()


async def run_all_of(work: Iterable[Awaitable[None]]) -> None:
    """Wait for all of `work`; raise the first exception when all have ended."""
    for ended in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
