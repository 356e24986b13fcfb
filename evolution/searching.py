"""The search of a cycle: round after round, until its part of the budget is spent."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from uuid import UUID

from evolution.allotment import baseline_cost
from evolution.breeding.mutate import Planned, enrol, generate_mutations, plan_check
from evolution.breeding.population import DEAREST, Member, Population, View
from evolution.breeding.reflection import Reflection
from evolution.front import is_affordable, is_saving, pareto_front
from evolution.proof.claims import TradeRule
from evolution.running import Run
from evolution.search.effort import Effort
from evolution.search.searcher import CAUTION, LEAST_GAIN, SURE
from evolution.shapes import Nomination, Refusal, SearchEnd
from evolution.standing import Finalist, Standing, gains_of, lines_of
from kit.errors import BudgetExhausted, Conflict
from models.tables import Question

FRONT_SHOWN = 24
RULE = TradeRule()


async def search(
    run: Run,
    population: Population,
    questions: Sequence[Question],
    reflection: Reflection | None,
    effort: Effort,
) -> Standing:
    """Run the rounds and the last check; say who is to be proven. Raises like `eval_all`.

    How it ended is kept: what a proof may spend then is not searched with by a resumed cycle.
    """
    if run.plan.ended is not None:
        return await _recall(run, population, run.plan.ended)
    by_id = {question.id: question for question in questions}
    spent = 0
    try:
        for number in count():
            left = _left(run, population, effort, spent) if number else effort
            trials = await generate_mutations(population, reflection, number, left)
            if number and not trials:
                break
            spent += await _evaluate(run, population, trials, by_id)
        check = min(effort.check, effort.answers - spent)
        await _check(run, population, by_id, replace(effort, check=check))
    except BudgetExhausted as error:
        if not error.kept:
            raise
    ended = await _end(population, reflection)
    await run.keep_end(ended)
    return _stand(population, ended)


def _left(run: Run, population: Population, effort: Effort, spent: int) -> Effort:
    """What the next round may spend; a round of 0 answers ends the search."""
    reserved = population.view().search.reserve(effort)
    more = max(0, run.cycle.max_mutations - len(population.candidates))
    size = min(effort.round, effort.answers - spent - reserved, more * effort.per_trial)
    return replace(effort, round=size if size >= effort.per_trial else 0)


async def _evaluate(
    run: Run, population: Population, trials: Sequence[Planned], by_id: dict[UUID, Question]
) -> int:
    """Buy the answers of a round; give the number of judged answers it counts for."""
    work = [(t.member.contender, [by_id[q] for q in t.question_ids if q in by_id]) for t in trials]
    results = await run.evaluator.eval_trials(work, "search")
    for trial, scored in zip(trials, results, strict=True):
        trial.member.answers |= {result.question_id: result for result in scored}
    await _show(run, population)
    return sum(len(t.question_ids) * _price(run, population, t) for t in trials)


async def _show(run: Run, population: Population) -> None:
    await run.board.show(
        phase="searching",
        tried=len(population.candidates),
        candidates=lines_of(population, population.view()),
    )


def _price(run: Run, population: Population, trial: Planned) -> int:
    return baseline_cost(run.layer) if trial.member is population.incumbent else 1


async def _check(
    run: Run, population: Population, by_id: dict[UUID, Question], effort: Effort
) -> None:
    """Let the finalists answer what the incumbent has answered."""
    if population.view().search.observations and effort.check:
        await _evaluate(run, population, await plan_check(population, effort), by_id)


async def _recall(run: Run, population: Population, ended: SearchEnd) -> Standing:
    """Give the standing of a search that a former run has ended; nothing is bought."""
    await population.recall(ended.best.genome_id if ended.best else None)
    await _show(run, population)
    return _stand(population, ended)


async def _end(population: Population, reflection: Reflection | None) -> SearchEnd:
    view = population.view()
    if not view.search.observations:
        raise Conflict("not one answer of this cycle could be judged: nothing can be compared")
    best, is_promising = await _nominate(population, view)
    gains = gains_of(list(population.members.values()), view)
    return SearchEnd(
        best=_nomination(best) if best else None,
        is_promising=is_promising,
        refused=tuple(
            Refusal(operator=note.operator, reason=note.reason)
            for note in (reflection.notes if reflection else ())
        ),
        front=pareto_front(gains[:FRONT_SHOWN]),
        raced=view.search.races,
    )


def _nomination(best: Finalist) -> Nomination:
    return Nomination(
        genome_id=best.member.row.id,
        claim=best.claim,
        gain=best.gain,
        error=best.error,
        cost=best.cost,
    )


def _stand(population: Population, ended: SearchEnd) -> Standing:
    return Standing(
        incumbent=population.incumbent,
        best=_finalist_of(population, ended.best) if ended.best else None,
        is_promising=ended.is_promising,
        tried=len(population.candidates),
        answers=sum(len(member.scores) for member in population.members.values()),
        refused=ended.refused,
        front=ended.front,
        raced=ended.raced,
    )


def _finalist_of(population: Population, best: Nomination) -> Finalist:
    member = population.members[best.genome_id]
    return Finalist(member, best.claim, best.gain, best.error, best.cost)


async def _nominate(population: Population, view: View) -> tuple[Finalist | None, bool]:
    """Choose who is put up as better; else who is as good and cheaper; else only the best seen."""
    ours = population.incumbent
    nominee = view.search.decide()
    member = await enrol(population, view, nominee.point) if nominee.is_promising else None
    if member is not None and is_affordable(member, ours, RULE):
        return Finalist(member, "better", nominee.gain, nominee.error), True
    known = [f for m in population.candidates if (f := _finalist(view, m)) is not None]
    good = [
        f
        for f in known
        if _is_promising(f) and f.cost <= DEAREST and is_affordable(f.member, ours, RULE)
    ]
    cheap = [
        replace(f, claim="cheaper")
        for f in known
        if _surely(f) > -RULE.quality_loss / 2
        and f.cost <= 1 - RULE.cost_saving
        and is_saving(f.member, ours, RULE)
    ]
    chosen = (good if not view.search.races else []) or cheap
    return max(chosen or known, key=_surely, default=None), bool(chosen)


def _surely(finalist: Finalist) -> float:
    return finalist.gain - CAUTION * finalist.error


def _is_promising(finalist: Finalist) -> bool:
    return finalist.gain >= max(LEAST_GAIN, SURE * finalist.error)


def _finalist(view: View, member: Member) -> Finalist | None:
    point = view.space.point_of(member.genome)
    if point is None or point in view.search.barred or point == view.space.origin:
        return None
    gain, error = view.search.model.gain([point])
    cost = view.search.cost_ratios([point])
    return Finalist(member, "better", float(gain[0]), float(error[0]), float(cost[0]))
