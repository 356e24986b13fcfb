"""Failed answers count as failed, failed judgings are told apart, and neither becomes a score."""

import json
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from rich.console import Console
from sqlalchemy import select

from evolution.breeding.population import Member
from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.results import Scored
from evolution.fakes import PlantedAnswers
from evolution.genomes import load_incumbent
from evolution.progress import Board
from evolution.standing import line_of
from judge.llm_judge import LlmJudge
from judge.verdict import CRITERIA
from kit.chat import ChatRequest
from kit.db import Database
from kit.fakes import ScriptedChat
from lab.watching import progress_table
from models.genome import GenomeSet, genome_name
from models.tables import DEFAULT_TENANT, EvolutionEvalResult, Question
from pipeline.state import State
from tests.support.planted_world import World, make_world, nothing_matters


def verdict(score: float) -> str:
    return json.dumps({key: {"evidence": [], "reason": "r", "score": score} for key in CRITERIA})


class BrokenAnswers(PlantedAnswers):
    """A reader whose reply could not be used, for the questions that `breaks` names."""

    def __init__(self, inner: PlantedAnswers, breaks: Callable[[str], bool]) -> None:
        super().__init__(inner.scope, inner.quality)
        self._breaks = breaks

    async def __call__(self, question: str, genomes: GenomeSet) -> State:
        state = await super().__call__(question, genomes)
        if state.answer is None or not self._breaks(question):
            return state
        answer = state.answer.model_copy(update={"finish_reason": "error", "answer": ""})
        return replace(state, answer=answer)


async def evaluate(world: World, count: int) -> tuple[UUID, list[Scored], Board]:
    """Put the incumbent to the first `count` questions of an ordered cycle."""
    cycle_id = await world.order()
    board = Board(world.db, DEFAULT_TENANT, cycle_id)
    evaluator = Evaluator(world.parts, cycle_id, board.count)
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        questions = list(await tx.scalars(select(Question).order_by(Question.external_id)))
        row = await load_incumbent(tx, "default", "postprocess")
    incumbent = Contender(row.id, genome_name(world.genomes.postprocess), world.genomes)
    scored = await evaluator.eval_genome(incumbent, questions[:count], "search")
    answers = {each.question_id: each for each in scored}
    member = Member(row, world.genomes.postprocess, incumbent, answers)
    await board.show(candidates=(line_of(member, "incumbent", None, None),))
    return cycle_id, scored, board


async def rows(world: World, cycle_id: UUID) -> list[EvolutionEvalResult]:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        query = select(EvolutionEvalResult).filter_by(cycle_id=cycle_id)
        return list(await tx.scalars(query.order_by(EvolutionEvalResult.query)))


async def test_one_of_four_judgings_unreadable_is_a_mean_over_three_and_one_failure(
    db: Database,
) -> None:
    def say(request: ChatRequest) -> str:
        asked_third = "fact number 2?" in request.messages[-1].content
        return "Score: 8 out of 10" if asked_third else verdict(8)

    world = await make_world(db, nothing_matters)
    judge = LlmJudge(ScriptedChat(say))
    world = replace(world, parts=replace(world.parts, judge=judge))
    cycle_id, scored, board = await evaluate(world, 4)
    assert [each.score for each in scored] == [8.0, 8.0, None, 8.0]
    assert not any(each.failed for each in scored)
    stored = await rows(world, cycle_id)
    assert [row.judge_score for row in stored] == [8.0, 8.0, None, 8.0]
    assert stored[2].unscored_reason == "the reply is not JSON"
    assert stored[2].judge_raw == "Score: 8 out of 10\n\nScore: 8 out of 10"
    progress = board.progress
    assert (progress.answered, progress.unscored, progress.failed) == (4, 1, 0)
    [line] = progress.candidates
    assert (line.mean, line.scored, line.answered) == (8.0, 3, 4)
    console = Console(width=120)
    with console.capture() as shown:
        console.print(progress_table(progress))
    assert "4 (1 unscored)" in shown.get()
    assert "8.00" in shown.get()


async def test_a_failed_answer_is_a_zero_of_the_genome_and_no_failed_judging(
    db: Database,
) -> None:
    world = await make_world(db, nothing_matters)
    answers = BrokenAnswers(world.answers, lambda question: question.endswith(" 1?"))
    judge = LlmJudge(chat := ScriptedChat(lambda request: verdict(8)))
    world = replace(world, parts=replace(world.parts, answer=answers, judge=judge))
    cycle_id, scored, board = await evaluate(world, 4)
    assert [each.score for each in scored] == [8.0, 0.0, 8.0, 8.0]
    assert [each.failed for each in scored] == [False, True, False, False]
    assert [row.judge_reasoning for row in await rows(world, cycle_id)][1] == "the answer failed"
    assert (board.progress.unscored, board.progress.failed) == (0, 1)
    assert chat.calls == 3  # what failed costs no judging
