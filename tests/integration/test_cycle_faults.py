"""What goes wrong inside a cycle: it ends honestly, and nothing missing is ever counted as good."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from uuid import UUID

import pytest
from sqlalchemy import select, update

from evolution.buying.paid import PaidChat
from evolution.cycle import run_cycle
from evolution.fakes import PlantedJudge
from evolution.questions import split_questions
from evolution.shapes import CycleProgress
from judge.llm_judge import LlmJudge
from judge.port import Exam
from judge.verdict import Unscored, Verdict
from kit.db import Database
from kit.errors import ProviderUnreachable
from kit.fakes import ScriptedChat
from models.genome import GenomeSet
from models.tables import (
    DEFAULT_TENANT,
    Approval,
    Cycle,
    EvolutionEvalResult,
    PaidAnswer,
    PaidCall,
    Question,
)
from tests.support.planted_world import (
    World,
    make_world,
    nothing_matters,
)


def number_of(question: str) -> int:
    return int(question.rstrip("?").split()[-1])


async def load(world: World, cycle_id: UUID) -> Cycle:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        return await tx.get_one(Cycle, cycle_id)


async def results(world: World) -> list[EvolutionEvalResult]:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        return list(await tx.scalars(select(EvolutionEvalResult)))


@dataclass
class FailingJudge(PlantedJudge):
    """Out of reach for the exams that `fails` names, and without a readable word on others."""

    fails: Callable[[Exam], bool] = lambda exam: False
    babbles: Callable[[Exam], bool] = lambda exam: False
    asked: int = 0

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        self.asked += 1
        if self.fails(exam):
            raise ProviderUnreachable(f"judging {self.asked} timed out")
        if self.babbles(exam):
            return Unscored(reason="the reply is not JSON", judge=self.version)
        return await super().judge(exam)


def a_tenth() -> Callable[[Exam], bool]:
    """Every tenth judging, whatever is judged."""
    turns = count(1)
    return lambda exam: next(turns) % 10 == 0


async def test_a_tenth_of_judgings_timed_out_leaves_pairs_missing_never_zero(
    db: Database,
) -> None:
    world = await make_world(db, nothing_matters)
    judge = FailingJudge(noise=0.0, fails=a_tenth())
    world = replace(world, parts=replace(world.parts, judge=judge, concurrency=1))
    cycle_id = await world.order(budget=400, max_mutations=4)
    result = await run_cycle(world.parts, cycle_id)
    assert result.outcome == "nothing_better"
    rows = await results(world)
    missing = [row for row in rows if row.judge_score is None]
    assert 0 < len(missing) < len(rows) / 4
    assert all("timed out" in (row.unscored_reason or "") for row in missing)
    assert {row.judge_score for row in rows if row.judge_score is not None} == {6.0}
    cycle = await load(world, cycle_id)
    progress = CycleProgress.model_validate(cycle.progress)
    assert cycle.status == "done"
    assert (progress.failed, cycle.reserved) == (0, 0)


HARD, EASY = 2.0, 8.0


def half_is_hard(genomes: GenomeSet, question: str) -> float:
    """Every genome is worth the same but for a trace in the fourth decimal that names it."""
    worth = HARD if number_of(question) % 2 else EASY
    return worth + genomes.postprocess.chunk_count / 1000 + genomes.postprocess.max_tokens / 10**7


async def test_a_judge_that_fails_on_the_hard_half_raises_no_mean_and_promotes_nothing(
    db: Database,
) -> None:
    world = await make_world(db, half_is_hard)
    incumbent = f"{half_is_hard(world.genomes, '0?'):.4f}"[1:]

    def babbles(exam: Exam) -> bool:
        is_hard = number_of(exam.question) % 2 == 1
        return is_hard and not exam.answer.answer.endswith(incumbent)

    judge = FailingJudge(noise=0.0, babbles=babbles)
    world = replace(world, parts=replace(world.parts, judge=judge))
    cycle_id = await world.order(budget=400, max_mutations=4)
    result = await run_cycle(world.parts, cycle_id)
    assert result.outcome == "nothing_better"
    assert await world.count(Approval) == 0
    progress = CycleProgress.model_validate((await load(world, cycle_id)).progress)
    assert progress.unscored > 0
    lines = [c for c in progress.candidates if c.state != "incumbent" and c.mean is not None]
    assert any(c.scored < 0.8 * c.answered for c in lines)
    for line in lines:
        assert line.mean == pytest.approx((HARD + EASY) / 2, abs=1)


async def test_a_judge_out_of_reach_fails_the_cycle_with_its_first_cause(db: Database) -> None:
    world = await make_world(db, nothing_matters)
    judge = FailingJudge(fails=lambda exam: True)
    world = replace(world, parts=replace(world.parts, judge=judge, concurrency=1))
    cycle_id = await world.order(budget=400)
    with pytest.raises(ProviderUnreachable):
        await run_cycle(world.parts, cycle_id)
    cycle = await load(world, cycle_id)
    assert (cycle.status, cycle.result) == ("failed", None)
    assert "judging 1 timed out" in (cycle.error or "")
    assert judge.asked == 5


async def test_a_judge_that_never_answers_ends_with_the_cycles_time_and_the_counts_agree(
    db: Database,
) -> None:
    world = await make_world(db, nothing_matters)
    silent = ScriptedChat(lambda request: "too late", latency_s=3_600)
    judge = LlmJudge(PaidChat(silent, db))
    world = replace(world, parts=replace(world.parts, judge=judge))
    cycle_id = await world.order(budget=400)
    async with db.transaction(DEFAULT_TENANT) as tx:
        await tx.execute(update(Cycle).filter_by(id=cycle_id).values(limits={"seconds": 2}))
    result = await asyncio.wait_for(run_cycle(world.parts, cycle_id), 60)
    assert "budget of wall time is used up" in result.sentence
    cycle = await load(world, cycle_id)
    assert (cycle.status, cycle.reserved, cycle.reserved_calls) == ("done", 0, 0)
    assert cycle.spent_calls == silent.calls == await world.count(PaidCall, state="lost_in_flight")
    assert cycle.spent == await world.count(EvolutionEvalResult) == 0
    assert await world.count(PaidAnswer) == world.answers.calls


async def test_a_gene_that_helps_only_the_search_questions_is_never_promoted(
    db: Database,
) -> None:
    searched: set[str] = set()

    def overfits(genomes: GenomeSet, question: str) -> float:
        return 6.0 + 2.0 * (question in searched and genomes.postprocess.chunk_count > 6)

    world = await make_world(db, overfits)
    cycle_id = await world.order()
    cycle = await load(world, cycle_id)
    async with db.transaction(DEFAULT_TENANT) as tx:
        drawn = await split_questions(
            tx, world.parts.scope.corpus_id, "default", "postprocess", cycle.seed
        )
        texts = select(Question.text).where(Question.id.in_(drawn.search))
        searched |= set(await tx.scalars(texts))
    result = await run_cycle(world.parts, cycle_id)
    assert result.outcome == "nothing_better"
    assert await world.count(Approval) == 0
    assert result.search_gain is not None and result.search_gain > 1
    assert result.proof is not None and abs(result.proof.gain) < 0.5
