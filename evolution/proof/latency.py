"""Whether a candidate is slower at the 95th percentile than it may be.

Thirty to a hundred and twenty wall-clock times say little about their own 95th percentile: in
equal genomes the sixth slowest of 120 differs by 13 % one time in three. So the percentile is that
of the log-normal with their mean and spread, which uses all of them and halves that error. How
often equal genomes are held up and slower ones pass is measured in decision 0082.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evolution.proof.claims import TradeRule
from evolution.shapes import Pair

_Z95 = float(ndtri(0.95))
_LEAST_MS = 1.0


def is_slower(pairs: Sequence[Pair], rule: TradeRule) -> bool:
    """Tell whether the candidate's 95th percentile is above what `rule` allows."""
    ours, theirs = find_p95(pairs)
    return theirs > ours * (1 + rule.latency_growth) + rule.latency_slack_ms


def find_p95(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Give the 95th percentiles in milliseconds: incumbent's, candidate's; 0 where not timed."""
    times = [(p.incumbent_spent.latency_ms, p.candidate_spent.latency_ms) for p in pairs]
    timed = np.array([t for t in times if min(t) > 0], dtype=float).reshape(-1, 2)
    if len(timed) < 2:
        return 0.0, 0.0
    return _p95(timed[:, 0]), _p95(timed[:, 1])


def _p95(times_ms: NDArray[np.float64]) -> float:
    """Give exp(mean + 1.645 SD) of the logarithms: the percentile of the log-normal."""
    logs = np.log(np.maximum(times_ms, _LEAST_MS))
    return float(np.exp(logs.mean() + _Z95 * logs.std(ddof=1)))
