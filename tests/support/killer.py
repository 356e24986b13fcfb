"""Kills whoever works at a cycle, again and again, at random instants."""

import random
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.support.queued_cycle import Runner
from tests.support.rationed_server import RationedServer, number_of

STARTS_WITHIN_S = 4.0
"""A process has usually made its first call by then."""

STORED_WITHIN_S = 0.05
"""What was answered has usually been committed by then."""

ENDS_WITHIN_S = 0.4
"""After its last call a cycle has usually ended by then."""

PATIENCE_S = 60.0


@dataclass
class Killer:
    """Kills a cycle between any two of its steps; all draws are made by `rng`."""

    runner: Runner
    provider: RationedServer
    calls: int
    """That the cycle makes in peace."""
    rng: random.Random
    story: list[str] = field(default_factory=list)
    """One line a kill: where it hit."""
    in_flight: int = 0
    """Calls that the last kill left in flight."""
    committed: frozenset[int] = frozenset()
    """Numbers of the calls that were committed when last looked."""
    lost_at_once: int = 0
    """The most calls that one kill left in flight."""

    @property
    def left(self) -> int:
        """Calls that the cycle has still to commit."""
        return self.calls - len(self.committed)

    def kill(self, times: int) -> None:
        """Kill so often before the last call is answered, spread over the whole cycle.

        Two of five lives end after a time, most of them while they start; the others after a
        number of answers. A life without an answer makes no progress, and all of them together
        come to the end nevertheless.
        """
        for still in range(times, 0, -1):
            mean = self.left / still
            drawn = round(self.rng.uniform(0, 2 * mean)) + self.rng.randrange(4)
            early = self.rng.random() < 0.4
            limit_s = self.rng.uniform(0, STARTS_WITHIN_S) if early else PATIENCE_S
            ended = self._live(min(drawn, self.left - 1), limit_s, STORED_WITHIN_S)
            assert not ended, "the cycle has ended without its last call"

    def kill_near_the_end(self, times: int) -> None:
        """Kill so often when all calls are answered, unless it comes to its end before."""
        for _ in range(times):
            limit_s = PATIENCE_S if self.left else self.rng.uniform(0, STARTS_WITHIN_S)
            if self._live(self.left, limit_s, ENDS_WITHIN_S):
                return

    def _live(self, answers: int, limit_s: float, rest_s: float) -> bool:
        """Let a process live for so many answers and up to `rest_s`, at most for `limit_s`.

        Tells whether it had ended by itself.
        """
        known, used_up = len(self.provider.calls), self.provider.ration(answers)
        process, started = self.runner.start(), time.monotonic()
        until = started + (limit_s if answers else min(limit_s, STARTS_WITHIN_S))
        while process.poll() is None and time.monotonic() < until and not used_up.is_set():
            time.sleep(0.005)
        if used_up.is_set():
            time.sleep(self.rng.uniform(0, rest_s))
        lasted_s, ended = time.monotonic() - started, process.poll()
        process.kill()
        _, complained = process.communicate()
        assert not ended, f"a process failed: {complained}"
        assert lasted_s < PATIENCE_S, "the cycle makes no calls"
        came = len(self.provider.calls) - known
        self._look()
        if ended is None:
            self.story.append(
                f"killed after {lasted_s:.2f} s: {came} calls came, up to {answers} were answered, "
                f"{len(self.committed)} are committed, {self.in_flight} in flight"
            )
        return ended is not None

    def _look(self) -> None:
        """See what the dead have left; a database that is away tells nothing."""
        url = f"postgresql://postgres@/genoma?host={self.runner.cycle.home}/postgres"
        try:
            with psycopg.connect(url) as connection:
                _wait_for_sessions(connection)
                rows = connection.execute("select state, reply ->> 'text' from paid_call")
                found = rows.fetchall()
        except psycopg.OperationalError:
            return
        before = self.committed
        self.committed = frozenset(number_of(text) for state, text in found if state == "done")
        assert before <= self.committed, "a committed call is lost"
        self.in_flight = sum(state == "in_flight" for state, _ in found)
        self.lost_at_once = max(self.lost_at_once, self.in_flight)


def _wait_for_sessions(connection: psycopg.Connection[Any]) -> None:
    """Wait until the server has noticed the death: it ends the commits that it was asked for."""
    deadline = time.monotonic() + 5
    left = "select count(*) from pg_stat_activity where usename = 'genoma_app'"
    while connection.execute(left).fetchone() != (0,) and time.monotonic() < deadline:
        connection.rollback()  # the next look sees what is new
        time.sleep(0.01)
    connection.rollback()
