"""How two rankings become one."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
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


def lift_by_group(
    scores: Mapping[T, float], group: Mapping[T, Hashable], share: float
) -> dict[T, float]:
    """Add to each item `share` of what the other items of its group score; best first.

    A document of which several fragments fit the question is likelier the right one than a
    document with one such fragment.
    """
    totals: dict[Hashable, float] = defaultdict(float)
    for item, score in scores.items():
        totals[group[item]] += score
    lifted = {item: score + share * (totals[group[item]] - score) for item, score in scores.items()}
    return dict(sorted(lifted.items(), key=lambda pair: -pair[1]))
