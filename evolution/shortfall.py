"""How a cycle ends whose budget is used up: honestly, on what it has, and never as a failure."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.breeding.gains import MeasuredGain, load_gains
from evolution.buying.budget import load_seconds_left
from evolution.buying.calls import book_lost
from evolution.buying.limits import ran_for
from evolution.genomes import load_row, move
from evolution.parts import CycleParts
from evolution.proof.book import close_proof
from evolution.shapes import CyclePlan, CycleResult
from evolution.store import mark_done
from kit.errors import BudgetExhausted
from models.genome import short_name
from models.lifecycle import Status
from models.tables import Approval, Cycle, EvolutionEvalResult, EvolutionGenome, ProofEntry


@asynccontextmanager
async def within_time(parts: CycleParts, cycle_id: UUID) -> AsyncIterator[None]:
    """Break a block off when the cycle's wall time is over, whatever it waits for.

    Raises BudgetExhausted then: calls under way are booked as lost when the cycle ends.
    """
    async with parts.db.transaction(parts.tenant) as tx:
        left = await load_seconds_left(tx, cycle_id)
    try:
        async with asyncio.timeout(left) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise BudgetExhausted("the cycle's budget of wall time is used up") from error


async def end_short(parts: CycleParts, cycle_id: UUID, error: BudgetExhausted) -> CycleResult:
    """End a cycle that can buy nothing more; give its result.

    Candidates that were answered count as evaluated, and a proof that was under way has not
    proven anything: its error rate is spent. What was paid for is in the store, where the next
    cycle finds it.
    """
    async with parts.db.transaction(parts.tenant) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
        if cycle.result is not None:
            return CycleResult.model_validate(cycle.result)  # it ended in the very last moment
        plan = CyclePlan.model_validate(cycle.plan)
        tried = await _close_candidates(tx, cycle_id, plan.incumbent_id)
        gains = await load_gains(tx, cycle.domain, plan.layer)
        in_proof = await _close_proofs(tx, cycle_id)
        promoted = await tx.scalar(select(Approval).filter_by(cycle_id=cycle_id))
        best = _best(tried, gains)
        result = CycleResult(
            outcome="nothing_better",
            sentence=_sentence(error, len(tried)),
            tried=len(tried),
            seconds=round(ran_for(cycle, parts.clock.now()), 1),
        )
        if best is not None:
            result = _with_best(result, tried[best], best, gains[best], in_proof)
        if promoted is not None:
            words = f"{promoted.evidence['sentence']} Then {error}."
            result = result.model_copy(update={"outcome": "promoted", "sentence": words})
        cycle.progress = cycle.progress | {"phase": "done"}
        await book_lost(tx, parts.tenant, cycle_id)
        await mark_done(tx, cycle_id, result, parts.clock.now())
    return result


async def _close_candidates(
    tx: AsyncSession, cycle_id: UUID, incumbent_id: UUID
) -> dict[UUID, str]:
    """Mark what was answered as evaluated; give the names of these candidates."""
    answered = select(EvolutionEvalResult.genome_id).filter_by(cycle_id=cycle_id)
    others = EvolutionEvalResult.genome_id != incumbent_id
    names = {}
    for genome_id in await tx.scalars(answered.where(others).distinct()):
        row = await load_row(tx, genome_id, lock=True)
        if row.status is Status.CANDIDATE:
            move(row, Status.EVALUATED)
        names[genome_id] = short_name(row.content_hash)
    return names


async def _close_proofs(tx: AsyncSession, cycle_id: UUID) -> tuple[str, int] | None:
    """Close the proofs that were under way; give the name and number of pairs of the first."""
    entries = select(ProofEntry).filter_by(cycle_id=cycle_id).order_by(ProofEntry.number)
    opened = [entry for entry in await tx.scalars(entries) if entry.proven is None]
    for entry in opened:
        await close_proof(tx, cycle_id, entry.genome_id, proven=False)
    if not opened:
        return None
    row = await tx.get_one(EvolutionGenome, opened[0].genome_id)
    confirm = select(func.count()).select_from(EvolutionEvalResult)
    mine = confirm.filter_by(cycle_id=cycle_id, genome_id=row.id, phase="confirm")
    return short_name(row.content_hash), await tx.scalar(mine) or 0


def _best(names: Mapping[UUID, str], gains: Mapping[UUID, MeasuredGain]) -> UUID | None:
    """Give who gained most; of equals the name decides, which says what a genome is."""
    measured = [genome_id for genome_id in names if genome_id in gains]
    return max(measured, key=lambda each: (gains[each].mean, names[each]), default=None)


def _sentence(error: BudgetExhausted, tried: int) -> str:
    words = str(error)
    return f"{words[0].upper()}{words[1:]}: {tried} candidate{'s' if tried != 1 else ''} tried."


def _with_best(
    result: CycleResult,
    name: str,
    genome_id: UUID,
    gain: MeasuredGain,
    in_proof: tuple[str, int] | None,
) -> CycleResult:
    if in_proof:
        where = f"the proof of {in_proof[0]} had {in_proof[1]} questions, too few to prove it"
    else:
        where = "nothing was proven"
    sentence = f"{result.sentence[:-1]}; the best, {name}, differs by {gain}; {where}."
    looks_better = gain.error is not None and gain.mean > gain.error
    return result.model_copy(
        update={
            "outcome": "explored" if looks_better and not in_proof else "nothing_better",
            "sentence": sentence,
            "finalist_id": genome_id,
            "finalist": name,
            "search_gain": gain.mean,
        }
    )
