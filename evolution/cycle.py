"""One cycle: generate_mutations -> eval_genome -> promote_best, for one layer and domain."""

import time
from uuid import UUID

from evolution.allotment import plan_budget
from evolution.breeding.gene_bank import bank_genes
from evolution.breeding.population import Population, open_population
from evolution.breeding.reflecting import make_reflection
from evolution.breeding.worths import measure_all
from evolution.buying.calls import book_lost
from evolution.buying.replay import make_evaluator
from evolution.finish import finish_cycle
from evolution.genomes import load_row, move
from evolution.parts import CycleParts
from evolution.plan import make_plan
from evolution.progress import Board
from evolution.questions import book_search
from evolution.running import Run
from evolution.search.effort import Effort
from evolution.searching import search
from evolution.shapes import CyclePlan, CycleResult
from evolution.shortfall import end_short, within_time
from evolution.store import load_cycle, mark_done, mark_failed, mark_running, mark_stopped
from kit.errors import BudgetExhausted, Conflict, GenomaError, Stopped, Unavailable
from models.lifecycle import Status
from models.tables import Cycle


async def run_cycle(parts: CycleParts, cycle_id: UUID) -> CycleResult:
    """Run a queued cycle, or go on with one that was killed or failed; give its result.

    It runs on the database of whoever holds it (`evolution.lease.hold`). Raises Conflict where
    another process takes it over or the corpus changes meanwhile, ProviderError where models
    are out of reach: the cycle is then `failed` with its cause, and all that was paid is kept
    for the next run of it. Raises Stopped where a person has paused or cancelled it.
    """
    async with parts.db.transaction(parts.tenant) as tx:
        cycle = await load_cycle(tx, cycle_id)
    if cycle.result is not None:
        return CycleResult.model_validate(cycle.result)
    try:
        run = await _begin(parts, cycle)
        async with within_time(parts, cycle_id):
            return await _run(run)
    except Unavailable:
        raise  # nothing can be written down now; whoever runs it comes again
    except Stopped as stopped:
        async with parts.db.transaction(parts.tenant) as tx:
            await mark_stopped(tx, cycle_id, stopped.wish, parts.clock.now())
        raise
    except BudgetExhausted as error:
        return await end_short(parts, cycle_id, error)
    except GenomaError as error:
        async with parts.db.transaction(parts.tenant) as tx:
            await mark_failed(tx, cycle_id, str(error), parts.clock.now())
        raise


async def _begin(parts: CycleParts, cycle: Cycle) -> Run:
    """Start, or pick up what a killed run left: the plan stays, lost calls are booked."""
    async with parts.db.transaction(parts.tenant) as tx:
        row = await load_cycle(tx, cycle.id)
        await mark_running(tx, cycle.id, row.started_at or parts.clock.now())
        if not row.plan:
            row.plan = (await make_plan(tx, parts, row)).model_dump(mode="json")
        plan = CyclePlan.model_validate(row.plan)
        await book_search(tx, parts.tenant, row.id, row.domain, plan.layer, plan.search_questions)
        await book_lost(tx, parts.tenant, row.id)
    _check_models(parts, plan)
    board = Board(parts.db, parts.tenant, cycle.id)
    return Run(parts, row, plan, board, make_evaluator(parts, row, board.count))


def _check_models(parts: CycleParts, plan: CyclePlan) -> None:
    if parts.models != plan.models:
        raise Conflict("the models changed since this cycle was planned: start a new cycle")


async def _run(run: Run) -> CycleResult:
    """The cycle itself: look for something better, prove it, and remember all of it."""
    started = time.monotonic()
    await run.check_corpus()
    await run.board.show(phase="starting", planned=run.cycle.budget, note=run.plan.note)
    population = await open_population(run)
    questions = await run.load_questions(run.plan.search_questions)
    standing = await search(
        run, population, questions, await make_reflection(run), _effort(run, len(questions))
    )
    await _mark_evaluated(run, population)
    await run.check_corpus()
    result = await finish_cycle(run, standing)
    return await _close(run, population, result, time.monotonic() - started)


def _effort(run: Run, questions: int) -> Effort:
    """Divide the budget: the proof's part is kept, the search has the rest."""
    cycle, confirm = run.cycle, len(run.plan.confirm_questions)
    return plan_budget(
        run.layer, cycle.budget, cycle.max_mutations, questions, confirm, run.plan.concurrency
    ).effort


async def _mark_evaluated(run: Run, population: Population) -> None:
    async with run.parts.db.transaction() as tx:
        for member in population.candidates:
            row = await load_row(tx, member.row.id, lock=True)
            if row.status is Status.CANDIDATE:
                move(row, Status.EVALUATED)


async def _close(
    run: Run, population: Population, result: CycleResult, seconds: float
) -> CycleResult:
    """Write the result down, and in the same step what the night has learned of each gene."""
    result = result.model_copy(update={"seconds": round(seconds, 1)})
    await run.board.show(phase="done")
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        await book_lost(tx, run.parts.tenant, run.cycle.id)
        await bank_genes(tx, run.cycle.domain, run.layer, run.cycle.id, measure_all(population))
        await mark_done(tx, run.cycle.id, result, run.parts.clock.now())
    return result
