"""Where tests keep what they throw away: in memory, where there is room for it.

Each test copies a database of some three hundred files, and each lab of its own makes one. On a
disk that is most of the time a test takes; and no test pulls the plug of the machine.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY = Path("/dev/shm")
ROOM_NEEDED = 3 * 2**30
"""Bytes: logs of servers grow to a gigabyte, and databases of labs lie beside them."""


@contextmanager
def short_folder(prefix: str = "genoma-") -> Iterator[Path]:
    """A folder that goes afterwards, its path short enough for the database's socket."""
    with TemporaryDirectory(prefix=prefix, dir=_memory()) as name:
        yield Path(name).resolve()


def _memory() -> Path | None:
    """Give the file system in memory, None where the usual place has to do."""
    is_there = MEMORY.is_dir() and os.access(MEMORY, os.W_OK | os.X_OK)
    return MEMORY if is_there and shutil.disk_usage(MEMORY).free >= ROOM_NEEDED else None
