"""The search: all candidates answer the same questions, and the better half goes on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, Protocol
from uuid import UUID

import numpy as np

from evolution.allotment import baseline_cost, rung_blocks
from evolution.evaluate import Contender
from evolution.progress import Board
from evolution.results import Phase, Scored
from evolution.shapes import CandidateProgress
from kit.errors import BudgetExhausted
from models.genome import Layer
from models.tables import EvolutionGenome, Question

MIN_COMMON = 0.8
"""Least share of questions scored for both sides: below it a candidate cannot win."""

WORTH_A_PROOF = 1.0
"""Standard errors above 0 that the search gain must reach before fresh questions are spent."""

LEAST_GAIN = 0.1
"""Points of 10 under which a gain is not worth a proof, however sure it looks."""


class Evaluates(Protocol):
    async def eval_all(
        self, contenders: Sequence[Contender], questions: Sequence[Question], phase: Phase
    ) -> dict[UUID, list[Scored]]: ...


@dataclass
class Lane:
    """One genome in the race, with its scores so far (None: unscored)."""

    row: EvolutionGenome
    contender: Contender
    scores: list[float | None] = field(default_factory=list)


@dataclass(frozen=True)
class Gain:
    """Mean paired difference to the incumbent on common questions, its standard error."""

    mean: float
    error: float
    pairs: int
    asked: int
    level: float = 0.0
    """The incumbent's own mean, on all questions that it has scores for."""

    @property
    def comparable(self) -> bool:
        return self.pairs >= max(2, MIN_COMMON * self.asked)

    @property
    def is_promising(self) -> bool:
        return self.comparable and self.mean >= max(LEAST_GAIN, WORTH_A_PROOF * self.error)


async def run_race(
    evaluator: Evaluates,
    layer: Layer,
    incumbent: Lane,
    candidates: Sequence[Lane],
    questions: Sequence[Question],
    budget: int,
    board: Board,
) -> list[tuple[Lane, Gain]]:
    """Race `candidates` on growing prefixes of `questions`; give those left, best first.

    A rung that `budget` judged answers do not pay for is not begun.
    """
    alive = list(candidates)
    for block in rung_blocks(len(questions)):
        cost = len(block) * (baseline_cost(layer) + len(alive))
        if cost > budget:
            break
        budget -= cost
        lanes = [incumbent, *alive]
        asked = [questions[i] for i in block]
        try:
            scores = await evaluator.eval_all([lane.contender for lane in lanes], asked, "search")
        except BudgetExhausted as error:
            if not error.kept:
                raise
            break  # the search has used up its part: the proof has what was kept for it
        for lane in lanes:
            lane.scores += [result.score for result in scores[lane.contender.genome_id]]
        alive = await _keep_better_half(incumbent, alive, board)
    return ranked(incumbent, alive)


def ranked(incumbent: Lane, lanes: Sequence[Lane]) -> list[tuple[Lane, Gain]]:
    """Rank by mean paired gain; those not comparable come last."""
    gains = [(lane, gain_over(incumbent, lane)) for lane in lanes]
    return sorted(gains, key=lambda item: (not item[1].comparable, -item[1].mean))


def gain_over(incumbent: Lane, lane: Lane) -> Gain:
    """Compare on the questions that both have scores for."""
    common = [
        theirs - ours
        for ours, theirs in zip(incumbent.scores, lane.scores, strict=True)
        if ours is not None and theirs is not None
    ]
    if not common:
        return Gain(0.0, 0.0, 0, len(lane.scores))
    level = float(np.mean([score for score in incumbent.scores if score is not None]))
    error = float(np.std(common, ddof=1) / np.sqrt(len(common))) if len(common) > 1 else 0.0
    return Gain(float(np.mean(common)), error, len(common), len(lane.scores), level)


async def _keep_better_half(incumbent: Lane, alive: Sequence[Lane], board: Board) -> list[Lane]:
    order = ranked(incumbent, alive)
    kept = ceil(len(order) / 2)
    await board.show_candidate(line_of(incumbent, "incumbent", None))
    for place, (lane, gain) in enumerate(order):
        await board.show_candidate(line_of(lane, "racing" if place < kept else "dropped", gain))
    return [lane for lane, _ in order[:kept]]


def line_of(
    lane: Lane, state: Literal["racing", "dropped", "finalist", "incumbent"], gain: Gain | None
) -> CandidateProgress:
    """Make the line of the board for one genome.

    A candidate's mean is the incumbent's and its gain on common questions: where the judge
    failed on hard ones, the mean of the rest would flatter.
    """
    known = [score for score in lane.scores if score is not None]
    own = float(np.mean(known)) if known else None
    return CandidateProgress(
        genome_id=lane.contender.genome_id,
        name=lane.contender.name,
        operator=lane.row.operator,
        note=lane.row.notes,
        state=state,
        answered=len(lane.scores),
        scored=len(known),
        mean=gain.level + gain.mean if gain and gain.pairs else own,
        delta=gain.mean if gain and gain.pairs else None,
    )
