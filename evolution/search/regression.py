"""Bayesian linear regression with a Gaussian prior (Bishop 2006, 3.3)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from evolution.search.features import Array


@dataclass(frozen=True)
class Moments:
    """Sums over all observations, which is all that a regression needs."""

    gram: Array
    moment: Array
    square: float
    count: int


def sum_up(rows: Array, scores: Array) -> Moments:
    """Sum up n observations. Shapes (n, terms) and (n,)."""
    return Moments(rows.T @ rows, rows.T @ scores, float(scores @ scores), len(scores))


class Posterior:
    """The posterior of the weights, by one Cholesky factor of their precision."""

    def __init__(self, moments: Moments, variance: Array, noise: float) -> None:
        """`variance`: of the prior, shape (terms,); `noise`: standard deviation of a score."""
        precision = moments.gram / noise**2
        precision[np.diag_indices_from(precision)] += 1 / variance
        self._root = cholesky(precision, lower=True, check_finite=False)
        moment = moments.moment / noise**2
        self.mean: Array = cho_solve((self._root, True), moment, check_finite=False)
        misfit = moments.square / noise**2 - moment @ self.mean
        volume = 2 * np.log(np.diag(self._root)).sum() + np.log(variance).sum()
        self.log_evidence = float(-(misfit + volume) / 2 - moments.count * np.log(noise))
        """Up to a constant that no choice of scales changes."""

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw all weights. Shape (terms,)."""
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
