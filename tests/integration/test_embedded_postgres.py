"""The embedded server comes back by itself, whatever was killed, with its data intact."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from kit.embedded_postgres import EmbeddedPostgres, forget_dead
from kit.errors import Misconfigured
from tests.support.folders import short_folder

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import sys
from pathlib import Path
from kit.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
print(server.url("postgres"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets do not like long ones."""
    with short_folder("genoma-pg-") as place:
        data = place / "data"
        yield data
        for process in processes_of(data):
            process.kill()


@contextmanager
def holding(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that holds the server until its input ends; with the server's URL."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield process, process.stdout.readline().strip()
        process.stdin.close()
        process.wait(timeout=30)
    finally:
        process.kill()
        process.wait(timeout=10)
        process.stdout.close()


def postmaster_pid(folder: Path) -> int:
    return int((folder / "postmaster.pid").read_text().splitlines()[0])


def processes_of(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["name", "cwd"])
        if process.info["cwd"] == str(folder) and process.info["name"].startswith("postgres")
    ]


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(*processes: psutil.Process) -> None:
    """Kill and see them dead: a signal takes a moment to arrive."""
    for process in processes:
        process.send_signal(signal.SIGKILL)
    while any(is_alive(process) for process in processes):
        time.sleep(0.01)


def write_row(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table kept as select 42 as answer")


def read_row(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("select answer from kept").fetchone()
    assert row is not None
    return int(row[0])


def test_data_survive_a_kill_of_every_process_of_the_server(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    write_row(server.url("postgres"))
    kill(*processes_of(folder))
    again = EmbeddedPostgres(folder)
    assert read_row(again.url("postgres")) == 42
    again.stop()


def test_data_survive_a_kill_of_the_postmaster_alone_while_its_children_live_on(
    folder: Path,
) -> None:
    server = EmbeddedPostgres(folder)
    write_row(server.url("postgres"))
    # A stopped child cannot notice that its postmaster is gone: it is in the way of a new one.
    pid = postmaster_pid(folder)
    child = next(p for p in processes_of(folder) if p.pid != pid)
    child.suspend()
    kill(psutil.Process(pid))
    again = EmbeddedPostgres(folder)
    assert read_row(again.url("postgres")) == 42
    assert not is_alive(child)
    again.stop()


def test_a_pid_file_that_names_a_living_foreign_process_is_not_believed(folder: Path) -> None:
    first = EmbeddedPostgres(folder)
    write_row(first.url("postgres"))
    pid_file = (folder / "postmaster.pid").read_text()
    first.stop()
    stale = pid_file.replace(pid_file.splitlines()[0], str(os.getpid()), 1)
    (folder / "postmaster.pid").write_text(stale)
    again = EmbeddedPostgres(folder)
    assert read_row(again.url("postgres")) == 42
    assert postmaster_pid(folder) != os.getpid()
    again.stop()


def test_a_socket_claim_that_names_a_living_foreign_process_is_not_believed(folder: Path) -> None:
    EmbeddedPostgres(folder).stop()
    claim = folder / ".s.PGSQL.5432.lock"
    claim.write_text(f"{os.getppid()}\n{folder}\n1\n5432\n{folder}\n")
    server = EmbeddedPostgres(folder)
    assert claim.read_text().splitlines()[0] == str(postmaster_pid(folder))
    server.stop()


@pytest.mark.parametrize("left", ["", "17\n/some", "not a number\n"])
def test_a_pid_file_cut_off_by_a_kill_is_removed(tmp_path: Path, left: str) -> None:
    (tmp_path / "postmaster.pid").write_text(left)
    forget_dead(tmp_path)
    assert not (tmp_path / "postmaster.pid").exists()


@pytest.mark.parametrize("left", ["", "[12", '{"a": 1}', '["x"]'])
def test_a_list_of_holders_cut_off_by_a_kill_is_emptied(tmp_path: Path, left: str) -> None:
    (tmp_path / ".handle_pids.json").write_text(left)
    forget_dead(tmp_path)
    assert json.loads((tmp_path / ".handle_pids.json").read_text()) == []


def test_dead_holders_are_forgotten_and_living_ones_kept(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / ".handle_pids.json").write_text(json.dumps([dead.pid, os.getpid()]))
    forget_dead(tmp_path)
    assert json.loads((tmp_path / ".handle_pids.json").read_text()) == [os.getpid()]


def test_the_server_runs_until_its_last_holder_ends(folder: Path) -> None:
    with holding(folder) as (_, url):
        with holding(folder) as (_, same):
            assert same == url
        with psycopg.connect(url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    assert processes_of(folder) == []


def test_a_killed_holder_does_not_keep_the_server_running(folder: Path) -> None:
    with holding(folder) as (killed, _), holding(folder):
        killed.kill()
        killed.wait()
    assert processes_of(folder) == []


def test_a_folder_that_may_not_be_written_is_named_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match=r"the embedded database in .*file/data") as caught:
        EmbeddedPostgres(tmp_path / "file" / "data")
    assert "\n" not in str(caught.value)


def test_a_folder_of_another_version_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").write_text("15\n")
    with pytest.raises(Misconfigured, match="version 18 but found version 15"):
        EmbeddedPostgres(tmp_path)


def test_a_broken_data_folder_is_refused_with_the_servers_own_reason(folder: Path) -> None:
    EmbeddedPostgres(folder).stop()
    (folder / "postgresql.conf").write_text("shared_buffers = lots\n")
    with pytest.raises(Misconfigured, match=r"postgresql\.conf") as caught:
        EmbeddedPostgres(folder)
    assert "\n" not in str(caught.value)
