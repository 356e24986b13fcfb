"""generate_mutations: the next genomes to try, refused before any is paid for where not valid."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Executable, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.breeding.crossover import common_ancestor, cross
from evolution.breeding.frontier import Scores, draw_parent
from evolution.breeding.population import Member, Population, View
from evolution.breeding.proposals import OPERATOR, Mode
from evolution.breeding.reflecting import gather_evidence, recall_proposal
from evolution.breeding.reflection import Reflection
from evolution.genomes import Origin, add_genome
from evolution.search.effort import Effort
from evolution.search.searcher import Trial
from evolution.search.space import Point
from kit.errors import BadInput
from models.diff import changed_genes
from models.genome import Genome, content_hash
from models.tables import EvolutionGenome
from models.tables import Trial as TrialRow
from models.upgrade import load_genome

MAX_NOTE_CHARS = 500
MOST_A_ROUND = 1_000
CHECK_ROUND = 1_000_000
"""Number of the last round, whatever number the one before it had."""


@dataclass(frozen=True)
class Child:
    """A genome to be tried, and where it comes from."""

    genome: Genome
    operator: str
    notes: str
    parent_id: UUID
    mate_id: UUID | None = None


@dataclass(frozen=True)
class Planned:
    """A trial that is stored: a genome and the questions that it is put to."""

    member: Member
    question_ids: tuple[UUID, ...]


async def generate_mutations(
    population: Population, reflection: Reflection | None, number: int, effort: Effort
) -> list[Planned]:
    """Make the trials of round `number`, and store them before the first is answered.

    The mutator model and crossover bring a child each at most; the surrogate's draws fill the
    round. Round 0 is the incumbent's own, with random designs where no night came before. A
    resumed cycle takes the trials that are stored and asks nobody for them again. An empty list
    means that nothing is left to try. Raises ProviderError where the mutator is out of reach.
    """
    if stored := await _stored(population, number):
        if reflection is not None and number:
            operator = OPERATOR[_mode(number)]
            written = [t.member.genome for t in stored if t.member.row.operator == operator]
            await recall_proposal(population.run, reflection, number, operator, written)
        return stored
    if number and not (effort.round and population.view().search.observations):
        return []
    if number == 0:
        view = population.view()
        return await _store(population, view, view.search.open(effort), [], number)
    children = await _children(population, reflection, number)
    view = population.view([child.genome for child in children])
    points = view.points(child.genome for child in children)
    trials = await asyncio.to_thread(view.search.ask, number, effort, points)
    return await _store(population, view, trials, children, number)


async def plan_check(population: Population, effort: Effort) -> list[Planned]:
    """Make the last trials: the finalists answer what the incumbent has answered.

    Of those that this cycle has not tried yet there are as many as its cap leaves room for.
    """
    if stored := await _stored(population, CHECK_ROUND):
        return stored
    view = population.view()
    room, trials = _room(population), []
    for trial in view.search.check(effort):
        is_new = not view.at(trial.point)
        if room or not is_new:
            room -= is_new
            trials.append(trial)
    return await _store(population, view, trials, [], CHECK_ROUND)


async def enrol(population: Population, view: View, point: Point) -> Member | None:
    """Give the member at a point; take it in where it was not tried.

    None for the incumbent, and where the cycle has as many candidates as it may have.
    """
    if point == view.space.origin:
        return None
    if members := view.at(point):
        return members[0]
    child = _drawn(population, view, point, CHECK_ROUND) if _room(population) else None
    if child is None:
        return None
    async with population.run.parts.db.transaction(population.run.parts.tenant) as tx:
        row = await _row(tx, population, child)
    return population.add(row, child.genome)


def _room(population: Population) -> int:
    """Count the candidates that the cycle may still have."""
    return max(0, population.run.cycle.max_mutations - len(population.candidates))


async def _children(
    population: Population, reflection: Reflection | None, number: int
) -> list[Child]:
    rng = random.Random(f"{population.run.cycle.seed}:parents:{number}")
    written = await _reflect(population, reflection, number, rng)
    crossed = await _cross(population, rng)
    return [child for child in (written, crossed) if child is not None]


async def _reflect(
    population: Population, reflection: Reflection | None, number: int, rng: random.Random
) -> Child | None:
    """Let the mutator edit a parent off the frontier: one component, or all of them, in turn."""
    if reflection is None or reflection.gave_up:
        return None
    parent = _draw(population, rng)
    mode = _mode(number)
    evidence = await gather_evidence(
        population.run, parent.row.id, parent.genome, frozenset(parent.answers)
    )
    written = await reflection.propose(parent.genome, parent.row.id, evidence, number, mode)
    if written is None:
        return None
    return Child(written.genome, written.operator, written.notes, parent.row.id)


def _mode(number: int) -> Mode:
    return "component" if number % 2 else "all"


async def _cross(population: Population, rng: random.Random) -> Child | None:
    """Cross two parents off the frontier where each has something that the other lacks."""
    a, b = _draw(population, rng), _draw(population, rng)
    if a is b:
        return None
    async with population.run.parts.db.transaction() as tx:
        ancestor = await common_ancestor(tx, a.row.id, b.row.id)
    if ancestor is None:
        return None
    try:
        child = cross(a.genome, b.genome, load_genome(ancestor.content))
    except BadInput:
        return None  # two valid genomes can have no valid child
    if content_hash(child) in (a.row.content_hash, b.row.content_hash):
        return None
    notes = f"crossover of {a.contender.name} and {b.contender.name}"
    return Child(child, "crossover", notes, a.row.id, b.row.id)


def _draw(population: Population, rng: random.Random) -> Member:
    members = population.members.values()
    by_hash = {member.row.content_hash: member for member in members if member.scores}
    scores: Scores[str] = {digest: dict(m.scores.items()) for digest, m in by_hash.items()}
    return by_hash[draw_parent(scores, rng)] if scores else population.incumbent


async def _store(
    population: Population,
    view: View,
    trials: Sequence[Trial],
    children: Sequence[Child],
    number: int,
) -> list[Planned]:
    """Write genomes and trials down; give what the store has for this round."""
    run = population.run
    by_point = {view.space.point_of(child.genome): child for child in children}
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        for place, trial in enumerate(trials):
            child = by_point.get(trial.point) or _drawn(population, view, trial.point, number)
            if child is not None:
                row = await _row(tx, population, child)
                await tx.execute(_insert(run.parts.tenant, run.cycle.id, row, trial, number, place))
    return await _stored(population, number)


async def _stored(population: Population, number: int) -> list[Planned]:
    """Give what the store has for round `number`: nothing, or all of it."""
    run = population.run
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        stored = select(TrialRow).filter_by(cycle_id=run.cycle.id, round=number)
        rows = list(await tx.scalars(stored.order_by(TrialRow.number)))
        return [await _planned(tx, population, row) for row in rows]


def _drawn(population: Population, view: View, point: Point, number: int) -> Child | None:
    """Give the genome of a point as a child of the incumbent; None where no schema allows it."""
    genome = view.space.genome_at(point)
    if genome is None:
        return None
    operator = "surrogate" if number else "design"
    notes = _notes(population.incumbent.genome, genome)
    return Child(genome, operator, notes, population.incumbent.row.id)


async def _row(tx: AsyncSession, population: Population, child: Child) -> EvolutionGenome:
    if content_hash(child.genome) == population.incumbent.row.content_hash:
        return population.incumbent.row
    origin = Origin(
        operator=child.operator,
        notes=child.notes,
        parent_id=child.parent_id,
        mate_id=child.mate_id,
        cycle_id=population.run.cycle.id,
    )
    row, _ = await add_genome(tx, population.run.cycle.domain, child.genome, origin)
    return row


def _insert(
    tenant: UUID, cycle_id: UUID, genome: EvolutionGenome, trial: Trial, number: int, place: int
) -> Executable:
    row = {
        "tenant_id": tenant,
        "cycle_id": cycle_id,
        "number": number * MOST_A_ROUND + place,
        "round": number,
        "genome_id": genome.id,
        "question_ids": list(trial.questions),
        "predicted": trial.predicted,
        "error": trial.error,
    }
    return insert(TrialRow).values(row).on_conflict_do_nothing()


async def _planned(tx: AsyncSession, population: Population, trial: TrialRow) -> Planned:
    member = population.members.get(trial.genome_id)
    if member is None:
        row = await tx.get_one(EvolutionGenome, trial.genome_id)
        member = population.add(row, load_genome(row.content))
    return Planned(member, tuple(trial.question_ids))


def _notes(before: Genome, after: Genome) -> str:
    changes = [
        f"{change.path}: {_said(change.before)} → {_said(change.after)}"
        for change in changed_genes(before, after)
        if not change.path.endswith("(order)")
    ]
    return "; ".join(changes)[:MAX_NOTE_CHARS]


def _said(value: object) -> str:
    """A number or a choice as it is; of an instruction whether it is there."""
    if value is None:
        return "none"
    text = str(value)
    return text if len(text) <= 24 else f"“{text[:24]}…”"
