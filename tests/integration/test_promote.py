"""promote_best on a real store: the book, claims that differ, resumed and side by side."""

import asyncio
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.results import Scored
from evolution.genomes import Origin, add_genome, move
from evolution.plan import make_plan
from evolution.promote import Finalist, promote_best
from evolution.proof.book import Opening, close_proof, load_history, open_proofs
from evolution.proof.group_sequential import planned_looks
from evolution.proof.wealth import next_alpha
from evolution.shapes import CyclePlan, Proof
from kit.db import Database
from models.genome import Genome, GenomeSet, genome_name
from models.lifecycle import Status
from models.tables import DEFAULT_TENANT, Approval, Cycle, ProofEntry, Question, QuestionUse
from tests.support.planted_world import PricedAnswers, World, make_world, with_prices

PAIRS = 48


def chunks_do_not_matter_but_verbosity_does(genomes: GenomeSet, question: str) -> float:
    return 6.0 + 1.5 * (genomes.postprocess.verbosity == "comprehensive")


@dataclass
class Stage:
    """A cycle that stands before its proof."""

    world: World
    cycle_id: UUID
    plan: CyclePlan
    questions: list[Question]

    async def add(self, genome: Genome) -> Contender:
        async with self.world.db.transaction(DEFAULT_TENANT) as tx:
            origin = Origin(operator="typed", cycle_id=self.cycle_id)
            row, _ = await add_genome(tx, "default", genome, origin)
            move(row, Status.EVALUATED)
        return Contender(row.id, genome_name(genome), self.plan.genomes.with_genome(genome))

    async def prove(self, *finalists: Finalist) -> list[Proof]:
        evaluator = Evaluator(self.world.parts, self.cycle_id, _ignore)
        incumbent = Contender(self.plan.incumbent_id, "incumbent", self.plan.genomes)
        return await promote_best(
            evaluator, self.plan, incumbent, finalists, self.questions, "default"
        )


async def _ignore(scored: Scored) -> None:
    pass


async def set_stage(db: Database) -> Stage:
    world = with_prices(await make_world(db, chunks_do_not_matter_but_verbosity_does))
    cycle_id = await world.order(budget=1_200)
    async with db.transaction(DEFAULT_TENANT) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
        plan = await make_plan(tx, world.parts, cycle)
        ids = plan.confirm_questions[:PAIRS]
        rows = {q.id: q for q in await tx.scalars(select(Question).where(Question.id.in_(ids)))}
    plan = plan.model_copy(update={"confirm_questions": ids, "looks": planned_looks(PAIRS)})
    return Stage(world, cycle_id, plan, [rows[i] for i in ids])


def with_genes(stage: Stage, **genes: object) -> Genome:
    return stage.plan.genomes.postprocess.model_copy(update=genes)


async def test_each_finalist_is_held_to_what_it_claims_and_shares_one_error_rate(
    db: Database,
) -> None:
    stage = await set_stage(db)
    fewer = stage.plan.genomes.postprocess.chunk_count // 2
    cheap = await stage.add(with_genes(stage, chunk_count=fewer))
    good = await stage.add(with_genes(stage, verbosity="comprehensive"))
    dear = await stage.add(with_genes(stage, verbosity="comprehensive", chunk_count=12))
    finalists = [Finalist(cheap, "cheaper"), Finalist(good, "better"), Finalist(dear, "better")]
    proofs = await stage.prove(*finalists)
    assert [proof.decision for proof in proofs] == ["cheaper", "better", "not_proven"]
    assert proofs[0].trade.cost_growth is not None and proofs[0].trade.cost_growth < -0.4
    assert "tokens −" in await sentence_of_approval(db, cheap)
    assert proofs[2].obstacle == "cost"
    assert await stage.world.count(Approval) == 2
    async with db.transaction() as tx:
        history = await load_history(tx)
    assert [entry.proven for entry in history] == [True, True, False]
    assert {entry.alpha for entry in history} == {next_alpha([], 3)}


async def test_a_resumed_proof_keeps_its_rate_and_buys_and_puts_up_nothing_again(
    db: Database,
) -> None:
    stage = await set_stage(db)
    good = Finalist(await stage.add(with_genes(stage, verbosity="comprehensive")))
    first = await stage.prove(good)
    calls = stage.world.answers.calls
    assert await stage.prove(good) == first
    assert stage.world.answers.calls == calls
    assert await stage.world.count(Approval) == await stage.world.count(ProofEntry) == 1


async def test_what_an_early_stop_did_not_need_stays_fresh(db: Database) -> None:
    stage = await set_stage(db)
    same = Finalist(await stage.add(with_genes(stage, max_tokens=640)))
    (proof,) = await stage.prove(same)
    assert (proof.decision, proof.look) == ("not_proven", 2)
    assert await stage.world.count(QuestionUse, role="confirm") == PAIRS // 2


async def test_the_rate_of_a_proof_is_in_the_book_before_its_first_question(db: Database) -> None:
    stage = await set_stage(db)
    good = await stage.add(with_genes(stage, verbosity="comprehensive"))
    seen: list[bool | None] = []

    class Watched(PricedAnswers):
        async def __call__(self, question: str, genomes: GenomeSet):  # type: ignore[no-untyped-def]
            async with db.transaction() as tx:
                seen.extend(entry.proven for entry in await load_history(tx))
            return await super().__call__(question, genomes)

    answers = stage.world.answers
    assert isinstance(answers, PricedAnswers)
    watched = Watched(answers.scope, answers.quality, model=answers.model)
    stage.world.parts = replace(stage.world.parts, answer=watched)
    await stage.prove(Finalist(good))
    assert seen and set(seen) == {None}


async def test_cycles_side_by_side_never_stake_the_same_error_twice(db: Database) -> None:
    async def open_one() -> float:
        async with db.transaction(DEFAULT_TENANT) as tx:
            genome = uuid4()
            opened = await open_proofs(
                tx, uuid4(), "default", "routing", [Opening(genome, "better")]
            )
        return opened[genome]

    alphas = sorted(await asyncio.gather(*(open_one() for _ in range(6))), reverse=True)
    async with db.transaction() as tx:
        history = await load_history(tx)
    assert [entry.alpha for entry in history] == pytest.approx(alphas)
    assert alphas[0] == pytest.approx(0.025 / 1.025) and alphas[1] < alphas[0] / 2
    spent = sum(alpha / (1 - alpha) for alpha in alphas)
    assert spent == pytest.approx(0.05 * (1 - 1 / 7))


async def test_a_win_pays_for_the_next_proof_whatever_a_person_decides(db: Database) -> None:
    cycle, genome = uuid4(), uuid4()
    async with db.transaction(DEFAULT_TENANT) as tx:
        await open_proofs(tx, cycle, "default", "routing", [Opening(genome, "better")])
        before = next_alpha(await load_history(tx))
        await close_proof(tx, cycle, genome, proven=True)
        after = next_alpha(await load_history(tx))
    assert after > 0.04 > before


async def sentence_of_approval(db: Database, contender: Contender) -> str:
    async with db.transaction(DEFAULT_TENANT) as tx:
        query = select(Approval).filter_by(genome_id=contender.genome_id)
        sentence: str = (await tx.scalars(query)).one().evidence["sentence"]
    return sentence
