"""Of many that wait the last one goes first, and no place is lost."""

import asyncio
from contextlib import suppress

from kit.turns import LastFirst


async def test_no_more_than_the_places_are_in_and_the_last_comes_first() -> None:
    turns, came, inside, most = LastFirst(2), [], 0, 0

    async def come(number: int) -> None:
        nonlocal inside, most
        async with turns.turn():
            came.append(number)
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*map(come, range(6)))
    assert most == 2
    assert came == [0, 1, 5, 4, 3, 2]


async def test_who_is_cancelled_takes_no_place_along() -> None:
    turns = LastFirst(1)
    leave = asyncio.Event()

    async def stay() -> None:
        async with turns.turn():
            await leave.wait()

    first, waits = asyncio.create_task(stay()), asyncio.create_task(stay())
    await asyncio.sleep(0)
    waits.cancel()
    given = asyncio.create_task(stay())
    await asyncio.sleep(0)
    leave.set()
    await first
    given.cancel()  # the place was passed on to it just now
    for task in (waits, given):
        with suppress(asyncio.CancelledError):
            await task
    async with asyncio.timeout(1), turns.turn():
        pass


async def test_an_error_inside_gives_the_place_back() -> None:
    turns = LastFirst(1)
    with suppress(ValueError):
        async with turns.turn():
            raise ValueError
    async with asyncio.timeout(1), turns.turn():
        pass
