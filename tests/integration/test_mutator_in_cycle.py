"""A whole cycle with a mutator that is away, raves, or helps."""

import json
from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import func, select

from evolution.breeding.gene_bank import GeneWorth, bank_genes
from evolution.buying.paid import PaidChat
from evolution.cycle import run_cycle
from kit.db import Database
from kit.errors import Conflict, ProviderUnreachable
from kit.fakes import Script, ScriptedChat
from models.genome import GenomeSet
from models.tables import DEFAULT_TENANT, Cycle, EvolutionGenome, RefusedProposal, Trial
from pipeline.state import State
from tests.support.planted_world import World, make_world, nothing_matters

RULE = "Say first what follows from it."


def a_rule_helps(genomes: GenomeSet, question: str) -> float:
    texts = {gene.text for gene in genomes.postprocess.system_prompt}
    return 7.5 if RULE in texts else 5.0


def with_mutator(world: World, script: Script) -> tuple[World, ScriptedChat]:
    """The world with a mutator and a reader that obeys every gene."""
    model = ScriptedChat(script)
    parts = replace(world.parts, mutator=PaidChat(model, world.db), inert_genes=frozenset())
    return replace(world, parts=parts), model


async def cycle_of(world: World, cycle_id: UUID) -> Cycle:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        return await tx.get_one(Cycle, cycle_id)


async def test_a_mutator_that_stays_away_fails_the_cycle_with_its_cause_and_buys_nothing(
    db: Database,
) -> None:
    error = ProviderUnreachable("no route")
    bought: list[int] = []
    world = await make_world(db, nothing_matters)
    world, _ = with_mutator(world, lambda request: bought.append(world.answers.calls) or error)
    cycle_id = await world.order()
    with pytest.raises(ProviderUnreachable, match="the mutator is unavailable"):
        await run_cycle(world.parts, cycle_id)
    cycle = await cycle_of(world, cycle_id)
    assert cycle.status == "failed"
    assert cycle.error == f"the mutator is unavailable: {error}"
    assert world.answers.calls == bought[0]  # nothing was bought once it was asked
    assert cycle.reserved == 0
    assert await world.count(RefusedProposal) == 0


async def test_a_mutator_that_raves_costs_nothing_and_typed_moves_go_on(db: Database) -> None:
    world, model = with_mutator(
        await make_world(db, nothing_matters), lambda request: "<think>more of everything</think>"
    )
    cycle_id = await world.order()
    result = await run_cycle(world.parts, cycle_id)
    assert result.outcome == "nothing_better"
    assert result.tried > 0
    async with db.transaction(DEFAULT_TENANT) as tx:
        reasons = list(await tx.scalars(select(RefusedProposal.reason)))
        operators = set(await tx.scalars(select(EvolutionGenome.operator)))
    assert len(reasons) == model.calls >= 1
    assert all("not JSON alone" in reason for reason in reasons)
    assert not {"reflect", "reflect_all"} & operators


async def test_a_rule_that_the_mutator_writes_is_found_and_proven(db: Database) -> None:
    gene = {"id": "first", "text": RULE}

    def writes(request: object) -> str:
        genes = [g.model_dump(mode="json") for g in world.genomes.postprocess.system_prompt]
        return json.dumps({"genome": {"system_prompt": [gene, *genes]}, "notes": "say it first"})

    world, _ = with_mutator(await make_world(db, a_rule_helps), writes)
    result = await run_cycle(world.parts, await world.order())
    assert result.outcome == "promoted"
    assert result.finalist is not None


async def test_a_resumed_cycle_asks_the_mutator_for_no_stored_round_again(db: Database) -> None:
    """What others bank meanwhile changes the requests: the replies would not be found."""
    world, model = with_mutator(
        await make_world(db, nothing_matters), lambda request: "<think>more of everything</think>"
    )
    cycle_id = await world.order()

    async def breaks_off(question: str, genomes: GenomeSet) -> State:
        if model.calls:
            raise Conflict("broken off")
        return await world.answers(question, genomes)

    with pytest.raises(Conflict):
        await run_cycle(replace(world.parts, answer=breaks_off), cycle_id)
    rule = GeneWorth("system_prompt", "other", RULE, "reflect", 20, 0.5, 0.2, 0.8)
    async with db.transaction(DEFAULT_TENANT) as tx:
        await bank_genes(tx, "default", "postprocess", cycle_id, [rule])
        last = await tx.scalar(select(func.max(Trial.round)))
    await run_cycle(world.parts, cycle_id)
    assert await world.count(RefusedProposal) == model.calls
    assert last == 1
