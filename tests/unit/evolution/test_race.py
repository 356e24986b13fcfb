"""Candidates are compared on the same questions, and money flows to those still in doubt."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from evolution.evaluate import Contender
from evolution.race import Lane, gain_over, line_of, run_race
from evolution.results import Phase, Scored
from evolution.shapes import CandidateProgress
from models.defaults import DEFAULT_SET
from models.tables import EvolutionGenome, Question


def lane(*scores: float | None) -> Lane:
    name = f"g-{uuid4().hex[:4]}"
    row = EvolutionGenome(operator="typed", notes="", content_hash=name)
    return Lane(row, Contender(uuid4(), name, DEFAULT_SET), list(scores))


def test_a_judge_that_fails_on_the_hard_half_raises_no_score() -> None:
    steady = lane(*[1.0] * 5, *[0.0] * 5)
    lucky = lane(*[1.0] * 5, *[None] * 5)
    gain = gain_over(steady, lucky)
    assert gain.mean == 0.0
    assert (gain.pairs, gain.asked) == (5, 10)
    assert not gain.comparable
    assert not gain.is_promising


def test_an_answer_to_the_easy_half_is_not_shown_as_twice_as_good() -> None:
    lanes = lane(*[10.0] * 5, *[0.0] * 5), lane(*[10.0] * 5, *[None] * 5)
    line = line_of(lanes[1], "racing", gain_over(*lanes))
    assert (line.mean, line.scored, line.answered) == (5.0, 5, 10)


def test_a_missing_score_leaves_the_mean_of_the_others_alone() -> None:
    gain = gain_over(lane(5.0, 5.0, 5.0, 5.0, 5.0), lane(5.8, 5.8, 5.8, 5.8, None))
    assert round(gain.mean, 9) == 0.8
    assert gain.comparable


def test_one_standard_error_is_needed_before_questions_are_spent() -> None:
    assert not gain_over(lane(5, 5, 5, 5), lane(9, 1, 9, 2)).is_promising
    assert gain_over(lane(5, 5, 5, 5), lane(6, 6, 6, 5)).is_promising
    assert not gain_over(lane(5, 5, 5, 5), lane(5, 5, 5, 5)).is_promising


@dataclass
class Ruler:
    """Scores by the contender's planted worth, and notes who was asked how much."""

    worth: dict[UUID, float]
    asked: dict[UUID, int] = field(default_factory=dict)

    async def eval_all(
        self, contenders: Sequence[Contender], questions: Sequence[Question], phase: Phase
    ) -> dict[UUID, list[Scored]]:
        for c in contenders:
            self.asked[c.genome_id] = self.asked.get(c.genome_id, 0) + len(questions)
        return {
            c.genome_id: [Scored(uuid4(), self.worth[c.genome_id]) for _ in questions]
            for c in contenders
        }


class QuietBoard:
    """A board that nobody watches."""

    async def show_candidate(self, candidate: CandidateProgress) -> None:
        pass


async def race(count: int, budget: int) -> tuple[Ruler, Lane, list[Lane], list[Lane]]:
    incumbent, lanes = lane(), [lane() for _ in range(count)]
    worth = {each.contender.genome_id: 5.0 + i / 10 for i, each in enumerate([incumbent, *lanes])}
    ruler = Ruler(worth)
    questions = [Question(text=str(n)) for n in range(48)]
    board = QuietBoard()
    order = await run_race(ruler, "postprocess", incumbent, lanes, questions, budget, board)  # type: ignore[arg-type]
    return ruler, incumbent, lanes, [each for each, _ in order]


async def test_the_better_half_goes_on_after_each_rung() -> None:
    ruler, incumbent, lanes, order = await race(8, budget=10_000)
    asked = [ruler.asked[each.contender.genome_id] for each in lanes]
    assert asked == [12, 12, 12, 12, 24, 24, 48, 48]
    assert ruler.asked[incumbent.contender.genome_id] == 48
    assert order == [lanes[7]]


async def test_a_rung_that_the_budget_does_not_pay_for_is_not_begun() -> None:
    ruler, _, lanes, order = await race(4, budget=60)
    assert sum(ruler.asked.values()) == 12 * 5
    assert order[0] is lanes[3]
