"""The proof promotes what is better, and luck at most one time in twenty."""

from uuid import uuid4

import numpy as np
import pytest
from scipy import stats

from evolution.proof.group_sequential import (
    conclude,
    judge_look,
    obf_bounds,
    p_value,
    planned_looks,
)
from evolution.shapes import Pair

LOOKS = planned_looks(120)


def pairs(deltas: "np.ndarray | list[float]", missing: int = 0) -> list[Pair]:
    scored = [
        Pair(question_id=uuid4(), query="q", incumbent=5.0, candidate=float(np.clip(5 + d, 0, 10)))
        for d in deltas
    ]
    unscored = Pair(question_id=uuid4(), query="q", incumbent=5.0, candidate=None)
    return scored + [unscored] * missing


def is_promoted(deltas: np.ndarray) -> bool:
    for look, n in enumerate(LOOKS, start=1):
        decision = judge_look(pairs(deltas[:n]), look, LOOKS, 0.05)
        if decision != "go_on":
            return decision == "shown"
    return False


def promoted_share(mean: float, sd: float, runs: int) -> float:
    rng = np.random.default_rng(7)
    return float(np.mean([is_promoted(rng.normal(mean, sd, 120)) for _ in range(runs)]))


def test_the_bounds_are_those_of_o_brien_and_fleming() -> None:
    # Jennison & Turnbull (2000), table 2.3: one-sided 5 %, four looks, C_B = 1.733
    assert obf_bounds((1, 2, 3, 4), 0.05) == pytest.approx((3.466, 2.451, 2.001, 1.733), abs=2e-3)


def test_nothing_better_is_promoted_in_at_most_one_run_of_twenty() -> None:
    share = promoted_share(0.0, 1.26, 600)
    assert share <= 0.05 + 2 * (0.05 * 0.95 / 600) ** 0.5


def test_half_a_point_is_found_four_times_of_five() -> None:
    assert promoted_share(0.5, 2.0, 200) >= 0.8


def test_a_worse_candidate_stops_at_half_time() -> None:
    assert judge_look(pairs([-0.5, 0.2] * 30), 2, LOOKS, 0.05) == "hopeless"


def test_missing_scores_are_taken_for_the_worst_case() -> None:
    good = [0.4, 0.6] * 55
    assert judge_look(pairs(good), 4, LOOKS, 0.05) == "shown"
    assert judge_look(pairs(good, missing=10), 4, LOOKS, 0.05) == "go_on"


def test_under_four_fifths_coverage_nothing_is_comparable() -> None:
    proof = conclude(pairs([2.0, 3.0] * 40, missing=40), 4, LOOKS, 0.05)
    assert proof.decision == "not_comparable"
    assert (proof.pairs, proof.missing) == (80, 40)


def test_the_interval_covers_the_gain_and_crosses_zero_when_not_proven() -> None:
    rng = np.random.default_rng(3)
    proof = conclude(pairs(rng.normal(0.05, 2.0, 120)), 4, LOOKS, 0.05)
    assert proof.decision == "not_proven"
    assert proof.low < 0 < proof.high
    assert proof.low < proof.gain < proof.high


def test_the_p_value_is_that_of_the_paired_t_test() -> None:
    x = np.random.default_rng(5).normal(0.2, 1.5, 40)
    expected = stats.ttest_1samp(x, 0.0, alternative="greater").pvalue
    assert p_value(x) == pytest.approx(expected, rel=1e-9)


def test_no_spread_is_decided_by_the_sign() -> None:
    assert judge_look(pairs([1.0] * 30), 1, LOOKS, 0.05) == "shown"
    assert judge_look(pairs([0.0] * 60), 2, LOOKS, 0.05) == "hopeless"
