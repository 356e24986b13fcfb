"""A cycle killed with SIGKILL, again and again, ends as if nobody had touched it.

No committed call is ever made again and none is lost: the store holds the same keys, scores and
result as that of a twin which ran in peace. A provider outside counts.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from evolution.plan import CycleOrder
from tests.support.cycle_books import Books, read_books
from tests.support.folders import short_folder
from tests.support.killer import Killer
from tests.support.openai_server import Logged
from tests.support.queued_cycle import DOMAIN, QueuedCycle, Runner, queue_cycle
from tests.support.rationed_server import RationedServer, number_of

CONCURRENCY = 4
SUBJECTS = (
    "apple", "beech", "cedar", "daisy", "elder", "fern", "grape", "hazel", "iris", "jasmine",
    "kale", "lemon", "maple", "nettle", "olive", "peach", "quince", "rose", "sage", "thyme",
)  # fmt: skip
"""Three questions each; all of them have 20 to search with and 40 for a proof, the least."""


@dataclass(frozen=True)
class Ordeal:
    """A cycle, how it ends, and how often it is killed."""

    subjects: Sequence[str]
    order: CycleOrder
    outcome: str
    kills: int
    near_the_end: int
    incumbent_s: float = 0.0
    """How long its answers take (`RationedServer`)."""


USUAL = Ordeal(SUBJECTS[:6], CycleOrder("postprocess", DOMAIN, 36, 3, 3), "explored", 5, 1)
SOAK = Ordeal(SUBJECTS, CycleOrder("postprocess", DOMAIN, 260, 12, 3), "promoted", 100, 5, 2.0)
"""Five rounds, in which the mutator and crossover have a say, and a proof of two looks."""


@pytest.fixture(scope="module")
def ordeal() -> Ordeal:
    return SOAK if settings.get_current_profile_name() == "soak" else USUAL


@pytest.fixture(scope="module")
def workplace() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
async def queued(workplace: Path, ordeal: Ordeal) -> QueuedCycle:
    return await queue_cycle(workplace / "queued", ordeal.subjects, ordeal.order)


@dataclass(frozen=True)
class Ended:
    """A cycle that came to its end: what the provider saw, and what the lab has kept."""

    calls: list[Logged]
    books: Books


@pytest.fixture(scope="module")
def undisturbed(queued: QueuedCycle, workplace: Path, ordeal: Ordeal) -> Ended:
    """The twin that ran in peace."""
    cycle = queued.copy_to(workplace / "in-peace")
    with RationedServer(workplace / "in-peace.jsonl", ordeal.incumbent_s) as provider:
        Runner(cycle, provider.url, CONCURRENCY).finish()
        return ended(cycle, provider)


def ended(cycle: QueuedCycle, provider: RationedServer) -> Ended:
    with cycle.server() as url:
        return Ended(provider.calls, read_books(url))


def test_a_cycle_makes_each_call_once(undisturbed: Ended, ordeal: Ordeal) -> None:
    books = undisturbed.books
    assert len(undisturbed.calls) == len(books.replies) == books.spent_calls > 50
    assert books.result["outcome"] == ordeal.outcome
    assert (books.unfinished, books.begun_anew, books.lost_lines, books.reserved) == (0, 0, 0, 0)


@pytest.mark.slow
def test_a_cycle_killed_at_random_instants_ends_like_one_that_ran_in_peace(
    queued: QueuedCycle, undisturbed: Ended, workplace: Path, ordeal: Ordeal
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    cycle = queued.copy_to(workplace / "killed")
    with RationedServer(workplace / "killed.jsonl", ordeal.incumbent_s) as provider:
        runner = Runner(cycle, provider.url, CONCURRENCY)
        killer = Killer(runner, provider, len(undisturbed.calls), random.Random(seed))
        try:
            killer.kill(ordeal.kills)
            killer.kill_near_the_end(ordeal.near_the_end)
            provider.ration()
            runner.finish()
            killed = ended(cycle, provider)
        finally:
            print(f"seed {seed}", *killer.story, sep="\n")
            with cycle.server():
                pass  # it stops, whoever was killed while holding it
    print(f"{len(killed.calls)} calls came, {killed.books.lost_lines} are booked as lost")
    check_same(killed.books, undisturbed.books)
    check_books(killed, kills=len(killer.story))
    check_no_call_after_its_commit(killed, undisturbed)
    assert len(killer.story) >= ordeal.kills
    assert killer.lost_at_once <= CONCURRENCY


def check_same(killed: Books, undisturbed: Books) -> None:
    for what, rows in undisturbed.content.items():
        assert killed.content[what] == rows, what
    assert killed.result == undisturbed.result


def check_books(killed: Ended, kills: int) -> None:
    """Each call was committed, or was lost in flight and is on the bill; nothing is left over."""
    books, committed = killed.books, len(killed.books.replies)
    assert (books.unfinished, books.reserved) == (0, 0)
    assert 0 <= len(killed.calls) - committed <= books.lost_lines <= kills * CONCURRENCY
    assert books.lost_lines == books.begun_anew
    assert books.spent_calls == books.booked_calls == committed + books.lost_lines
    assert books.spent_tokens == books.booked_tokens


def check_no_call_after_its_commit(killed: Ended, undisturbed: Ended) -> None:
    """Of equal requests as many were committed as there are in peace, and the last one was."""
    committed = Counter(number_of(text) for text in killed.books.replies)
    assert set(committed.values()) == {1}
    asked: defaultdict[str, list[int]] = defaultdict(list)
    for number, call in enumerate(killed.calls, start=1):
        asked[call.sha256].append(number)
    assert asked.keys() == {call.sha256 for call in undisturbed.calls}
    for sha256, times in Counter(call.sha256 for call in undisturbed.calls).items():
        assert sum(number in committed for number in asked[sha256]) == times
        assert asked[sha256][-1] in committed
