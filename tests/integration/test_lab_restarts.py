"""The whole lab, ended in every way there is: the next start goes on, and nothing is left over."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg
import pytest

from tests.support.folders import short_folder
from tests.support.lab_process import RunningLab, running_lab
from tests.support.openai_server import ModelServer

WITHIN_S = 120.0


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "home"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Vectors from an endpoint that takes its time: there is a job to interrupt."""
    log = tmp_path_factory.mktemp("calls") / "log.jsonl"
    with ModelServer(log) as server:
        yield {
            "OPENAI_BASE_URL": server.url,
            "GENOMA_EMBEDDING_MODEL": "slow-100",
            "GENOMA_CYCLE_BUDGET": "288",
        }


def rows(lab: RunningLab, query: str) -> list[tuple[Any, ...]]:
    """Read the lab's store from outside, as its owner."""
    url = f"postgresql://postgres@/genoma?host={lab.home}/postgres"
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def jobs(lab: RunningLab) -> dict[str, str]:
    """Task -> status of the first job of its kind."""
    found = rows(lab, "select task_name, status::text from procrastinate_jobs order by id desc")
    return dict(found)


def wait_for(what: Callable[[], Any]) -> Any:
    """Wait until it is so; give it."""
    deadline = time.monotonic() + WITHIN_S
    while not (value := what()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.2)
    return value


def workers(lab: RunningLab) -> list[psutil.Process]:
    return [p for p in psutil.Process(lab.process.pid).children() if "work" in p.cmdline()]


def database_processes(home: Path) -> list[psutil.Process]:
    found = psutil.process_iter(["name", "cwd"])
    return [p for p in found if p.info["cwd"] == str(home / "postgres")]


def test_what_ctrl_c_interrupts_goes_on_at_the_next_start(
    home: Path, settings: dict[str, str]
) -> None:
    with running_lab(home, **settings) as lab:
        first_worker = wait_for(lambda: workers(lab))[0]
        wait_for(lambda: jobs(lab)["complete_corpus"] == "doing")
        assert lab.interrupt() == 0
    assert not first_worker.is_running()
    assert database_processes(home) == []
    with running_lab(home, **settings) as lab:
        assert jobs(lab)["complete_corpus"] in ("todo", "doing")
        assert jobs(lab)["run_cycle"] == "todo"
        assert "admin/setup" in lab.said


def test_a_worker_that_is_killed_is_replaced(home: Path, settings: dict[str, str]) -> None:
    with running_lab(home, **settings) as lab:
        killed = wait_for(lambda: workers(lab))[0]
        killed.kill()
        assert wait_for(lambda: [w for w in workers(lab) if w.pid != killed.pid])
        assert "starting another" in lab.said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["told to", "hung up"])
def test_nothing_is_left_running_when_the_lab_is_ended(
    home: Path, settings: dict[str, str], number: signal.Signals
) -> None:
    with running_lab(home, **settings) as lab:
        worker = wait_for(lambda: workers(lab))[0]
        lab.process.send_signal(number)
        assert lab.process.wait(timeout=30) == 0
    assert not worker.is_running()
    assert database_processes(home) == []


def test_no_worker_outlives_a_lab_that_is_killed_and_the_next_start_has_its_data(
    home: Path, settings: dict[str, str]
) -> None:
    with running_lab(home, **settings) as lab:
        key = lab.api_key
        worker = wait_for(lambda: workers(lab))[0]
        # It has asked the kernel for its end by the time that it holds the database.
        wait_for(lambda: str(worker.pid) in (home / "postgres/.handle_pids.json").read_text())
        lab.kill()
    wait_for(lambda: not worker.is_running())
    with running_lab(home, **settings) as lab:
        assert lab.api_key == key
        models = httpx2.get(f"{lab.url}/v1/models", headers={"authorization": f"Bearer {key}"})
        assert models.status_code == 200


def test_a_start_after_every_process_was_killed_finishes_the_welcome_cycle(
    home: Path, settings: dict[str, str]
) -> None:
    with running_lab(home, **settings) as lab:
        doomed = [*wait_for(lambda: workers(lab)), *database_processes(home)]
        for process in doomed:
            os.kill(process.pid, signal.SIGKILL)
        lab.kill()
    with running_lab(home, **settings) as lab:
        wait_for(lambda: jobs(lab)["complete_corpus"] == "succeeded")
        wait_for(lambda: rows(lab, "select 1 from cycle where status = 'done'"))
        assert rows(lab, "select count(*) from cycle") == [(1,)]
        assert rows(lab, "select count(*) from document where source_id like 'en/%'") == [(14,)]
