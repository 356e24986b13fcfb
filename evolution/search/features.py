"""What the surrogate sees of a point: smooth curves, choices, switches, and their pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from evolution.search.space import Gene, Kind, Point, SearchSpace

Array = NDArray[np.float64]

CURVE_TERMS = 4
CURVE_WIDTH = 0.5
"""Length scale of a number's effect, as a share of its range: one bend, seldom two."""


MOST_PAIRS = 600
"""A fit takes the cube of their number: more would take seconds a round."""


@dataclass(frozen=True)
class Features:
    """Maps points of a space to rows of numbers.

    Main terms: for each gene a block of `mains[i][level]`. Count terms: a curve over how many
    switches of a group are on, because a prompt saturates. Pair terms: products of one contrast
    of each of two genes.
    """

    space: SearchSpace
    mains: tuple[Array, ...]
    contrasts: tuple[Array, ...]
    groups: tuple[tuple[int, ...], ...]
    counts: tuple[Array, ...]
    pairs: tuple[tuple[int, int], ...]
    """Columns of the stacked contrasts that are multiplied."""

    @property
    def main_size(self) -> int:
        return sum(m.shape[1] for m in (*self.mains, *self.counts))

    @property
    def kind_of_main(self) -> list[Kind]:
        """The kind of gene behind each main term; a count is of its switches."""
        kinds = [gene.kind for gene in self.space.genes] + ["switch"] * len(self.counts)
        blocks = (*self.mains, *self.counts)
        return [k for k, b in zip(kinds, blocks, strict=True) for _ in range(b.shape[1])]

    @property
    def kinds(self) -> list[Kind]:
        return sorted(set(self.kind_of_main))

    @property
    def size(self) -> int:
        return self.main_size + len(self.pairs)

    def rows(self, points: Sequence[Point], *, paired: bool) -> Array:
        """Give the feature rows. Shape (len(points), size), or main_size without the pairs."""
        at = np.asarray(points, dtype=np.intp)
        blocks = [m[at[:, i]] for i, m in enumerate(self.mains)]
        blocks += [
            c[at[:, list(g)].sum(axis=1)] for g, c in zip(self.groups, self.counts, strict=True)
        ]
        if paired and self.pairs:
            flat = self.contrast_rows(at)
            left, right = np.asarray(self.pairs).T
            blocks.append(flat[:, left] * flat[:, right])
        return np.concatenate(blocks, axis=1)

    def contrast_rows(self, at: NDArray[np.intp]) -> Array:
        return np.concatenate([c[at[:, i]] for i, c in enumerate(self.contrasts)], axis=1)


def make_features(space: SearchSpace) -> Features:
    """Make the feature map of a space."""
    contrasts = tuple(_contrast(gene) for gene in space.genes)
    pairs = _pairs(space, contrasts)
    names = sorted({gene.group for gene in space.genes if gene.kind == "switch"})
    groups = tuple(
        tuple(i for i, g in enumerate(space.genes) if g.kind == "switch" and g.group == name)
        for name in names
    )
    counts = tuple(_curve(np.linspace(0, 1, len(group) + 1)) for group in groups)
    return Features(space, tuple(_main(g) for g in space.genes), contrasts, groups, counts, pairs)


def _pairs(space: SearchSpace, contrasts: tuple[Array, ...]) -> tuple[tuple[int, int], ...]:
    """Pair the columns of different genes, those of numbers and choices before switches."""
    sizes = [c.shape[1] for c in contrasts]
    owner = [i for i, size in enumerate(sizes) for _ in range(size)]
    switches = [space.genes[i].kind == "switch" for i in owner]
    pairs = [(i, j) for i, j in combinations(range(len(owner)), 2) if owner[i] != owner[j]]
    pairs.sort(key=lambda pair: switches[pair[0]] + switches[pair[1]])
    return tuple(pairs[:MOST_PAIRS])


def _main(gene: Gene) -> Array:
    if gene.kind == "number":
        return _curve(np.asarray(gene.places))
    if gene.kind == "choice":
        return np.eye(len(gene.levels))
    return np.array([[0.0], [1.0]])


def _contrast(gene: Gene) -> Array:
    if gene.kind == "number":
        return (np.asarray(gene.places) - 0.5)[:, None]
    if gene.kind == "choice":
        return np.eye(len(gene.levels)) - 1 / len(gene.levels)
    return np.array([[-0.5], [0.5]])


def _curve(places: Array) -> Array:
    """Rows whose products are a squared-exponential kernel. Shape (len(places), CURVE_TERMS)."""
    knots = np.linspace(0, 1, CURVE_TERMS)
    root = np.linalg.cholesky(_kernel(knots, knots) + 1e-6 * np.eye(CURVE_TERMS))
    return np.asarray(np.linalg.solve(root, _kernel(knots, places)).T)


def _kernel(a: Array, b: Array) -> Array:
    return np.asarray(np.exp(-0.5 * ((a[:, None] - b[None, :]) / CURVE_WIDTH) ** 2))
