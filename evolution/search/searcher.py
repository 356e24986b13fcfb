"""The search: which genomes to try next, on which questions, and which of them to nominate."""

import random
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from evolution.search.ascent import climb
from evolution.search.effort import Effort
from evolution.search.features import Array, Features, make_features
from evolution.search.pairing import LEAST_PAIRS, paired_gains
from evolution.search.space import Point, SearchSpace
from evolution.search.surrogate import Observation, Surrogate

DESIGN_GENES = 5
"""Genes that a random design moves."""

CAUTION = 0.5
"""Standard deviations that a nominee's gain is marked down by, so that sureness counts."""

SURE = 1.0
"""Standard deviations above 0 that a gain must reach before fresh questions are spent on it."""

COST_SCALE = 10.0
"""What the incumbent's cost is written as, so that the scales of scores fit costs as well."""

LEAST_GAIN = 0.1
"""Points under which a gain is not worth a proof, however sure it looks."""


@dataclass(frozen=True)
class Trial:
    """One point put to a few questions, and what the model expected of it."""

    point: Point
    questions: tuple[Hashable, ...]
    predicted: float = 0.0
    error: float = 0.0


@dataclass(frozen=True)
class Nominee:
    """A point that looks better than the incumbent, and how sure that is."""

    point: Point
    gain: float
    error: float

    @property
    def is_promising(self) -> bool:
        return self.gain >= max(LEAST_GAIN, SURE * self.error)


