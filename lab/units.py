"""Units of evaluation as jobs: handed out by whoever runs a cycle, done on any machine."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from uuid import UUID

from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.hands import Desk, Desks, run_all_of
from evolution.buying.replay import make_evaluator
from evolution.buying.results import Scored
from evolution.genomes import load_row
from evolution.lease import LeasedDatabase, join
from evolution.parts import DoUnit, Phase, Unit
from evolution.shapes import CyclePlan
from evolution.store import load_cycle
from kit.errors import Unavailable
from lab.wiring import Lab, make_cycle_parts
from models.genome import genome_name
from models.tables import Question
from models.upgrade import load_genome

QUEUE = "units"
TASK = "evaluate_unit"
LOOK_EVERY_S = 0.1
SWEEP_EVERY_S = 2.0
MOST_CYCLES = 4
"""Cycles of others whose parts a process keeps at hand."""

_DONE = text("""
    select genome_id, question_id from evolution_eval_result
    where cycle_id = :cycle and phase = :phase
      and genome_id = any(:genomes) and question_id = any(:questions)
""")
_CLAIM = text("""
    delete from procrastinate_jobs where queueing_lock = :lock and status = 'todo' returning id
""")
_ALIVE = text("""
    select j.queueing_lock from procrastinate_jobs j
    left join procrastinate_workers w on w.id = j.worker_id
    where j.task_name = 'evaluate_unit' and j.queueing_lock like :prefix
      and (j.status = 'todo'
           or j.status = 'doing' and w.last_heartbeat > now() - interval '15 seconds')
""")


class QueuedHands:
    """This process and all others that work for the lab: what is not begun here is a job."""

    def __init__(
        self, jobs: App, desks: Desks, db: LeasedDatabase, tenant: UUID, cycle_id: UUID, here: int
    ) -> None:
        self._jobs = jobs
        self._desks = desks
        self._db = db
        self._tenant = tenant
        self._cycle_id = cycle_id
        self._here = here
        self._slots = asyncio.Semaphore(here)

    async def evaluate(self, units: Sequence[Unit], do: DoUnit) -> None:
        """See `evolution.parts.Hands`. What another process has lost is done here."""
        desk = Desk(units, do, self._slots)
        with self._desks.at(self._cycle_id, desk):
            async with self._db.transaction(self._tenant) as tx:
                await self._hand_out(tx, units[self._here :])
            own = [desk.do(unit) for unit in units[: self._here]]
            shared = [desk.do(unit, self._claim) for unit in units[self._here :]]
            await run_all_of([*own, *shared])
            await self._wait(desk)
        desk.check()

    async def _wait(self, desk: Desk) -> None:
        """Wait for what others have taken."""
        swept, lost = time.monotonic(), False
        while desk.waits:
            desk.close(await self._done(desk.elsewhere))
            if time.monotonic() - swept > SWEEP_EVERY_S:
                left = await self._without_job(desk.elsewhere)
                lost = lost or bool(left)
                await run_all_of(desk.do(unit) for unit in left)
                swept = time.monotonic()
            if desk.waits:
                await desk.wait(LOOK_EVERY_S)
        if lost:
            await self._db.shake_off()

    async def _hand_out(self, tx: AsyncSession, units: Iterable[Unit]) -> None:
        """Queue units, but for those whose job an earlier run of the cycle has left."""
        there = await self._alive(tx)
        new = [self._job(unit) for unit in units if self._lock(unit) not in there]
        if new:
            raw = await (await tx.connection()).get_raw_connection()
            try:
                await self._jobs.job_manager.batch_defer_jobs_async(new, raw.driver_connection)
            except ConnectorException as error:
                raise Unavailable("the queue is out of reach") from error

    def _job(self, unit: Unit) -> Job:
        job = self._jobs.configure_task(TASK, queue=QUEUE, queueing_lock=self._lock(unit))
        return job.make_new_job(
            tenant=str(self._tenant),
            cycle=str(self._cycle_id),
            genome=str(unit.genome_id),
            questions=[str(each) for each in unit.question_ids],
            phase=unit.phase,
        )

    def _lock(self, unit: Unit) -> str:
        return f"{self._cycle_id}:{unit.phase}:{unit.genome_id}:{unit.question_ids[0]}"

    async def _claim(self, unit: Unit) -> bool:
        """Take a unit's job out of the queue, if nobody has begun it."""
        async with self._db.transaction(self._tenant) as tx:
            return (await tx.execute(_CLAIM, {"lock": self._lock(unit)})).first() is not None

    async def _done(self, units: Sequence[Unit]) -> list[Unit]:
        """Give those of `units` whose results are stored."""
        if not units:
            return []
        asked = {
            "cycle": self._cycle_id,
            "phase": units[0].phase,
            "genomes": list({unit.genome_id for unit in units}),
            "questions": list({q for unit in units for q in unit.question_ids}),
        }
        async with self._db.transaction(self._tenant) as tx:
            stored = {tuple(row) for row in await tx.execute(_DONE, asked)}
        return [u for u in units if all((u.genome_id, q) in stored for q in u.question_ids)]

    async def _without_job(self, units: Sequence[Unit]) -> list[Unit]:
        """Give those of `units` that nobody will do: their job is gone, or its worker is dead."""
        async with self._db.transaction(self._tenant) as tx:
            there = await self._alive(tx)
        return [unit for unit in units if self._lock(unit) not in there]

    async def _alive(self, tx: AsyncSession) -> set[str]:
        rows = await tx.scalars(_ALIVE, {"prefix": f"{self._cycle_id}:%"})
        return set(rows)


