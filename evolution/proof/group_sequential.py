"""Is the claim true? A group-sequential test on fresh paired questions."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, stdtr, stdtrit

from evolution.proof.claims import (
    LEAST_SD,
    Condition,
    TradeRule,
    costs,
    deltas,
    find_unit,
    list_conditions,
)
from evolution.proof.latency import find_p95, is_slower
from evolution.shapes import Claim, Pair, Proof, Trade

MIN_COVERAGE = 0.8
"""Least share of questions scored on both sides: below it the two are not comparable."""

DEFAULT_RULE = TradeRule()

Decision = Literal["shown", "go_on", "hopeless"]


def planned_looks(pairs: int, looks: int = 4) -> tuple[int, ...]:
    """Spread `looks` evenly over `pairs`: numbers of pairs at which the test is looked at."""
    return tuple(round(pairs * k / looks) for k in range(1, looks + 1))


@lru_cache
def obf_bounds(looks: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    """Give the critical z at each look.

    O'Brien & Fleming (1979): at information t the bound is c / sqrt(t), with c such that a
    Brownian motion stays below c at all looks with probability 1 - alpha; that probability by
    the recursive integration of Armitage, McPherson & Rowe (1969).
    """
    times = np.asarray(looks, dtype=float) / looks[-1]
    bound = brentq(lambda c: find_crossing(c, times) - alpha, 0.5, 8.0, xtol=1e-9)
    return tuple(float(bound / np.sqrt(t)) for t in times)


def find_crossing(bound: float, times: NDArray[np.float64]) -> float:
    """Probability that B(t) >= bound at any of `times`."""
    grid, width = np.linspace(-8.0, bound, 801, retstep=True)
    weight = np.full(grid.size, width)
    weight[[0, -1]] = width / 2
    density = _normal_density(grid, times[0])
    apart = width * np.arange(1 - grid.size, grid.size)
    for step in np.diff(times):
        density = np.convolve(_normal_density(apart, step), density * weight, "valid")
    return float(1.0 - density @ weight)


def _normal_density(x: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.exp(-(x**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return density


def judge_look(
    pairs: Sequence[Pair],
    look: int,
    looks: tuple[int, ...],
    alpha: float,
    claim: Claim = "better",
    rule: TradeRule = DEFAULT_RULE,
) -> Decision:
    """Decide after `look` (from 1): promote, go on, or stop because nothing is to be hoped.

    The t-test's p-value is held against the normal tail of the bound. Every condition of the
    claim must pass on what is scored, and again with the worst case put in for what is missing.
    Stopping when a mean is not above 0 at half-time or later can only lower the rate of false
    promotions.
    """
    if _coverage(pairs) < MIN_COVERAGE:
        return "go_on"
    level = _level(look, looks, alpha)
    conditions = list_conditions(pairs, claim, rule)
    if all(_is_shown(c, level) for c in conditions) and not is_slower(pairs, rule):
        return "shown"
    if look >= len(looks) / 2 and any(c.values.mean() <= 0 for c in conditions):
        return "hopeless"
    return "go_on"


def conclude(
    pairs: Sequence[Pair],
    look: int,
    looks: tuple[int, ...],
    alpha: float,
    claim: Claim = "better",
    rule: TradeRule = DEFAULT_RULE,
) -> Proof:
    """State the outcome of the test that stopped at `look`, with its repeated interval.

    The interval inverts the same test at the look where it stopped (Jennison & Turnbull 1989):
    it holds whatever the reason to stop was.
    """
    known = deltas(pairs)
    mean = float(known.mean()) if known.size else 0.0
    half = _half_width(known, _level(look, looks, alpha))
    both = [pair for pair in pairs if pair.delta is not None]
    return Proof(
        decision=_decide(pairs, look, looks, alpha, claim, rule),
        gain=mean,
        low=max(-10.0, mean - half),
        high=min(10.0, mean + half),
        alpha=alpha,
        look=look,
        looks=looks,
        pairs=len(both),
        missing=len(pairs) - len(both),
        better=int((known > 0).sum()),
        same=int((known == 0).sum()),
        worse=int((known < 0).sum()),
        incumbent_mean=_mean([pair.incumbent for pair in both]),
        candidate_mean=_mean([pair.candidate for pair in both]),
        claim=claim,
        margin=rule.quality_loss if claim == "cheaper" else 0.0,
        trade=find_trade(pairs),
        obstacle=_find_obstacle(pairs, _level(look, looks, alpha), claim, rule),
    )


def find_trade(pairs: Sequence[Pair]) -> Trade:
    """Measure what both sides cost and how long they took."""
    ours, theirs = costs(pairs)
    slow = find_p95(pairs)
    return Trade(
        unit=find_unit(pairs),
        incumbent_cost=float(ours.mean()) if ours.size else 0.0,
        candidate_cost=float(theirs.mean()) if theirs.size else 0.0,
        incumbent_p95_ms=slow[0],
        candidate_p95_ms=slow[1],
    )


def p_value(x: NDArray[np.float64], least_sd: float = 0.0) -> float:
    """One-sided paired t-test of mean > 0; where nothing spreads the sign alone decides."""
    if x.size < 2:
        return 1.0
    sd = max(float(x.std(ddof=1)), least_sd) if np.ptp(x) > 0 else least_sd
    if sd == 0:
        return 0.0 if x[0] > 0 else 1.0
    return float(stdtr(x.size - 1, -x.mean() / sd * np.sqrt(x.size)))


def _level(look: int, looks: tuple[int, ...], alpha: float) -> float:
    return float(ndtr(-obf_bounds(looks, alpha)[look - 1]))


def _half_width(x: NDArray[np.float64], level: float) -> float:
    if x.size < 2:
        return 10.0
    sd = max(float(x.std(ddof=1)), LEAST_SD)
    return float(-stdtrit(x.size - 1, level) * sd / np.sqrt(x.size))


def _coverage(pairs: Sequence[Pair]) -> float:
    return deltas(pairs).size / len(pairs) if pairs else 0.0


def _is_shown(condition: Condition, level: float) -> bool:
    samples = (condition.values, condition.worst)
    return all(p_value(x, condition.least_sd) < level for x in samples)


def _decide(
    pairs: Sequence[Pair],
    look: int,
    looks: tuple[int, ...],
    alpha: float,
    claim: Claim,
    rule: TradeRule,
) -> Literal["better", "cheaper", "not_proven", "not_comparable"]:
    if _coverage(pairs) < MIN_COVERAGE:
        return "not_comparable"
    shown = judge_look(pairs, look, looks, alpha, claim, rule) == "shown"
    return claim if shown else "not_proven"


def _find_obstacle(pairs: Sequence[Pair], level: float, claim: Claim, rule: TradeRule) -> str:
    """Name what is not shown, the quality first; empty where everything is."""
    for condition in list_conditions(pairs, claim, rule):
        if not _is_shown(condition, level):
            return condition.name
    return "latency" if is_slower(pairs, rule) else ""


def _mean(scores: list[float | None]) -> float:
    return float(np.mean([s for s in scores if s is not None])) if scores else 0.0
