"""A cycle that is running, and what all of its stages work with."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from evolution.buying.calls import PaidScope
from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.paid import hash_key, paying_for
from evolution.parts import CycleParts
from evolution.progress import Board
from evolution.shapes import CyclePlan, SearchEnd
from kit.errors import Conflict
from models.genome import LAYERS, Genome, Layer, genome_name
from models.tables import Corpus, Cycle, Question


@dataclass(frozen=True)
class Run:
    """One running cycle."""

    parts: CycleParts
    cycle: Cycle
    plan: CyclePlan
    board: Board
    evaluator: Evaluator

    @property
    def layer(self) -> Layer:
        return next(layer for layer in LAYERS if layer == self.cycle.layer)

    @property
    def incumbent_genome(self) -> Genome:
        return self.plan.genomes.of(self.layer)

    def contender(self, genome_id: UUID, genome: Genome) -> Contender:
        """Put a genome of this cycle's layer into the snapshot that the cycle works under."""
        return Contender(genome_id, genome_name(genome), self.plan.genomes.with_genome(genome))

    def pay_for_mutation(self, number: int) -> AbstractContextManager[None]:
        """Book what variant `number` costs, under a key that a resumed cycle finds again."""
        key = hash_key(str(self.cycle.id), "mutate", number)
        return paying_for(PaidScope(self.parts.tenant, self.cycle.id, key, "mutate"))

    async def load_questions(self, ids: Sequence[UUID]) -> list[Question]:
        """Give the questions in the order of `ids`. Raises Conflict where one is gone."""
        async with self.parts.db.transaction(self.parts.tenant) as tx:
            rows = await tx.scalars(select(Question).where(Question.id.in_(ids)))
            by_id = {row.id: row for row in rows}
        if missing := [i for i in ids if i not in by_id]:
            raise Conflict(f"{len(missing)} questions of this cycle were deleted meanwhile")
        return [by_id[i] for i in ids]

    async def keep_end(self, ended: SearchEnd) -> None:
        """Write down that the search has ended, and how."""
        async with self.parts.db.transaction(self.parts.tenant) as tx:
            cycle = await tx.get_one(Cycle, self.cycle.id)
            cycle.plan = cycle.plan | {"ended": ended.model_dump(mode="json")}

    async def check_corpus(self) -> None:
        """Raise Conflict where the corpus is no longer the one that the plan has pinned."""
        async with self.parts.db.transaction(self.parts.tenant) as tx:
            query = select(Corpus.version).filter_by(id=self.parts.scope.corpus_id)
            version = await tx.scalar(query)
        if version != self.plan.corpus_version:
            raise Conflict(
                "the corpus changed while this cycle ran, so that its answers cannot be "
                "compared: start a new cycle"
            )
