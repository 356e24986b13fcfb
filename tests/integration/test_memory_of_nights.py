"""What one night has paid for, the next one starts from, as far as it can be compared."""

from dataclasses import replace

from sqlalchemy import select

from evolution.cycle import run_cycle
from evolution.plan import make_plan
from evolution.shapes import CyclePlan
from kit.db import Database
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet
from models.tables import DEFAULT_TENANT, Cycle, EvolutionGenome
from tests.support.planted_world import MODELS, World, make_world

SEARCH_ALONE = {"budget": 150, "max_mutations": 60}
RULE = DEFAULT_SET.postprocess.system_prompt[0]


def the_first_rule_helps(genomes: GenomeSet, question: str) -> float:
    texts = {gene.text for gene in genomes.postprocess.system_prompt}
    return 5.0 + 1.5 * (RULE.text in texts)


async def small_world(db: Database) -> World:
    """A world that can only explore, with a reader that obeys every gene."""
    world = await make_world(db, the_first_rule_helps, questions=54)
    return replace(world, parts=replace(world.parts, inert_genes=frozenset()))


async def test_a_night_starts_from_the_answers_of_the_one_before(db: Database) -> None:
    world = await small_world(db)
    first, second = await world.order(**SEARCH_ALONE), await world.order(**SEARCH_ALONE)
    await run_cycle(world.parts, first)
    await run_cycle(world.parts, second)
    async with db.transaction(DEFAULT_TENANT) as tx:
        cycles = [await tx.get_one(Cycle, cycle_id) for cycle_id in (first, second)]
        rows = await tx.execute(select(EvolutionGenome.cycle_id, EvolutionGenome.operator))
        operators = {(row.cycle_id, row.operator) for row in rows}
    plans = [CyclePlan.model_validate(cycle.plan) for cycle in cycles]
    assert [plan.remembered for plan in plans] == [(), (first,)]
    assert (first, "design") in operators and (second, "design") not in operators


async def test_scores_of_another_judge_or_corpus_are_not_remembered(db: Database) -> None:
    world = await small_world(db)
    first = await world.order(**SEARCH_ALONE)
    await run_cycle(world.parts, first)
    second = await world.order(**SEARCH_ALONE)
    parts = world.parts
    judged_anew = replace(parts, models={**MODELS, "judge": "planted-2"})
    refilled = replace(parts, scope=replace(parts.scope, corpus_version=99))
    async with db.transaction(DEFAULT_TENANT) as tx:
        cycle = await tx.get_one(Cycle, second)
        plans = [await make_plan(tx, p, cycle) for p in (parts, judged_anew, refilled)]
    assert [plan.remembered for plan in plans] == [(first,), (), ()]
