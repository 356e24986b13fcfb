"""Pairs whose truth is known, put through the proof of the product."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np

from evolution.proof.group_sequential import judge_look, planned_looks
from evolution.shapes import Claim, Pair, Spent

_ID = UUID(int=0)


@dataclass(frozen=True)
class Truth:
    """How a candidate differs from the incumbent. Growths are shares: 0.1 is 10 % more."""

    gain: float = 0.0
    sd: float = 1.26
    """Of the paired differences of scores, in points of 10."""
    outliers: float = 0.0
    """Share of judgements on either side that miss by 4 points, up or down."""
    rare_failure: float = 0.0
    """Share of questions on which the candidate loses 5 points; `gain` stays the mean of all."""
    cost_growth: float | None = None
    """None: nothing costs anything."""
    cost_sd: float = 0.2
    """Of the logarithm of each side's cost."""
    latency_growth: float | None = None
    latency_sd: float = 0.35
    """Of the logarithm of each side's latency; as much again is common to both sides."""


def draw_pairs(truth: Truth, count: int, rng: np.random.Generator) -> list[Pair]:
    """Draw the answers to `count` questions. Scores are not clipped: the truth stays the truth."""
    noise = rng.normal(0, truth.sd / np.sqrt(2), (2, count))
    missed = rng.random((2, count)) < truth.outliers
    scores = 5 + noise + missed * rng.choice([-4.0, 4.0], (2, count))
    failed = rng.random(count) < truth.rare_failure
    scores[1] += truth.gain + 5 * truth.rare_failure - 5 * failed
    costs = _draw(truth.cost_growth, truth.cost_sd, 0.0, 1000, count, rng)
    times = _draw(truth.latency_growth, truth.latency_sd, truth.latency_sd, 4000, count, rng)
    sides = zip(scores.T.tolist(), costs.T.round().tolist(), times.T.tolist(), strict=True)
    return [_pair(*each) for each in sides]


def _pair(scores: list[float], tokens: list[float], times: list[float]) -> Pair:
    """Make a pair without checking it: there are hundreds of thousands."""
    ours, theirs = (
        Spent.model_construct(tokens=t, micros=0, latency_ms=ms)
        for t, ms in zip(tokens, times, strict=True)
    )
    return Pair.model_construct(
        question_id=_ID,
        query="",
        incumbent=scores[0],
        candidate=scores[1],
        incumbent_spent=ours,
        candidate_spent=theirs,
    )


def _draw(
    growth: float | None,
    own: float,
    common: float,
    size: float,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw log-normal amounts of both sides with median `size`. Shape (2, count)."""
    if growth is None:
        return np.zeros((2, count))
    amounts = size * np.exp(rng.normal(0, own, (2, count)) + rng.normal(0, common, count))
    amounts[1] *= 1 + growth
    return amounts


def prove(
    pairs: list[Pair], alpha: float, claim: Claim = "better", looks: int = 4
) -> tuple[bool, int]:
    """Run the proof over `pairs`; tell whether the claim was shown, and how many pairs it took."""
    planned = planned_looks(len(pairs), looks)
    for look, count in enumerate(planned, start=1):
        decision = judge_look(pairs[:count], look, planned, alpha, claim)
        if decision != "go_on":
            return decision == "shown", count
    return False, len(pairs)


def find_shown(
    truth: Truth,
    alpha: float = 0.05,
    claim: Claim = "better",
    *,
    pairs: int = 120,
    runs: int = 2_000,
    seed: int = 1,
) -> tuple[float, float]:
    """Give the share of `runs` proofs that show the claim, and the mean number of pairs."""
    rng = np.random.default_rng(seed)
    outcomes = [prove(draw_pairs(truth, pairs, rng), alpha, claim) for _ in range(runs)]
    shown, used = np.mean(outcomes, axis=0)
    return float(shown), float(used)
