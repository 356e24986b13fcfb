"""Finding the best point under given weights: one gene at a time, uphill."""

import numpy as np

from evolution.search.features import Array, Features
from evolution.search.space import Point


def climb(features: Features, weights: Array, start: Point, steps: int = 100) -> Point:
    """Go uphill from `start`, each time by the best change of one gene, until none is better."""
    hill = _Hill(features, weights)
    point = start
    for _ in range(steps):
        gene, level, gain = hill.best_step(point)
        if gain <= 1e-9:
            break
        point = (*point[:gene], level, *point[gene + 1 :])
    return point


class _Hill:
    """The value of every single change, from tables: no row of features is made."""

    def __init__(self, features: Features, weights: Array) -> None:
        self.features = features
        sizes = [m.shape[1] for m in (*features.mains, *features.counts)]
        parts = np.split(weights[: features.main_size], np.cumsum(sizes)[:-1])
        cut = len(features.mains)
        self.mains = [m @ w for m, w in zip(features.mains, parts[:cut], strict=True)]
        self.counts = [c @ w for c, w in zip(features.counts, parts[cut:], strict=True)]
        self.coupling = self._coupling(weights)

    def _coupling(self, weights: Array) -> Array | None:
        if weights.size == self.features.main_size:
            return None
        size = sum(c.shape[1] for c in self.features.contrasts)
        left, right = np.asarray(self.features.pairs).T
        coupling = np.zeros((size, size))
        coupling[left, right] = weights[self.features.main_size :]
        return coupling + coupling.T

    def best_step(self, point: Point) -> tuple[int, int, float]:
        pulls = self._pulls(point)
        counted = {i: k for k, group in enumerate(self.features.groups) for i in group}
        best = (0, point[0], 0.0)
        for i, main in enumerate(self.mains):
            change = main - main[point[i]]
            if pulls is not None:
                change = change + pulls[i] - pulls[i][point[i]]
            if i in counted:
                curve = self.counts[counted[i]]
                n = sum(point[j] for j in self.features.groups[counted[i]])
                other = n + 1 - 2 * point[i]
                change = change + np.where(np.arange(2) == point[i], 0.0, curve[other] - curve[n])
            level = int(np.argmax(change))
            if change[level] > best[2]:
                best = (i, level, float(change[level]))
        return best

    def _pulls(self, point: Point) -> list[Array] | None:
        """What the pair terms add for each level of each gene, all others held."""
        if self.coupling is None:
            return None
        contrasts = self.features.contrasts
        here = np.concatenate([c[at] for c, at in zip(contrasts, point, strict=True)])
        pull = self.coupling @ here
        parts = np.split(pull, np.cumsum([c.shape[1] for c in contrasts])[:-1])
        return [c @ p for c, p in zip(contrasts, parts, strict=True)]
