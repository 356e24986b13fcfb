"""The board that watchers of a cycle read: written often enough to be live, and no oftener."""

import time
from uuid import UUID

from sqlalchemy import text, update

from evolution.buying.results import Scored
from evolution.shapes import CycleProgress
from kit.db import Database
from models.tables import Cycle

WRITE_EVERY_S = 0.5

_COUNTS = text("""
    select count(*) as answered, count(*) filter (where judge_score is null) as unscored,
           count(*) filter (where judge_score is not null and criteria = '{}'::jsonb) as failed
    from evolution_eval_result where cycle_id = :cycle
""")


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

    async def count(self, _scored: Scored) -> None:
        """Tell of one judged answer; written at most twice a second."""
        if time.monotonic() - self._written > WRITE_EVERY_S:
            await self._write()

    async def _write(self) -> None:
        """Write the board, with the counts as the store has them: others work here too."""
        self._written = time.monotonic()
        async with self._db.transaction(self._tenant) as tx:
            answered, unscored, failed = (
                await tx.execute(_COUNTS, {"cycle": self._cycle_id})
            ).one()
            counts = {"answered": answered, "unscored": unscored, "failed": failed}
            self.progress = self.progress.model_copy(update=counts)
            content = self.progress.model_dump(mode="json")
            await tx.execute(update(Cycle).filter_by(id=self._cycle_id).values(progress=content))
