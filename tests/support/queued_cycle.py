"""A lab's home in which one cycle waits to be run: prepared once, copied as often as needed."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evolution.genomes import seed_genomes
from evolution.plan import CycleOrder, create_cycle
from kit.embedded_postgres import EmbeddedPostgres
from kit.settings import Settings
from lab.library import complete_corpus, take_beir
from lab.wiring import Lab, open_lab
from models.tables import DEFAULT_TENANT
from tests.support.lab_process import ROOT, clean_environment
from tests.support.small_corpus import write_small_corpus

DOMAIN = "small"
MODEL = "ok"
ROLES = ("rag_postprocess_model", "judge_model", "mutator_model", "router_model")


@dataclass(frozen=True)
class QueuedCycle:
    """A home whose database is stopped, and the cycle in it."""

    home: Path
    cycle_id: str

    def copy_to(self, home: Path) -> "QueuedCycle":
        subprocess.run(["cp", "-a", str(self.home), str(home)], check=True)  # owners stay
        return QueuedCycle(home, self.cycle_id)

    @contextmanager
    def server(self) -> Iterator[str]:
        """Give the URL of its database, for the owner."""
        server = EmbeddedPostgres(self.home / "postgres")
        try:
            yield server.url()
        finally:
            server.stop()


@dataclass(frozen=True)
class Runner:
    """Runs a queued cycle as a user does: at the command line, in a process of its own."""

    cycle: QueuedCycle
    url: str
    concurrency: int

    def start(self) -> subprocess.Popen[str]:
        models = {f"GENOMA_{role.upper()}": MODEL for role in ROLES}
        return subprocess.Popen(
            [sys.executable, "-m", "lab", "cycle", "resume", self.cycle.cycle_id],
            cwd=ROOT,
            env=clean_environment(
                self.cycle.home, OPENAI_BASE_URL=self.url,
                GENOMA_CONCURRENCY=str(self.concurrency), **models,
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def finish(self) -> str:
        """Run the cycle to its end; give what the terminal shows."""
        process = self.start()
        said, complained = process.communicate(timeout=300)
        assert process.returncode == 0, complained
        return said


async def queue_cycle(home: Path, subjects: Sequence[str], order: CycleOrder) -> QueuedCycle:
    """Make a lab with a small corpus, order a cycle, and stop its database."""
    models = dict.fromkeys(ROLES, MODEL)
    settings = Settings(home=home, OPENAI_BASE_URL="http://127.0.0.1:9/v1", nightly="", **models)  # type: ignore[arg-type]
    lab = await asyncio.to_thread(open_lab, settings)
    try:
        return QueuedCycle(home, await _order(lab, home, subjects, order))
    finally:
        await lab.close()
        assert lab.urls.embedded is not None
        lab.urls.embedded.stop()


async def _order(lab: Lab, home: Path, subjects: Sequence[str], order: CycleOrder) -> str:
    async with lab.db.transaction() as tx:
        await seed_genomes(tx)
    folder = write_small_corpus(home / "corpus", subjects)
    await take_beir(lab, DEFAULT_TENANT, folder, DOMAIN, lambda *_: None)
    await complete_corpus(lab, DEFAULT_TENANT, DOMAIN)
    async with lab.db.transaction(DEFAULT_TENANT) as tx:
        return str(await create_cycle(tx, DEFAULT_TENANT, order))
