"""The search space: typed genes with their levels, and points in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["number", "choice", "switch"]

Point = tuple[int, ...]
"""A genome as the search sees it: for each gene the index of its level."""

MOST_LEVELS = 21
"""Levels of a number with a wide range; a narrower integer has each of its values."""

LOG_FROM = 16.0
"""Ratio of the bounds from which a positive number is spread by ratios, not by differences."""


@dataclass(frozen=True)
class Gene:
    """One gene with the levels that it can take, in order where they have one."""

    name: str
    kind: Kind
    levels: tuple[Any, ...]
    places: tuple[float, ...] = ()
    """Of a number: where each level lies between the bounds, 0-1."""
    group: str = ""
    """Of a switch: what it is one of (the instructions of one prompt)."""


@dataclass(frozen=True)
class SearchSpace:
    """All genes of a layer, or of a whole configuration."""

    genes: tuple[Gene, ...]

    def encode(self, values: Mapping[str, Any]) -> Point:
        """Give the point of a configuration. Raises ValueError on a value that is no level."""
        return tuple(gene.levels.index(values[gene.name]) for gene in self.genes)

    def decode(self, point: Point) -> dict[str, Any]:
        """Give the values of a point by gene name."""
        return {g.name: g.levels[at] for g, at in zip(self.genes, point, strict=True)}

    def neighbours(self, point: Point) -> list[Point]:
        """List the points that differ from `point` in one gene."""
        return [
            (*point[:i], level, *point[i + 1 :])
            for i, gene in enumerate(self.genes)
            for level in range(len(gene.levels))
            if level != point[i]
        ]


def number(name: str, low: float, high: float, *, whole: bool, seen: Iterable[Any] = ()) -> Gene:
    """Make a numeric gene of the bounds `low`..`high`; values in `seen` become levels too."""
    log = low > 0 and high / low >= LOG_FROM
    spread = np.geomspace(low, high, MOST_LEVELS) if log else np.linspace(low, high, MOST_LEVELS)
    if whole:
        few = high - low < MOST_LEVELS
        levels: set[Any] = set(range(int(low), int(high) + 1)) if few else {*map(round, spread)}
    else:
        levels = {round(float(x), 4) for x in spread}
    ordered = tuple(sorted(levels | set(seen)))
    return Gene(name, "number", ordered, tuple(_place(x, low, high, log) for x in ordered))


def choice(name: str, options: Iterable[Any]) -> Gene:
    """Make a gene that takes one of `options`, which have no order."""
    return Gene(name, "choice", tuple(options))


def switch(name: str, group: str = "") -> Gene:
    """Make a gene that is there or not."""
    return Gene(name, "switch", (False, True), group=group)


def _place(x: float, low: float, high: float, log: bool) -> float:
    if high == low:
        return 0.0
    if log:
        return float(np.log(x / low) / np.log(high / low))
    return float((x - low) / (high - low))
