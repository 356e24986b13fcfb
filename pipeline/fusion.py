"""How two rankings become one."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def fuse(rankings: Sequence[tuple[float, Sequence[T]]], k: int) -> dict[T, float]:
    """Score items by weighted reciprocal rank, best first.

    `rankings` are (weight, items best first). An item's score is the sum of
    weight / (k + rank) over the rankings it is in, ranks from 1
    (Cormack, Clarke & Buettcher 2009, with weights). Ties keep the order of first sight.
    """
    scores: dict[T, float] = defaultdict(float)
    for weight, items in rankings:
        for rank, item in enumerate(items, start=1):
            scores[item] += weight / (k + rank)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))
