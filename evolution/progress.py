"""The board that watchers of a cycle read: written often enough to be live, and no oftener."""

import time
from uuid import UUID

from sqlalchemy import update

from evolution.results import Scored
from evolution.shapes import CandidateProgress, CycleProgress
from kit.db import Database
from models.tables import Cycle

WRITE_EVERY_S = 0.5


class Board:
    """Holds a cycle's progress and writes it to the store."""

    def __init__(self, db: Database, tenant: UUID, cycle_id: UUID) -> None:
        self._db = db
        self._tenant = tenant
        self._cycle_id = cycle_id
        self._written = 0.0
        self.progress = CycleProgress()

    async def show(self, **changes: object) -> None:
        """Change the board and write it at once."""
        self.progress = self.progress.model_copy(update=changes)
        await self._write()

    async def show_candidate(self, candidate: CandidateProgress) -> None:
        """Put a candidate's line up, in place of its former one."""
        others = {c.genome_id: c for c in self.progress.candidates}
        others[candidate.genome_id] = candidate
        await self.show(candidates=tuple(others.values()))

    async def count(self, scored: Scored) -> None:
        """Count one judged answer; written at most twice a second."""
        counts = {"answered": self.progress.answered + 1}
        if scored.score is None:
            counts["unscored"] = self.progress.unscored + 1
        if scored.failed:
            counts["failed"] = self.progress.failed + 1
        self.progress = self.progress.model_copy(update=counts)
        if time.monotonic() - self._written > WRITE_EVERY_S:
            await self._write()

    async def _write(self) -> None:
        self._written = time.monotonic()
        content = self.progress.model_dump(mode="json")
        async with self._db.transaction(self._tenant) as tx:
            await tx.execute(update(Cycle).filter_by(id=self._cycle_id).values(progress=content))
