"""A cycle killed with SIGKILL goes on where it was: no committed call is ever made again."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from kit.embedded_postgres import EmbeddedPostgres
from tests.support.lab_process import ROOT, clean_environment
from tests.support.openai_server import model_process, read_log
from tests.support.small_corpus import write_small_corpus

CONCURRENCY = 4
CYCLE = ("cycle", "run", "--layer", "postprocess", "--domain", "small", "--budget", "36",
         "--max-mutations", "3", "--seed", "3")  # fmt: skip


class Lab:
    """The command line of one lab, whose models all are the server outside."""

    def __init__(self, home: Path, folder: Path, url: str) -> None:
        roles = ("RAG_POSTPROCESS", "JUDGE", "MUTATOR", "ROUTER")
        models = {f"GENOMA_{role}_MODEL": "ok" for role in roles}
        self.environment = clean_environment(
            home, OPENAI_BASE_URL=url, GENOMA_CONCURRENCY=str(CONCURRENCY), **models
        )
        self.must("import", "beir", str(folder), "--corpus", "small")

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "lab", *words],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def must(self, *words: str) -> str:
        process = self.start(*words)
        said, complained = process.communicate(timeout=180)
        assert process.returncode == 0, complained
        return said

    def newest_cycle(self) -> str:
        return self.must("cycle", "list").splitlines()[1].split()[0]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of six documents with eighteen questions, in BEIR layout."""
    return write_small_corpus(tmp_path_factory.mktemp("small") / "corpus")


@pytest.fixture
def workplace() -> Iterator[Path]:
    """A short path: a database socket must fit into it."""
    with TemporaryDirectory(prefix="genoma-") as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Books:
    """What the provider outside counted, and what the lab has in its own books."""

    calls: int
    committed: int
    lost_in_flight: int


def test_a_cycle_makes_each_call_once(small: Path, workplace: Path) -> None:
    books = run_and_count(small, workplace / "a", kill_after=())
    assert books.calls == books.committed > 50
    assert books.lost_in_flight == 0


@pytest.mark.slow
def test_a_killed_cycle_repeats_no_committed_call(small: Path, workplace: Path) -> None:
    books = run_and_count(small, workplace / "b", kill_after=(3, 17, 48))
    assert books.committed > 50
    assert 0 <= books.calls - books.committed <= books.lost_in_flight <= 3 * CONCURRENCY


def run_and_count(small: Path, home: Path, kill_after: tuple[int, ...]) -> Books:
    """Run one cycle to its end, killing it after so many calls at the provider."""
    log = home.with_suffix(".jsonl")
    with model_process(log) as url:
        lab = Lab(home, small, url)
        words: tuple[str, ...] = CYCLE
        for calls in kill_after:
            process = lab.start(*words)
            wait_for_calls(log, calls)
            process.send_signal(signal.SIGKILL)
            process.wait()
            words = ("cycle", "resume", lab.newest_cycle())
        assert "tried" in lab.must(*words)
        return Books(len(read_log(log)), *counts_in(home))


def counts_in(home: Path) -> tuple[int, int]:
    """Give (calls committed, ledger entries of calls lost in flight) out of the lab's store."""
    server = EmbeddedPostgres(home / "postgres")
    with psycopg.connect(server.url()) as connection:
        done = connection.execute("select count(*) from paid_call where state = 'done'").fetchone()
        lost = connection.execute(
            "select count(*) from ledger_entry where outcome = 'lost_in_flight'"
        ).fetchone()
    server.stop()
    assert done is not None and lost is not None
    return done[0], lost[0]


def wait_for_calls(log: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while not log.exists() or len(log.read_text().splitlines()) < count:
        assert time.monotonic() < deadline, "the cycle makes no calls"
        time.sleep(0.01)
