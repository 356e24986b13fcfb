"""Whole cycles in which the only thing to be had is an answer that costs less."""

import re
from collections.abc import Callable

import pytest
from sqlalchemy import select

from evolution.cycle import run_cycle
from evolution.questions import split_questions
from kit.db import Database
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet
from models.lifecycle import Status
from models.tables import DEFAULT_TENANT, Approval, Cycle, EvolutionGenome, ProofEntry, Question
from tests.support.planted_world import World, make_world, nothing_matters, with_prices

ORDER = {"budget": 240, "max_mutations": 30}
QUESTIONS = 90


def is_cheap(genomes: GenomeSet) -> bool:
    """Half the fragments: 36 % off an answer, and more."""
    return genomes.postprocess.chunk_count <= DEFAULT_SET.postprocess.chunk_count // 2


async def test_what_is_as_good_and_costs_a_third_less_is_proven_as_cheaper(db: Database) -> None:
    world = with_prices(await make_world(db, nothing_matters, QUESTIONS))
    result = await world.run(**ORDER)
    assert result.outcome == "promoted"
    proof = result.proof
    assert proof is not None and (proof.claim, proof.decision) == ("cheaper", "cheaper")
    assert proof.low > -0.3
    assert proof.trade.cost_growth is not None and proof.trade.cost_growth < -0.35
    assert "tokens −" in result.sentence
    assert await world.count(Approval) == 1
    assert await world.count(EvolutionGenome, status=Status.PENDING_APPROVAL) == 1
    assert await world.count(ProofEntry, claim="cheaper", proven=True) == 1


async def test_without_questions_for_a_proof_a_cheaper_one_is_not_called_better(
    db: Database,
) -> None:
    world = with_prices(await make_world(db, nothing_matters, questions=45))
    result = await world.run(budget=120, max_mutations=30)
    assert result.outcome == "explored"
    assert re.search(r"is expected to cost [3-7]\d % less and to differ by .?0\.0", result.sentence)


def worse_where(asked: Callable[[str], bool]) -> Callable[[GenomeSet, str], float]:
    return lambda genomes, question: 6.0 - 0.6 * (is_cheap(genomes) and asked(question))


async def test_what_is_cheaper_and_seen_to_be_worse_is_not_even_nominated(db: Database) -> None:
    world = with_prices(await make_world(db, worse_where(lambda question: True), QUESTIONS))
    result = await world.run(**ORDER)
    assert (result.outcome, result.proof) == ("nothing_better", None)
    assert await world.count(ProofEntry) == await world.count(Approval) == 0


async def test_what_is_cheaper_and_worse_on_fresh_questions_alone_fails_its_proof(
    db: Database,
) -> None:
    searched: set[str] = set()
    worse = worse_where(lambda question: question not in searched)
    world = with_prices(await make_world(db, worse, QUESTIONS))
    cycle_id = await world.order(**ORDER)
    searched |= await search_texts(world)
    result = await run_cycle(world.parts, cycle_id)
    assert result.outcome == "nothing_better"
    assert result.proof is not None
    assert (result.proof.claim, result.proof.decision) == ("cheaper", "not_proven")
    assert result.proof.obstacle == "quality"
    assert result.proof.gain == pytest.approx(-0.6, abs=0.3)
    assert await world.count(Approval) == 0
    assert await world.count(ProofEntry, claim="cheaper", proven=False) == 1


async def search_texts(world: World) -> set[str]:
    """Give the texts of the questions that the cycle's search draws."""
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        cycle = (await tx.scalars(select(Cycle))).one()
        corpus = world.parts.scope.corpus_id
        drawn = await split_questions(tx, corpus, "default", "postprocess", cycle.seed)
        return set(await tx.scalars(select(Question.text).where(Question.id.in_(drawn.search))))
