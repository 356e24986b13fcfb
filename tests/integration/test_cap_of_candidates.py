"""A cycle never has more candidates than it may have: not in its rounds, and not in its check."""

import random
from dataclasses import replace
from uuid import uuid4

import pytest

from evolution.breeding.memory import Remembered
from evolution.breeding.mutate import enrol, plan_check
from evolution.breeding.population import Population, open_population
from evolution.buying.replay import make_evaluator
from evolution.plan import make_plan
from evolution.progress import Board
from evolution.running import Run
from evolution.search.effort import plan_effort
from kit.db import Database
from models.genome import Genome
from models.tables import DEFAULT_TENANT, Cycle, EvolutionGenome
from tests.support.planted_world import (
    World,
    fewer_fragments_are_better,
    make_world,
    nothing_matters,
)


@pytest.mark.parametrize("most", [1, 5])
async def test_the_cap_holds_over_all_rounds_the_check_and_the_nominee(
    db: Database, most: int
) -> None:
    world = await make_world(db, fewer_fragments_are_better, questions=45)
    result = await world.run(budget=120, max_mutations=most)
    assert 0 < result.tried <= most
    assert await world.count(EvolutionGenome, operator="design") <= most


async def open_remembering(world: World, most: int) -> Population:
    """Open a cycle that remembers genomes whose worth no sum of pairs explains."""
    cycle_id = await world.order(max_mutations=most)
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
        plan = await make_plan(tx, world.parts, cycle)
    board = Board(world.db, DEFAULT_TENANT, cycle_id)
    evaluator = make_evaluator(world.parts, cycle, board.count)
    population = await open_population(Run(world.parts, cycle, plan, board, evaluator))
    rng = random.Random(8)
    ours = population.incumbent
    former = {ours.row.id: ours.genome} | {uuid4(): odd_one(ours.genome, rng) for _ in range(150)}
    asked = plan.search_questions
    seen = [
        Remembered(i, q, 6.0 + oddness(genome))
        for i, genome in former.items()
        for q in (asked[:20] if i == ours.row.id else rng.sample(asked, 3))
    ]
    return replace(population, former=former, remembered=seen)


def odd_one(genome: Genome, rng: random.Random) -> Genome:
    genes = {
        "chunk_count": rng.randint(1, 12),
        "verbosity": rng.choice(("concise", "comprehensive")),
        "citation_policy": rng.choice(("always", "inline")),
    }
    return genome.model_copy(update=genes)


def oddness(genome: Genome) -> float:
    genes = vars(genome)
    flags = (genes["chunk_count"] > 6, genes["verbosity"] == "concise")
    return 2.0 * ((sum(flags) + (genes["citation_policy"] == "inline")) % 2)


@pytest.mark.parametrize("most", [1, 2, 12])
async def test_finalists_that_only_former_nights_have_tried_count_as_candidates(
    db: Database, most: int
) -> None:
    population = await open_remembering(await make_world(db, nothing_matters), most)
    effort = plan_effort(480, 48, 500, 8)
    view = population.view()
    wanted = view.search.check(effort)
    assert view.search.races and len(wanted) == 3
    planned = await plan_check(population, effort)
    assert len(planned) == len(population.candidates) == min(most, 3)
    space, known = view.space, {trial.point for trial in wanted}
    other = next(p for p in space.space.neighbours(space.origin) if p not in known)
    newcomer = await enrol(population, population.view(), other)
    assert (newcomer is not None) == (most > 3)
