"""The desk: every unit is done once, one error stops what has not begun, nothing is lost."""

import asyncio
from uuid import uuid4

import pytest

from evolution.buying.hands import Desk, Desks, LocalHands
from evolution.parts import Unit
from kit.errors import ProviderRefused


def units(count: int) -> list[Unit]:
    genome = uuid4()
    return [Unit(genome, (uuid4(),), "search") for _ in range(count)]


class Work:
    """Does units, notes how many at once, and may fail at one of them."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.done: list[Unit] = []
        self.now = self.most = 0
        self.fails_at = fails_at

    async def __call__(self, unit: Unit) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        if len(self.done) == self.fails_at:
            raise ProviderRefused("the key is refused")
        self.done.append(unit)


async def test_local_hands_do_every_unit_once_and_no_more_at_once_than_allowed() -> None:
    work, todo = Work(), units(20)
    await LocalHands(3).evaluate(todo, work)
    assert sorted(work.done, key=todo.index) == todo
    assert work.most == 3


async def test_the_first_error_stops_what_has_not_begun_and_waits_for_the_rest() -> None:
    work = Work(fails_at=5)
    with pytest.raises(ProviderRefused, match="the key is refused"):
        await LocalHands(2).evaluate(units(50), work)
    assert len(work.done) <= 6
    assert work.now == 0


async def test_a_defect_is_not_swallowed() -> None:
    async def broken(unit: Unit) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await LocalHands(2).evaluate(units(2), broken)


async def test_a_unit_is_done_by_one_of_two_that_want_it() -> None:
    work, (unit,) = Work(), units(1)
    desk = Desk([unit], work, asyncio.Semaphore(4))
    await asyncio.gather(desk.do(unit), desk.do(unit))
    assert work.done == [unit]
    assert not desk.waits


async def test_what_another_process_has_claimed_is_waited_for() -> None:
    async def taken(unit: Unit) -> bool:
        return False

    work, todo = Work(), units(2)
    desk = Desk(todo, work, asyncio.Semaphore(4))
    await desk.do(todo[0], taken)
    await desk.do(todo[1])
    assert work.done == [todo[1]]
    assert desk.waits and desk.elsewhere == (todo[0],)
    desk.close([todo[0]])
    assert not desk.waits


async def test_desks_are_found_by_cycle_and_unit_while_they_are_there() -> None:
    desks, cycle, (first, second) = Desks(), uuid4(), units(2)
    desk = Desk([first], Work(), asyncio.Semaphore(1))
    with desks.at(cycle, desk):
        assert desks.runs(cycle) and not desks.runs(uuid4())
        assert desks.find(cycle, first) is desk
        assert desks.find(cycle, second) is None
    assert not desks.runs(cycle)
