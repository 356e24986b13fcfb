"""A cycle killed with SIGKILL, again and again, ends as if nobody had touched it.

No committed call is ever made again and none is lost: the store holds the same keys, scores and
result as that of a twin which ran in peace. A provider outside counts.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from hypothesis import settings

from evolution.plan import CycleOrder
from tests.support.cycle_books import Books, read_books
from tests.support.openai_server import Logged
from tests.support.queued_cycle import DOMAIN, QueuedCycle, Runner, queue_cycle
from tests.support.rationed_server import RationedServer, number_of

CONCURRENCY = 4
ORDER = CycleOrder("postprocess", DOMAIN, budget=140, max_mutations=3, seed=3)
SUBJECTS = (
    "apple", "beech", "cedar", "daisy", "elder", "fern", "grape", "hazel", "iris", "jasmine",
    "kale", "lemon", "maple", "nettle", "olive", "peach", "quince", "rose", "sage", "thyme",
)  # fmt: skip
"""Three questions each: 20 to search with and 40 for a proof, the least that has one."""

STARTS_WITHIN_S = 4.0
"""A process has usually made its first call by then."""

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def workplace() -> Iterator[Path]:
    """A short path: a database socket must fit into it."""
    with TemporaryDirectory(prefix="genoma-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
async def queued(workplace: Path) -> QueuedCycle:
    return await queue_cycle(workplace / "queued", SUBJECTS, ORDER)


@dataclass(frozen=True)
class Ended:
    """A cycle that came to its end: what the provider saw, and what the lab has kept."""

    calls: list[Logged]
    books: Books


@pytest.fixture(scope="module")
def undisturbed(queued: QueuedCycle, workplace: Path) -> Ended:
    """The twin that ran in peace."""
    cycle = queued.copy_to(workplace / "in-peace")
    with RationedServer(workplace / "in-peace.jsonl") as provider:
        Runner(cycle, provider.url, CONCURRENCY).finish()
        return ended(cycle, provider)


def ended(cycle: QueuedCycle, provider: RationedServer) -> Ended:
    with cycle.server() as url:
        return Ended(provider.calls, read_books(url))


def test_a_cycle_makes_each_call_once(undisturbed: Ended) -> None:
    books = undisturbed.books
    assert len(undisturbed.calls) == len(books.replies) == books.spent_calls > 100
    assert books.result["outcome"] == "promoted"
    assert (books.unfinished, books.begun_anew, books.lost_lines, books.reserved) == (0, 0, 0, 0)


@pytest.mark.slow
def test_a_cycle_killed_at_random_instants_ends_like_one_that_ran_in_peace(
    queued: QueuedCycle, undisturbed: Ended, workplace: Path
) -> None:
    kills = 100 if settings.get_current_profile_name() == "soak" else 5
    seed = random.SystemRandom().randrange(10**6)
    cycle = queued.copy_to(workplace / "killed")
    with RationedServer(workplace / "killed.jsonl") as provider:
        runner = Runner(cycle, provider.url, CONCURRENCY)
        killer = Killer(runner, provider, len(undisturbed.calls), random.Random(seed))
        try:
            killer.run(kills)
            killed = ended(cycle, provider)
        finally:
            print(f"seed {seed}:", *killer.done, sep="\n")
            with cycle.server():
                pass  # it stops, whoever was killed while it held it
    assert len(killer.done) >= kills
    check_same(killed.books, undisturbed.books)
    check_books(killed, kills=len(killer.done))
    check_no_call_after_its_commit(killed, undisturbed)


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
    asked: dict[str, list[int]] = defaultdict(list)
    for number, call in enumerate(killed.calls, start=1):
        asked[call.sha256].append(number)
    assert asked.keys() == {call.sha256 for call in undisturbed.calls}
    for sha256, times in Counter(call.sha256 for call in undisturbed.calls).items():
        assert sum(number in committed for number in asked[sha256]) == times
        assert asked[sha256][-1] in committed


@dataclass
class Killer:
    """Runs a cycle and kills whoever works at it, at instants drawn by `rng`."""

    runner: Runner
    provider: RationedServer
    calls: int
    """That the cycle makes in peace."""
    rng: random.Random
    done: list[str] = field(default_factory=list)
    """One line a kill: where it hit."""
    committed: int = 0

    def run(self, kills: int) -> None:
        """Kill so often before the last call is answered, then a few times near the end."""
        for left in range(kills, 0, -1):
            answers = min(self._some(left), self.calls - 1 - self.committed)
            at_once = self.rng.random() < 0.4
            self._kill(answers, self.rng.uniform(0, STARTS_WITHIN_S) if at_once else PATIENCE_S)
        self.provider.ration()
        self.runner.finish()

    def _some(self, left: int) -> int:
        """Draw a number of answers, so that `left` lives like this come near to the end."""
        mean = (self.calls - self.committed) / left
        return self.rng.randrange(CONCURRENCY) + round(self.rng.uniform(0, 2 * mean))

    def _kill(self, answers: int, seconds: float) -> None:
        """Kill after so many answers or seconds, whatever comes first."""
        used_up = self.provider.ration(answers)
        process = self.runner.start()
        started, before = time.monotonic(), len(self.provider.calls)
        if answers:
            used_up.wait(seconds)
            time.sleep(self.rng.uniform(0, 0.03))  # the last answer may be committed, or not yet
        else:
            time.sleep(min(seconds, STARTS_WITHIN_S))
        alive = process.poll() is None
        process.kill()
        _, complained = process.communicate()
        lasted, calls = time.monotonic() - started, len(self.provider.calls) - before
        assert alive, f"it ended by itself after {lasted:.1f} s: {complained}"
        assert lasted < PATIENCE_S, "the cycle makes no calls"
        self._look()
        said = f"after {lasted:.2f} s, {calls} calls came, {answers} might be answered"
        self.done.append(f"{said}; {self.committed} are committed")

    def _look(self) -> None:
        """Count what is committed by now; a database that is away tells nothing."""
        url = f"postgresql://postgres@/genoma?host={self.runner.cycle.home}/postgres"
        try:
            with psycopg.connect(url) as connection:
                row = connection.execute("select count(*) from paid_call where state = 'done'")
                (self.committed,) = row.fetchone() or (0,)
        except psycopg.OperationalError:
            return
