"""What can be said without any model: paired differences on common questions."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from evolution.search.space import Point
from evolution.search.surrogate import Observation

LEAST_PAIRS = 8
"""Common questions from which a paired difference says something."""


@dataclass(frozen=True)
class PairedGain:
    """Mean difference to the incumbent on common questions, and its standard error."""

    mean: float
    error: float
    pairs: int


def paired_gains(observations: Sequence[Observation], incumbent: Point) -> dict[Point, PairedGain]:
    """Pair each point with the incumbent; repeated scores of a question are averaged first."""
    scores: dict[Point, dict[Hashable, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seen in observations:
        scores[seen.point][seen.question].append(seen.score)
    ours = {question: float(np.mean(known)) for question, known in scores[incumbent].items()}
    gains = {}
    for point, asked in scores.items():
        deltas = [float(np.mean(known)) - ours[q] for q, known in asked.items() if q in ours]
        if point != incumbent and len(deltas) > 1:
            error = float(np.std(deltas, ddof=1) / np.sqrt(len(deltas)))
            gains[point] = PairedGain(float(np.mean(deltas)), error, len(deltas))
    return gains
