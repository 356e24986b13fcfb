"""One night of the product's own search and proof, with the answers judged by somebody else."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from uuid import NAMESPACE_OID, uuid5

from evolution.proof.group_sequential import conclude, judge_look, planned_looks
from evolution.search.effort import Effort, plan_effort
from evolution.search.searcher import Nominee, Search, Trial
from evolution.search.space import Point, SearchSpace
from evolution.search.surrogate import Observation
from evolution.shapes import Pair, Proof

Judge = Callable[[Point, Sequence[Hashable]], list[float | None]]
"""Answers questions under a point and judges them, 0-10; None where the judging failed."""

NO_LIMIT = 10**6


@dataclass
class Night:
    """A night's search from one incumbent, and the proof of what it nominates."""

    space: SearchSpace
    incumbent: Point
    judge: Judge
    seed: int
    observations: list[Observation] = field(default_factory=list)
    """All that was ever judged; of former nights at the start."""

    def search(self, questions: Sequence[Hashable], answers: int) -> Nominee:
        """Spend at most `answers` judged answers on `questions`; give what is nominated."""
        effort = plan_effort(answers, len(questions), NO_LIMIT, 1)
        left = answers - self._run(self._look(questions).open(effort))
        number = 0
        while True:
            look, number = self._look(questions), number + 1
            free = left - look.reserve(effort)
            trials = look.ask(number, _cut(effort, free)) if free >= effort.per_trial else []
            if not trials:
                break
            left -= self._run(trials)
        self._run(look.check(effort))
        return self._look(questions).decide()

    def prove(self, finalist: Point, questions: Sequence[Hashable], alpha: float) -> Proof:
        """Answer and judge both sides anew on fresh questions, in turns, look by look."""
        looks, pairs = planned_looks(len(questions)), list[Pair]()
        for look, (start, end) in enumerate(pairwise((0, *looks)), start=1):
            pairs += [self._pair(finalist, q, i % 2) for i, q in enumerate(questions[start:end])]
            if judge_look(pairs, look, looks, alpha) != "go_on":
                break
        return conclude(pairs, look, looks, alpha)

    def _look(self, questions: Sequence[Hashable]) -> Search:
        return Search(self.space, self.incumbent, questions, self.observations, self.seed)

    def _run(self, trials: Sequence[Trial]) -> int:
        for trial in trials:
            self._ask(trial.point, trial.questions)
        return sum(len(trial.questions) for trial in trials)

    def _pair(self, finalist: Point, question: Hashable, turn: int) -> Pair:
        sides = (self.incumbent, finalist) if turn == 0 else (finalist, self.incumbent)
        scores = {side: self._ask(side, [question])[0] for side in sides}
        return Pair(
            question_id=uuid5(NAMESPACE_OID, repr(question)),
            query=str(question),
            incumbent=scores[self.incumbent],
            candidate=scores[finalist],
        )

    def _ask(self, point: Point, questions: Sequence[Hashable]) -> list[float | None]:
        scores = self.judge(point, questions)
        known = [(q, s) for q, s in zip(questions, scores, strict=True) if s is not None]
        self.observations += [Observation(point, q, score) for q, score in known]
        return scores


def _cut(effort: Effort, free: int) -> Effort:
    return replace(effort, round=min(effort.round, free))
