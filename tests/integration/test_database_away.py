"""The database is gone for seconds in the middle of a cycle: nothing is lost or changed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from sqlalchemy import select
from sqlalchemy.engine import make_url

from evolution.cycle import run_cycle
from evolution.fakes import PlantedAnswers, PlantedJudge
from evolution.lease import hold
from evolution.shapes import CycleResult
from judge.port import Exam
from judge.verdict import Verdict
from kit.db import Database
from kit.errors import Conflict, Unavailable
from lab.database import DatabaseUrls
from models.contract import Answer, Reference
from models.genome import GenomeSet
from models.tables import DEFAULT_TENANT, Cycle, EvolutionEvalResult, PaidAnswer
from pipeline.state import State
from tests.support.planted_world import World, fewer_fragments_are_better, make_world


@dataclass
class Outside:
    """What reaches the server past the lab: takes one database away and brings it back."""

    urls: DatabaseUrls

    async def cut(self) -> None:
        """Let nobody in, and throw everybody out."""
        await self._alter(allow=False)

    async def mend(self) -> None:
        await self._alter(allow=True)

    async def _alter(self, *, allow: bool) -> None:
        assert self.urls.embedded is not None and self.urls.owner is not None
        name = make_url(self.urls.owner).database or ""
        statement = sql.SQL("alter database {} with allow_connections {}").format(
            sql.Identifier(name), sql.Literal(allow)
        )
        url = self.urls.embedded.url("postgres")
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(statement)
            if not allow:
                ends = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
                await connection.execute(ends, (name,))


@dataclass
class CuttingAnswers(PlantedAnswers):
    """Loses the database at some of its calls, and gets it back after a while."""

    outside: Outside | None = None
    cuts: tuple[int, ...] = ()
    mending: list[asyncio.Task[None]] = field(default_factory=list)

    async def __call__(self, question: str, genomes: GenomeSet) -> State:
        state = await super().__call__(question, genomes)
        if self.calls in self.cuts and self.outside:
            await self.outside.cut()
            self.mending.append(asyncio.create_task(self._mend_later(self.outside)))
        return state

    async def _mend_later(self, outside: Outside) -> None:
        await asyncio.sleep(10 if settings.get_current_profile_name() == "soak" else 2)
        await outside.mend()


async def run_until_done(world: World, **order: object) -> tuple[CycleResult, int]:
    """Run a cycle as a worker does: who finds the database away comes again."""
    cycle_id, away = await world.order(**order), 0
    while True:
        try:
            async with hold(world.db, DEFAULT_TENANT, cycle_id, "test") as leased:
                return await run_cycle(replace(world.parts, db=leased), cycle_id), away
        except (Unavailable, Conflict):
            away += 1
            await asyncio.sleep(0.3)


@pytest.fixture
async def outside(database_urls: DatabaseUrls) -> AsyncIterator[Outside]:
    door = Outside(database_urls)
    yield door
    await door.mend()


async def test_a_database_away_for_seconds_changes_no_score_and_repeats_no_committed_call(
    db: Database, outside: Outside
) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    scope, quality = world.parts.scope, fewer_fragments_are_better
    answers = CuttingAnswers(scope, quality, outside=outside, cuts=(8, 25))
    world = replace(world, parts=replace(world.parts, answer=answers), answers=answers)
    result, away = await run_until_done(world, budget=300, max_mutations=3)
    await asyncio.gather(*answers.mending)
    assert len(answers.mending) == 2
    assert away > 2
    assert result.tried == 3
    async with db.transaction(DEFAULT_TENANT) as tx:
        rows = list(await tx.scalars(select(EvolutionEvalResult)))
        paid = len(list(await tx.scalars(select(PaidAnswer.key))))
        cycle = (await tx.scalars(select(Cycle))).one()
    lost_at_most = len(answers.cuts) * world.parts.concurrency
    assert paid <= answers.calls <= paid + lost_at_most
    assert (cycle.status, cycle.reserved) == ("done", 0)
    assert cycle.spent <= cycle.budget
    assert [row.judge_score for row in rows] == pytest.approx([await worth(r) for r in rows])


async def worth(row: EvolutionEvalResult) -> float:
    """What this answer gets where no database ever goes away."""
    exam = Exam(row.query, "en", Answer(answer=row.response), (), Reference())
    verdict = await PlantedJudge(noise=0.8).judge(exam)
    assert isinstance(verdict, Verdict)
    return verdict.score
