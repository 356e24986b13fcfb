"""One cycle: generate_mutations -> eval_genome -> promote_best, for one layer and domain."""

import random
import time
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select

from evolution.allotment import plan_budget, rung_blocks
from evolution.calls import book_lost
from evolution.evaluate import Evaluator
from evolution.evidence import Evidence, load_failures
from evolution.finish import Standing, finish_cycle
from evolution.genomes import Origin, add_genome, load_row, move
from evolution.mutate import Mutation, generate_mutations
from evolution.parts import CycleParts
from evolution.plan import make_plan
from evolution.progress import Board
from evolution.questions import book_search
from evolution.race import Lane, line_of, run_race
from evolution.replay import ReplayEvaluator
from evolution.running import Run
from evolution.shapes import CyclePlan, CycleResult, Refusal
from evolution.shortfall import end_short, within_time
from evolution.store import load_cycle, mark_done, mark_failed, mark_running, mark_stopped
from kit.errors import BudgetExhausted, Conflict, GenomaError, Stopped, Unavailable
from models.lifecycle import Status
from models.tables import Cycle, EvolutionGenome, Question


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
    make_evaluator = ReplayEvaluator if plan.layer == "cache_policy" else Evaluator
    return Run(parts, row, plan, board, make_evaluator(parts, cycle.id, board.count))


def _check_models(parts: CycleParts, plan: CyclePlan) -> None:
    if parts.models != plan.models:
        raise Conflict("the models changed since this cycle was planned: start a new cycle")


async def _run(run: Run) -> CycleResult:
    started = time.monotonic()
    await run.check_corpus()
    questions = await run.load_questions(run.plan.search_questions)
    incumbent = await _baseline(run, questions)
    budget = plan_budget(
        run.layer,
        run.cycle.budget,
        run.cycle.max_mutations,
        len(questions),
        len(run.plan.confirm_questions),
    )
    mutations, refused = await _mutate(run, budget.proposals)
    lanes = await _store_candidates(run, mutations)
    await run.board.show(phase="searching")
    order = await run_race(
        run.evaluator, run.layer, incumbent, lanes, questions, budget.search, run.board
    )
    await _mark_evaluated(run, lanes)
    await run.check_corpus()
    standing = Standing(incumbent, order, len(lanes), tuple(refused))
    result = await finish_cycle(run, standing)
    return await _close(run, result, time.monotonic() - started)


async def _baseline(run: Run, questions: Sequence[Question]) -> Lane:
    """Let the incumbent answer the first rung, so that the mutator reads where it is weak."""
    await run.board.show(phase="starting", planned=run.cycle.budget, note=run.plan.note)
    contender = run.contender(run.plan.incumbent_id, run.incumbent_genome)
    first = [questions[i] for i in rung_blocks(len(questions))[0]]
    await run.evaluator.eval_genome(contender, first, "search")
    async with run.parts.db.transaction() as tx:
        row = await load_row(tx, run.plan.incumbent_id)
    lane = Lane(row, contender)
    await run.board.show_candidate(line_of(lane, "incumbent", None))
    return lane


async def _mutate(run: Run, count: int) -> tuple[list[Mutation], list[Refusal]]:
    await run.board.show(phase="mutating")
    parts, plan = run.parts, run.plan
    async with parts.db.transaction(parts.tenant) as tx:
        failures = await load_failures(tx, run.cycle.id, plan.incumbent_id)
        others = EvolutionGenome.cycle_id.is_distinct_from(run.cycle.id)
        seen = select(EvolutionGenome.content_hash).filter_by(
            domain=run.cycle.domain, layer=run.layer
        )
        known = frozenset(await tx.scalars(seen.where(others)))
    mutations, refused = await generate_mutations(
        run.incumbent_genome,
        Evidence(failures=failures, dialogues=plan.dialogues, tried=plan.tried),
        count,
        model=parts.mutator,
        inert=parts.inert_genes,
        known=known,
        rng=random.Random(run.cycle.seed),
        pay=run.pay_for_mutation,
    )
    if not mutations:
        cause = refused[0].reason if refused else "every neighbour was tried before"
        raise Conflict(f"no candidate could be made: {cause}")
    return mutations, refused


async def _store_candidates(run: Run, mutations: Sequence[Mutation]) -> list[Lane]:
    lanes = []
    async with run.parts.db.transaction() as tx:
        for mutation in mutations:
            origin = Origin(
                operator=mutation.operator,
                notes=mutation.notes,
                parent_id=run.plan.incumbent_id,
                cycle_id=run.cycle.id,
            )
            row, _ = await add_genome(tx, run.cycle.domain, mutation.genome, origin)
            lanes.append(Lane(row, run.contender(row.id, mutation.genome)))
    for lane in lanes:
        await run.board.show_candidate(line_of(lane, "racing", None))
    return lanes


async def _mark_evaluated(run: Run, lanes: Sequence[Lane]) -> None:
    async with run.parts.db.transaction() as tx:
        for lane in lanes:
            row = await load_row(tx, lane.row.id, lock=True)
            if row.status is Status.CANDIDATE:
                move(row, Status.EVALUATED)


async def _close(run: Run, result: CycleResult, seconds: float) -> CycleResult:
    result = result.model_copy(update={"seconds": round(seconds, 1)})
    await run.board.show(phase="done")
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        await book_lost(tx, run.parts.tenant, run.cycle.id)
        await mark_done(tx, run.cycle.id, result, run.parts.clock.now())
    return result