class Search:
    """What is known after some rounds. A pure function of its arguments: nothing is remembered.

    `observations` are all judged answers ever bought in this space, of this night and before;
    a point of `barred` is neither tried nor nominated (a person has turned it down, or it
    waits for one). `costs` are what answers cost, as shares of the incumbent's mean; where there
    are any, nobody is nominated whose answers are expected to cost more than `dearest`.
    """

    def __init__(
        self,
        space: SearchSpace,
        incumbent: Point,
        questions: Sequence[Hashable],
        observations: Sequence[Observation],
        seed: int,
        barred: Collection[Point] = (),
        costs: Sequence[Observation] = (),
        dearest: float = 1.0,
    ) -> None:
        self.space = space
        self.incumbent = incumbent
        self.questions = tuple(questions)
        self.observations = tuple(observations)
        self.barred = frozenset(barred) - {incumbent}
        self.seed = seed
        self._costs = costs
        self._dearest = dearest
        self.answered: dict[Point, set[Hashable]] = defaultdict(set)
        for seen in observations:
            self.answered[seen.point].add(seen.question)

    @cached_property
    def features(self) -> Features:
        return make_features(self.space)

    @cached_property
    def model(self) -> Surrogate:
        return Surrogate(self.features, self.incumbent, self.observations)

    def open(self, effort: Effort) -> list[Trial]:
        """Give the first trials: the incumbent's, and random designs where nothing is known."""
        rng = random.Random(f"{self.seed}:designs")
        number = 0 if self.observations else effort.designs
        designs = dict.fromkeys(self._design(rng) for _ in range(number))
        others = [p for p in designs if p != self.incumbent and p not in self.barred]
        pack = _Pack(self, 0, effort)
        first = pack.deal_to(self.incumbent, effort.base)
        return _some([first, *(pack.deal_to(p, effort.per_trial) for p in others)])

    def ask(self, number: int, effort: Effort, others: Sequence[Point] = ()) -> list[Trial]:
        """Give the trials of round `number`; an empty list means that nothing is left to try.

        `others` are points that somebody else proposes: they are tried first. The rest of the
        round is drawn by Thompson sampling: each trial is the best point of one draw of the
        posterior, so that what may still be best is tried as often as it may be best.
        """
        rng = np.random.default_rng([self.seed, number])
        most = effort.round // effort.per_trial
        draws = max(0, most - len(others))
        drawn = [climb(self.features, self.model.sample(rng), self.summit) for _ in range(draws)]
        points = [p for p in (*others, *drawn) if p not in self.barred][:most]
        pack = _Pack(self, number, effort)
        return _some(self._predicted([pack.deal_to(p, effort.per_trial) for p in points]))

    def reserve(self, effort: Effort) -> int:
        """Judged answers to keep for the check: more where the model misses something."""
        return effort.check if self.races else min(effort.check, effort.base)

    @property
    def races(self) -> bool:
        """Whether the last word is a race: the model does not explain what was judged."""
        return bool(self.observations) and self.model.misses_something

    def check(self, effort: Effort) -> list[Trial]:
        """Let the finalists answer what the incumbent has answered: same questions, paired.

        It is one finalist where the model explains the data, else as many as can be paid for.
        """
        theirs = [q for q in self.questions if q in self.answered[self.incumbent]][: effort.base]
        trials, left = [], self.reserve(effort)
        for point in self._finalists(max(1, left // max(1, effort.base))):
            asked = [q for q in theirs if q not in self.answered[point]][:left]
            left -= len(asked)
            trials.append(Trial(point, tuple(asked)))
        return _some(self._predicted(trials))

    def _finalists(self, most: int) -> list[Point]:
        if not self.races:
            return [self.nominate().point]
        tried = list(dict.fromkeys([self.summit, *(o.point for o in self.observations)]))
        free = [p for p in self._free(tried) if p != self.incumbent]
        gain, error = self.model.gain(free)
        order = np.argsort(-(gain - CAUTION * error))
        return [free[i] for i in order[:most]]

    def decide(self) -> Nominee:
        """Nominate for the proof: by the model, or by the race where the model misses something."""
        if not self.races:
            return self.nominate()
        paired = paired_gains(self.observations, self.incumbent)
        known = [p for p, g in paired.items() if g.pairs >= LEAST_PAIRS]
        raced = {p: paired[p] for p in (self._free(known) if known else [])}
        if not raced:
            return self.nominate()
        best = max(raced, key=lambda p: raced[p].mean - CAUTION * raced[p].error)
        return Nominee(best, raced[best].mean, raced[best].error)

    def cost_ratios(self, points: Sequence[Point]) -> Array:
        """Expected cost of an answer as a share of the incumbent's. Shape (len(points),)."""
        if self._cost_model is None:
            return np.ones(len(points))
        return np.asarray(1 + self._cost_model.gain(points)[0] / COST_SCALE)

    @cached_property
    def _cost_model(self) -> Surrogate | None:
        """The same model, over costs: a genome's cost is a sum over its genes as well."""
        scaled = [Observation(o.point, o.question, COST_SCALE * o.score) for o in self._costs]
        return Surrogate(self.features, self.incumbent, scaled) if scaled else None

    def _free(self, points: Sequence[Point]) -> list[Point]:
        """Keep the points that may be nominated."""
        ratios = self.cost_ratios(points)
        return [
            point
            for point, ratio in zip(points, ratios, strict=True)
            if point == self.incumbent or (ratio <= self._dearest and point not in self.barred)
        ]

    @cached_property
    def summit(self) -> Point:
        """The point that the model believes best."""
        return climb(self.features, self.model.weights, self.incumbent)

    def nominate(self) -> Nominee:
        """Give the point with the best gain, marked down by its uncertainty; maybe the incumbent.

        Any point may be it, whether it was tried or not.
        """
        tried = dict.fromkeys(o.point for o in self.observations)
        best = self._most_certain([self.incumbent, self.summit, *tried])
        while (better := self._most_certain([best, *self.space.neighbours(best)])) != best:
            best = better
        gain, error = self.model.gain([best])
        return Nominee(best, float(gain[0]), float(error[0]))

    def _most_certain(self, points: Sequence[Point]) -> Point:
        free = self._free(points)
        gain, error = self.model.gain(free)
        return free[int(np.argmax(gain - CAUTION * error))]

    def _design(self, rng: random.Random) -> Point:
        """Move a handful of genes of the incumbent anywhere."""
        point = list(self.incumbent)
        for i in rng.sample(range(len(point)), min(DESIGN_GENES, len(point))):
            point[i] = rng.randrange(len(self.space.genes[i].levels))
        return tuple(point)

    def _predicted(self, trials: Sequence[Trial]) -> list[Trial]:
        if not trials:
            return []
        gain, error = self.model.gain([t.point for t in trials])
        return [
            Trial(t.point, t.questions, float(g), float(e))
            for t, g, e in zip(trials, gain, error, strict=True)
        ]


class _Pack:
    """The questions of one round: decks, each shuffled, so that all come up equally often.

    Where all trials share a stream, it is the same first questions again and again.
    """

    def __init__(self, search: Search, number: int, effort: Effort) -> None:
        streamed = search.questions[: effort.per_trial]
        self._questions = streamed if effort.same_questions else search.questions
        self._answered = {point: set(known) for point, known in search.answered.items()}
        self._dealt = self._deal(search.seed, number * effort.round, effort.same_questions)

    def _deal(self, seed: int, start: int, same: bool) -> Iterator[Hashable]:
        size = len(self._questions)
        for at in count(0 if same else start):
            deck = list(self._questions)
            if not same:
                random.Random(f"{seed}:deck:{at // size}").shuffle(deck)
            yield deck[at % size]

    def deal_to(self, point: Point, most: int) -> Trial:
        """Put a point to the next questions that it has not answered, at most `most`."""
        answered = self._answered.setdefault(point, set())
        asked: list[Hashable] = []
        while len(asked) < most and not answered.issuperset(self._questions):
            question = next(self._dealt)
            if question not in answered:
                answered.add(question)
                asked.append(question)
        return Trial(point, tuple(asked))


def _some(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.questions]