class Helpers:
    """What this process has at hand to do units of cycles that others run."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._making = asyncio.Lock()
        self._known: dict[tuple[UUID, int], Helper] = {}

    async def do(self, tenant: UUID, cycle_id: UUID, unit: Unit) -> None:
        """Do a unit for whoever holds its cycle; nobody waits for it where nobody does."""
        db = await join(self._lab.db, tenant, cycle_id)
        if db is not None:
            helper = await self._find(db, tenant, cycle_id)
            await helper.do(unit)

    async def _find(self, db: LeasedDatabase, tenant: UUID, cycle_id: UUID) -> "Helper":
        key = (cycle_id, db.fence)
        async with self._making:
            if key not in self._known:
                self._known[key] = await make_helper(self._lab, db, tenant, cycle_id)
                for oldest in list(self._known)[:-MOST_CYCLES]:
                    del self._known[oldest]
            return self._known[key]


class Helper:
    """The parts of one cycle in a process that does units for it."""

    def __init__(self, evaluator: Evaluator, plan: CyclePlan) -> None:
        self._evaluator = evaluator
        self._plan = plan

    async def do(self, unit: Unit) -> None:
        """Do a unit under the fence of the cycle's present holder."""
        parts = self._evaluator.parts
        async with parts.db.transaction(parts.tenant) as tx:
            genome = load_genome((await load_row(tx, unit.genome_id)).content)
            rows = await tx.scalars(select(Question).where(Question.id.in_(unit.question_ids)))
            by_id = {row.id: row for row in rows}
        contender = Contender(
            unit.genome_id, genome_name(genome), self._plan.genomes.with_genome(genome)
        )
        if all(each in by_id for each in unit.question_ids):  # else its holder will say so
            questions = [by_id[each] for each in unit.question_ids]
            await self._evaluator.help(contender, questions, unit.phase)


async def make_helper(lab: Lab, db: LeasedDatabase, tenant: UUID, cycle_id: UUID) -> Helper:
    """Make the parts of a cycle that another process runs."""
    async with db.transaction(tenant) as tx:
        cycle = await load_cycle(tx, cycle_id)
    parts = await make_cycle_parts(lab, db, tenant, cycle_id)
    return Helper(make_evaluator(parts, cycle, _tell_nobody), CyclePlan.model_validate(cycle.plan))


async def _tell_nobody(_: Scored) -> None:
    """Who runs the cycle reads the results in the store."""


def read_unit(genome: str, questions: Sequence[str], phase: Phase) -> Unit:
    """Read a unit from the arguments of its job."""
    return Unit(UUID(genome), tuple(map(UUID, questions)), phase)
