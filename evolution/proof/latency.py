"""Whether a candidate is slower at the 95th percentile than it may be.

Thirty to a hundred and twenty wall-clock times say little about their own 95th percentile: the
order statistic of equal genomes differs by 13 % one time in three. So the percentile is that of
the log-normal with their mean and spread, which uses all of them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evolution.proof.claims import TradeRule
from evolution.shapes import Pair

DOUBT = 0.5
"""Standard errors that the estimate may lie above the limit: a limit that is just kept passes two
times of three. Rates, measured with `benchmarks/evolution/nulls.py`, are in decision 0082."""

_Z95 = float(ndtri(0.95))
_LEAST_MS = 1.0


def is_slower(pairs: Sequence[Pair], rule: TradeRule) -> bool:
    """Tell whether the candidate's 95th percentile is above what `rule` allows, beyond doubt."""
    ours, theirs = log_latencies(pairs)
    if ours.size < 2:
        return False
    allowed = np.exp(_p95(ours)) * (1 + rule.latency_growth) + rule.latency_slack_ms
    return bool(_p95(theirs) - np.log(allowed) > DOUBT * _error(ours, theirs))


def find_p95(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Give the 95th percentiles in milliseconds: incumbent's, candidate's."""
    ours, theirs = log_latencies(pairs)
    if ours.size < 2:
        return 0.0, 0.0
    return float(np.exp(_p95(ours))), float(np.exp(_p95(theirs)))


def log_latencies(pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give logs of milliseconds where both sides were timed. Shapes (n,)."""
    times = [(p.incumbent_spent.latency_ms, p.candidate_spent.latency_ms) for p in pairs]
    timed = np.array([t for t in times if min(t) > 0], dtype=float).reshape(-1, 2)
    logs = np.log(np.maximum(timed, _LEAST_MS))
    return logs[:, 0], logs[:, 1]


def _p95(logs: NDArray[np.float64]) -> float:
    return float(logs.mean() + _Z95 * logs.std(ddof=1))


def _error(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """Standard error of the difference of the two log percentiles, the sides being paired.

    Variance of a mean difference plus z^2 times that of a difference of two normal standard
    deviations, whose correlation is the square of that of the values.
    """
    n = ours.size
    means = (theirs - ours).var(ddof=1) / n
    spread = ours.std() * theirs.std()
    r = ((ours - ours.mean()) * (theirs - theirs.mean())).mean() / spread if spread > 0 else 1.0
    spreads = (ours.var(ddof=1) + theirs.var(ddof=1)) * (1 - r**2) / (2 * n)
    return float(np.sqrt(means + _Z95**2 * spreads))
