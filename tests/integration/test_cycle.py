"""Whole cycles in planted worlds, on a real database."""

from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from evolution.buying.paid import PaidChat
from evolution.cycle import run_cycle
from evolution.decide import approve, reject, roll_back
from evolution.fakes import PlantedAnswers, PlantedJudge, PlantedSession
from evolution.genomes import load_incumbent
from evolution.plan import CycleOrder, create_cycle
from kit.chat import ChatModel, ChatRequest, Message
from kit.db import Database
from kit.errors import BadInput, Conflict, NotFound, ProviderRefused
from kit.fakes import ScriptedChat
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet, genome_name
from models.lifecycle import Status
from models.tables import (
    DEFAULT_TENANT,
    LAB_TENANT,
    Approval,
    Cycle,
    EvolutionEvalResult,
    EvolutionGenome,
    LedgerEntry,
    PaidAnswer,
    PaidCall,
    PaidVerdict,
    QuestionUse,
)
from tests.support.planted_world import (
    MODELS,
    fewer_fragments_are_better,
    make_world,
    nothing_matters,
)


async def test_what_is_better_is_proven_and_waits_for_a_person(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    result = await world.run()
    assert result.outcome == "promoted"
    assert result.proof is not None and result.proof.low > 0
    assert result.sentence.startswith("Better by +")
    assert await world.count(Approval) == 1
    assert await world.count(EvolutionGenome, status=Status.PENDING_APPROVAL) == 1


async def test_where_nothing_matters_nothing_is_promoted(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    result = await world.run()
    assert result.outcome == "nothing_better"
    assert "Nothing better found" in result.sentence or "Not proven" in result.sentence
    assert result.tried > 12
    assert await world.count(Approval) == 0


async def test_the_budget_is_never_exceeded_and_the_books_agree(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    cycle_id = await world.order()
    await run_cycle(world.parts, cycle_id)
    async with db.transaction(DEFAULT_TENANT) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
    assert cycle.spent <= cycle.budget
    assert cycle.reserved == 0
    # equal answers to one question share a verdict, which is judged and paid once
    assert cycle.spent == await world.count(PaidVerdict) <= await world.count(EvolutionEvalResult)
    booked = await world.count(LedgerEntry, LAB_TENANT, ledger="retrieval", cycle_id=cycle_id)
    assert booked == await world.count(PaidAnswer) == world.answers.calls


async def test_confirm_questions_are_fresh_and_spent_once(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    await world.run()
    async with db.transaction(DEFAULT_TENANT) as tx:
        uses = list(await tx.scalars(select(QuestionUse)))
        search = set(
            await tx.scalars(select(EvolutionEvalResult.question_id).filter_by(phase="search"))
        )
        confirm = set(
            await tx.scalars(select(EvolutionEvalResult.question_id).filter_by(phase="confirm"))
        )
    assert not search & confirm
    assert {u.question_id for u in uses if u.role == "search"} >= search
    assert {u.question_id for u in uses if u.role == "confirm"} == confirm


async def test_with_too_few_fresh_questions_a_cycle_only_explores_and_says_so(
    db: Database,
) -> None:
    world = await make_world(db, fewer_fragments_are_better, questions=54)
    result = await world.run(budget=150)
    assert result.outcome == "explored"
    assert "a proof needs 40" in result.sentence
    assert await world.count(QuestionUse, role="confirm") == 0


async def test_a_judge_that_fails_on_some_leaves_them_missing_never_zero(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    judge = PlantedJudge(noise=0.0, unscored=lambda q: q.endswith("7?"))
    world = replace(world, parts=replace(world.parts, judge=judge))
    result = await world.run()
    assert result.outcome == "nothing_better"
    async with db.transaction(DEFAULT_TENANT) as tx:
        rows = list(await tx.scalars(select(EvolutionEvalResult)))
    missing = [row for row in rows if row.judge_score is None]
    assert missing and all(row.unscored_reason == "planted failure" for row in missing)
    assert {row.judge_score for row in rows if row.judge_score is not None} == {6.0}


async def test_an_approved_genome_serves_and_can_be_taken_back(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    result = await world.run()
    approval_id = await only_approval(db)
    why = {"actor": "admin", "reason": "the interval is clear"}
    name = await approve(db, DEFAULT_TENANT, approval_id, models=MODELS, **why)
    assert name == result.finalist
    assert await serving(db) == result.finalist
    with pytest.raises(Conflict, match="approved by admin"):
        await reject(db, DEFAULT_TENANT, approval_id, **why)
    back = await roll_back(db, "default", "postprocess", **why)
    assert back == await serving(db) == genome_name(DEFAULT_SET.postprocess)
    with pytest.raises(Conflict, match="nothing served"):
        await roll_back(db, "default", "postprocess", **why)


async def test_an_approval_is_void_when_a_model_or_another_layer_moved(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    await world.run()
    why = {"actor": "admin", "reason": "the interval is clear"}
    moved = {**MODELS, "judge": "planted-2"}
    with pytest.raises(Conflict, match="void: the judge is now planted-2"):
        await approve(db, DEFAULT_TENANT, await only_approval(db), models=moved, **why)
    assert await serving(db) == genome_name(DEFAULT_SET.postprocess)


async def test_a_decision_needs_a_reason_and_an_approval_that_is_there(db: Database) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    await world.run()
    with pytest.raises(BadInput, match="at least 10"):
        await reject(db, DEFAULT_TENANT, await only_approval(db), actor="admin", reason="no")
    with pytest.raises(NotFound):
        await reject(db, DEFAULT_TENANT, uuid4(), actor="admin", reason="a good reason")


@dataclass
class FlakyAnswers(PlantedAnswers):
    """Goes out of reach after a number of calls, once."""

    dies_at: int = 10**9
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, question: str, genomes: GenomeSet):  # type: ignore[no-untyped-def]
        if self.calls == self.dies_at:
            self.dies_at = 10**9
            raise ProviderRefused("the key is refused")
        state = await super().__call__(question, genomes)
        self.asked.append((question, genomes.fingerprint()))
        return state


@pytest.mark.parametrize("dies_at", [0, 7, 40, 100, 200])
async def test_a_failed_cycle_goes_on_and_buys_nothing_again(db: Database, dies_at: int) -> None:
    world = await make_world(db, fewer_fragments_are_better)
    flaky = FlakyAnswers(world.parts.scope, fewer_fragments_are_better, dies_at=dies_at)
    parts = replace(world.parts, answer=flaky)
    cycle_id = await world.order()
    with pytest.raises(ProviderRefused):
        await run_cycle(parts, cycle_id)
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert (await tx.get_one(Cycle, cycle_id)).error == "the key is refused"
    result = await run_cycle(parts, cycle_id)
    assert result.outcome == "promoted"
    phases = 2  # a search answer and the proof's own may meet the same question and genome
    assert max(flaky.asked.count(call) for call in set(flaky.asked)) <= phases
    assert await world.count(PaidAnswer) == flaky.calls


async def test_a_due_time_starts_one_cycle_only(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    order = CycleOrder("postprocess", "default", 600, due_key="nightly:postprocess:2026-12-01")
    ids = []
    for _ in range(2):
        async with db.transaction(DEFAULT_TENANT) as tx:
            ids.append(await create_cycle(tx, DEFAULT_TENANT, order))
    assert ids[0] is not None and ids[1] is None
    assert await world.count(Cycle) == 1


async def test_routing_runs_its_session_and_says_by_whom(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    result = await world.run(layer="routing")
    assert "planted agent" in result.session
    assert await world.count(EvolutionEvalResult, phase="session") == 2


@dataclass
class ModelAnswers(PlantedAnswers):
    """Asks a model of the lab for each answer, as a reader with a model does."""

    model: ChatModel | None = None

    async def __call__(self, question: str, genomes: GenomeSet):  # type: ignore[no-untyped-def]
        assert self.model is not None
        await self.model.chat(ChatRequest((Message("user", question),), 20))
        return await super().__call__(question, genomes)


async def test_every_model_call_of_a_routing_cycle_is_paid_and_booked(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    chat = ScriptedChat(lambda request: "yes")
    answers = ModelAnswers(world.parts.scope, nothing_matters, model=PaidChat(chat, db))
    parts = replace(world.parts, answer=answers, session=PlantedSession(answers))
    result = await replace(world, parts=parts).run(layer="routing")
    assert "planted agent" in result.session
    assert await world.count(PaidCall, state="done") == chat.calls
    assert await world.count(PaidCall, role="session") == 2
    assert await world.count(LedgerEntry, LAB_TENANT, ledger="generation") == chat.calls


async def test_a_cache_policy_that_saves_without_harm_wins_the_replay(db: Database) -> None:
    world = await make_world(db, lambda genomes, question: 6.0)
    result = await world.run(layer="cache_policy", budget=900)
    # 6.0 of 10 is below the default's min_supportedness of 0.7: nothing is kept under it
    assert result.outcome == "promoted"
    assert result.saved_answers > 0


async def test_nothing_is_ordered_that_cannot_end_in_anything(db: Database) -> None:
    world = await make_world(db, nothing_matters, questions=10)
    with pytest.raises(BadInput, match="needs 15"):
        await world.order()
    with pytest.raises(BadInput, match="no layer 'tea'"):
        await world.order(layer="tea")
    with pytest.raises(NotFound, match="'nowhere'"):
        await world.order(domain="nowhere")


async def only_approval(db: Database) -> UUID:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return (await tx.scalars(select(Approval.id))).one()


async def serving(db: Database) -> str:
    async with db.transaction() as tx:
        row = await load_incumbent(tx, "default", "postprocess")
    return f"g-{row.content_hash[:10]}"
