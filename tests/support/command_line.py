"""`genoma` as a user types it: a process of its own, its exit code, and what it said."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.lab_process import ROOT, clean_environment


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one sentence of a command that could not be done; fails where it is anything else."""
        assert self.code == 1, self
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("genoma: "), self.err
        return lines[0].removeprefix("genoma: ")


@dataclass(frozen=True)
class CommandLine:
    """A terminal with given settings."""

    environment: Mapping[str, str]

    @classmethod
    def of(cls, home: Path, **settings: str) -> "CommandLine":
        return cls(clean_environment(home, **settings))

    def with_settings(self, **settings: str) -> "CommandLine":
        return CommandLine({**self.environment, **settings})

    def __call__(self, *words: str, timeout_s: float = 180) -> Finished:
        done = subprocess.run(
            [sys.executable, "-m", "lab", *words],
            cwd=ROOT,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def must(self, *words: str) -> str:
        """What a command printed that has to succeed."""
        done = self(*words)
        assert done.code == 0, done
        return done.out
