"""The whole lab as a user starts it: `genoma run` in a process of its own, in a home of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parents[2]
STARTS_WITHIN_S = 120.0
ENDS_WITHIN_S = 40.0


@dataclass
class RunningLab:
    """A lab that has printed its welcome and answers."""

    home: Path
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        """All that the terminal shows so far."""
        return self.log.read_text()

    @property
    def setup_link(self) -> str:
        found = re.search(r"http://\S+/admin/setup\?token=\S+", self.said)
        assert found, self.said
        return found[0]

    @property
    def api_key(self) -> str:
        return (self.home / "api-key").read_text().strip()

    def kill(self) -> None:
        """End it as a power cut would: nothing is asked, nothing is cleaned up."""
        self.process.kill()
        self.process.wait()

    def interrupt(self) -> int:
        """Press Ctrl-C; give the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=ENDS_WITHIN_S)


@contextmanager
def running_lab(home: Path, **settings: str) -> Iterator[RunningLab]:
    """Start a lab on a free port and wait until it serves; it has ended afterwards."""
    port = free_port()
    log = home.with_suffix(".log")
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab", "run"],
            cwd=ROOT,
            env=clean_environment(home, GENOMA_PORT=str(port), **settings),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    lab = RunningLab(home, f"http://127.0.0.1:{port}", process, log)
    try:
        wait_until_served(lab)
        yield lab
    finally:
        if process.poll() is None:
            lab.interrupt()


def wait_until_served(lab: RunningLab) -> None:
    """Wait for the first page; fail with what the terminal said where it does not come."""
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and lab.process.poll() is None:
        try:
            if httpx2.get(f"{lab.url}/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"the lab did not start: {lab.said}")


def clean_environment(home: Path, **settings: str) -> Mapping[str, str]:
    """The environment of a fresh user: no key, no endpoint, nothing of this machine's settings."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {**kept, "OMP_NUM_THREADS": "1", "GENOMA_HOME": str(home), **settings}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
