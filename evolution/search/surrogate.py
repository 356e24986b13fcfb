"""The surrogate: a Bayesian linear model over genes, with a fixed effect for each question."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evolution.search.features import Array, Features
from evolution.search.regression import Moments, Posterior, sum_up
from evolution.search.space import Point


@dataclass(frozen=True)
class Observation:
    """One judged answer: a point of the space, the question, its score."""

    point: Point
    question: Hashable
    score: float


TYPICAL = 0.5
"""Points of the score that a gene is usually worth, and e times more or less: a log-normal prior.

Without it few noisy answers can tell best that no gene is worth anything; then nothing more is
tried.
"""


@dataclass(frozen=True)
class Scales:
    """Prior standard deviations in points of the score, one a kind of term; the data choose."""

    number: float = TYPICAL
    choice: float = TYPICAL
    switch: float = TYPICAL
    pair: float = 0.0
    """0: the model is additive."""
    question: float = 1.5
    noise: float = 1.0


LEVEL_SD = 5.0
STEP = 1.3
LEAST, MOST = 0.05, 4.0
PAIR_SCALES = (0.1, 0.3)
MISSED_FROM = 2.0
"""Standard errors from which residuals that go together count as a sign of interactions."""


class Surrogate:
    """score = level + question + features(genome) . weights + noise, all of them Gaussian.

    Features are differences to the incumbent, whose own gain is 0 by construction. The scales
    maximise the evidence (MacKay 1992) times their prior; pair terms come in where the additive
    model leaves genomes unexplained and the evidence prefers them. Needs at least one observation.
    """

    def __init__(
        self, features: Features, incumbent: Point, observations: Sequence[Observation]
    ) -> None:
        self.features = features
        self._incumbent = incumbent
        self._points = list(dict.fromkeys([incumbent, *(o.point for o in observations)]))
        number = {point: i for i, point in enumerate(self._points)}
        self._genome = np.array([number[o.point] for o in observations])
        self._asked = _asked(observations)
        self._scores = np.array([o.score for o in observations])
        self.scales = self._choose_scales()
        self._posterior = self._posterior_of(self.scales)

    @property
    def is_paired(self) -> bool:
        """Whether pair terms are in use."""
        return self.scales.pair > 0

    @property
    def weights(self) -> Array:
        """Posterior mean. Shape (terms in use,)."""
        return self._posterior.mean[: self._width(self.scales)]

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw weights from the posterior. Shape (terms in use,)."""
        return self._posterior.sample(rng)[: self._width(self.scales)]

    def gain(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Mean and standard deviation of the gain over the incumbent. Shapes (len(points),)."""
        return self.combine(self.relative(points, paired=self.is_paired))

    def combine(self, rows: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of combinations of terms. `rows`: (n, terms in use)."""
        return rows @ self.weights, self._posterior.spread(rows)

    def relative(self, points: Sequence[Point], *, paired: bool) -> Array:
        """Give the feature rows of points, less the incumbent's."""
        rows = self.features.rows([self._incumbent, *points], paired=paired)
        return np.asarray(rows[1:] - rows[0])

    @cached_property
    def misses_something(self) -> bool:
        """Tell whether the model in use, with its pair terms if any, leaves genomes unexplained."""
        return self._strays(self.scales)

    def _choose_scales(self) -> Scales:
        """Walk uphill in the evidence, scale by scale; try pair terms where they are missed."""
        best, scales = self._plausibility(Scales()), Scales()
        for name in ("noise", "question", *self.features.kinds, "noise", "question"):
            best, scales = self._walk(best, scales, name)
        if not (self.features.pairs and self._strays(scales)):
            return scales
        trials = [replace(scales, pair=pair) for pair in PAIR_SCALES]
        return max([scales, *trials], key=self._plausibility)

    def _plausibility(self, scales: Scales) -> float:
        """Log evidence and log prior of the scales, up to a constant."""
        away = np.log([getattr(scales, kind) / TYPICAL for kind in self.features.kinds])
        return self._posterior_of(scales).log_evidence - 0.5 * float(away @ away)

    def _walk(self, best: float, scales: Scales, name: str) -> tuple[float, Scales]:
        for factor in (STEP, 1 / STEP):
            while LEAST <= (value := getattr(scales, name) * factor) <= MOST:
                trial = replace(scales, **{name: value})
                if (evidence := self._plausibility(trial)) <= best:
                    break
                best, scales = evidence, trial
        return best, scales

    def _strays(self, scales: Scales) -> bool:
        """Tell whether answers of one genome stray from the model together.

        Their residuals would be independent if the model explained all of a genome: the sum of
        products within genomes is then 0, give or take its own standard error.
        """
        mean = self._posterior_of(scales).mean
        rest = self._scores - self._rows(scales) @ mean
        sums = np.bincount(self._genome, rest)
        squares = np.bincount(self._genome, rest**2)
        products = (sums**2 - squares)[1:] / 2  # the incumbent's gain is 0 in any model
        error = float(np.sqrt((products**2).sum()))
        return bool(products.sum() > MISSED_FROM * error > 0)

    def _posterior_of(self, scales: Scales) -> Posterior:
        variance = np.full(self._width(scales), scales.pair**2)
        kinds = self.features.kind_of_main
        variance[: len(kinds)] = [getattr(scales, kind) ** 2 for kind in kinds]
        nuisance = np.full(self._asked.shape[1], scales.question**2)
        nuisance[-1] = LEVEL_SD**2
        moments = self._paired_moments if scales.pair else self._additive_moments
        return Posterior(moments, np.concatenate([variance, nuisance]), scales.noise)

    def _width(self, scales: Scales) -> int:
        return self.features.size if scales.pair else self.features.main_size

    def _rows(self, scales: Scales) -> Array:
        rows = self.relative(self._points, paired=scales.pair > 0)
        return np.hstack([rows[self._genome], self._asked])

    @cached_property
    def _additive_moments(self) -> Moments:
        return sum_up(self._rows(Scales()), self._scores)

    @cached_property
    def _paired_moments(self) -> Moments:
        return sum_up(self._rows(Scales(pair=1.0)), self._scores)


def _asked(observations: Sequence[Observation]) -> Array:
    """One column a question, and one of ones for the level."""
    questions = dict.fromkeys(o.question for o in observations)
    place = {question: i for i, question in enumerate(questions)}
    asked = np.zeros((len(observations), len(place) + 1))
    asked[np.arange(len(observations)), [place[o.question] for o in observations]] = 1.0
    asked[:, -1] = 1.0
    return asked
