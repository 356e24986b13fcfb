"""The surrogate: a Bayesian linear model over genes, with a fixed effect for each question."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from evolution.search.features import Array, Features
from evolution.search.space import Point


@dataclass(frozen=True)
class Observation:
    """One judged answer: a point of the space, the question, its score."""

    point: Point
    question: Hashable
    score: float


@dataclass(frozen=True)
class Scales:
    """Standard deviations of the model, in points of the score. The data choose them."""

    number: float = 0.5
    choice: float = 0.5
    switch: float = 0.5
    pair: float = 0.0
    """0: the model is additive."""
    noise: float = 1.0


QUESTION_SD = 1.5
LEVEL_SD = 5.0
STEP = 1.3
LEAST, MOST = 0.05, 4.0
PAIR_SCALES = (0.1, 0.3)
MISSED_FROM = 2.0
"""Standard errors from which residuals that go together count as a sign of interactions."""


class Surrogate:
    """score = level + question + features(genome) . weights + noise, all of them Gaussian.

    Features are differences to the incumbent, whose own gain is 0 by construction. The scales
    maximise the evidence (MacKay 1992); pair terms come in where the evidence asks for them.
    """

    def __init__(
        self, features: Features, incumbent: Point, observations: Sequence[Observation]
    ) -> None:
        self.features = features
        self._origin = features.rows([incumbent])[0]
        place = {q: i for i, q in enumerate(dict.fromkeys(o.question for o in observations))}
        rows = features.rows([o.point for o in observations]) - self._origin
        asked = np.zeros((len(rows), len(place) + 1))
        asked[np.arange(len(rows)), [place[o.question] for o in observations]] = 1.0
        asked[:, -1] = 1.0
        self._rows, self._asked = rows, asked
        self._scores = np.array([o.score for o in observations])
        tried = {
            p: i for i, p in enumerate(dict.fromkeys([incumbent, *(o.point for o in observations)]))
        }
        self._genome = np.array([tried[o.point] for o in observations])
        self.scales = self._choose_scales()
        self._posterior = self._posterior_of(self.scales)

    @property
    def width(self) -> int:
        """Number of terms in use: all of them, or the main ones alone."""
        return self.features.size if self.scales.pair else self.features.main_size

    @property
    def weights(self) -> Array:
        """Posterior mean. Shape (width,)."""
        return self._posterior.mean[: self.width]

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw weights from the posterior. Shape (width,)."""
        return self._posterior.sample(rng)[: self.width]

    def gain(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Mean and standard deviation of the gain over the incumbent. Shapes (len(points),)."""
        rows = (self.features.rows(points) - self._origin)[:, : self.width]
        return rows @ self.weights, self._posterior.spread(rows)

    def term(self, row: Array) -> tuple[float, float]:
        """Mean and standard deviation of one combination of terms. `row` has shape (width,)."""
        return float(row @ self.weights), float(self._posterior.spread(row[None, :])[0])

    def _choose_scales(self) -> Scales:
        """Walk uphill in the evidence, scale by scale; try pair terms where they are missed."""
        best, scales = self._posterior_of(Scales()).log_evidence, Scales()
        for name in ("noise", *self.features.kinds, "noise"):
            best, scales = self._walk(best, scales, name)
        if not self._strays(scales):
            return scales
        trials = [replace(scales, pair=pair) for pair in PAIR_SCALES]
        return max([scales, *trials], key=lambda s: self._posterior_of(s).log_evidence)

    def _walk(self, best: float, scales: Scales, name: str) -> tuple[float, Scales]:
        for factor in (STEP, 1 / STEP):
            while LEAST <= (value := getattr(scales, name) * factor) <= MOST:
                trial = replace(scales, **{name: value})
                if (evidence := self._posterior_of(trial).log_evidence) <= best:
                    break
                best, scales = evidence, trial
        return best, scales

    @cached_property
    def misses_something(self) -> bool:
        """Tell whether the model in use, with its pair terms if any, leaves genomes unexplained."""
        return self._strays(self.scales)

    def _strays(self, scales: Scales) -> bool:
        """Tell whether answers of one genome stray from the model together.

        Their residuals would be independent if the model explained all of a genome: the sum of
        products within genomes is then 0, give or take its own standard error.
        """
        width = self.features.size if scales.pair else self.features.main_size
        rows = np.hstack([self._rows[:, :width], self._asked])
        rest = self._scores - rows @ self._posterior_of(scales).mean
        sums = np.bincount(self._genome, rest)
        squares = np.bincount(self._genome, rest**2)
        products = (sums**2 - squares)[1:] / 2  # the incumbent's own are not asked about
        error = float(np.sqrt((products**2).sum()))
        return bool(products.sum() > MISSED_FROM * error > 0)

    def _posterior_of(self, scales: Scales) -> "_Posterior":
        moments = self._with_pairs if scales.pair else self._additive
        width = self.features.size if scales.pair else self.features.main_size
        variance = np.full(width, scales.pair**2)
        variance[: self.features.main_size] = [
            getattr(scales, kind) ** 2 for kind in self.features.kind_of_main
        ]
        nuisance = np.full(self._asked.shape[1], QUESTION_SD**2)
        nuisance[-1] = LEVEL_SD**2
        return _Posterior(moments, np.concatenate([variance, nuisance]), scales.noise)

    @cached_property
    def _additive(self) -> "_Moments":
        return _moments(self._rows[:, : self.features.main_size], self._asked, self._scores)

    @cached_property
    def _with_pairs(self) -> "_Moments":
        return _moments(self._rows, self._asked, self._scores)


@dataclass(frozen=True)
class _Moments:
    """Sums over all observations, which is all that the regression needs."""

    gram: Array
    moment: Array
    square: float
    count: int


def _moments(rows: Array, asked: Array, scores: Array) -> _Moments:
    x = np.hstack([rows, asked])
    return _Moments(x.T @ x, x.T @ scores, float(scores @ scores), len(scores))


class _Posterior:
    """Bayesian linear regression (Bishop 2006, 3.3) by one Cholesky factor of the precision."""

    def __init__(self, moments: _Moments, variance: Array, noise: float) -> None:
        precision = moments.gram / noise**2
        precision[np.diag_indices_from(precision)] += 1 / variance
        self._root = cholesky(precision, lower=True, check_finite=False)
        moment = moments.moment / noise**2
        self.mean: Array = cho_solve((self._root, True), moment, check_finite=False)
        misfit = moments.square / noise**2 - moment @ self.mean
        volume = 2 * np.log(np.diag(self._root)).sum() + np.log(variance).sum()
        self.log_evidence = float(-(misfit + volume) / 2 - moments.count * np.log(noise))

    def sample(self, rng: np.random.Generator) -> Array:
        z = rng.normal(size=self.mean.size)
        return np.asarray(self.mean + self._solve(z, "T"))

    def spread(self, rows: Array) -> Array:
        """Standard deviation of rows @ weights; columns that are left out count as 0."""
        wide = np.zeros((self.mean.size, len(rows)))
        wide[: rows.shape[1]] = rows.T
        return np.asarray(np.sqrt((self._solve(wide, "N") ** 2).sum(axis=0)))

    def _solve(self, right: Array, trans: Literal["N", "T"]) -> Array:
        return np.asarray(
            solve_triangular(self._root, right, lower=True, trans=trans, check_finite=False)
        )
