"""Every branch of the promotion rule is a test: each is given what it must not let through."""

from uuid import UUID

import numpy as np
import pytest

from benchmarks.evolution.planted import Truth, draw_pairs, find_shown, prove
from evolution.proof.claims import TradeRule, find_unit, list_conditions
from evolution.proof.group_sequential import conclude, judge_look, planned_looks
from evolution.proof.latency import find_p95, is_slower
from evolution.proof.sentence import sentence_of
from evolution.shapes import Claim, Pair, Spent

LOOKS = planned_looks(120)
RUNS = 300
AT_MOST_5_PERCENT = 0.05 + 2 * (0.05 * 0.95 / RUNS) ** 0.5


@pytest.mark.parametrize(
    ("claim", "truth"),
    [
        ("better", Truth(cost_growth=0.0)),
        ("better", Truth(gain=1.0, cost_growth=0.10)),
        ("better", Truth(cost_growth=0.10)),
        ("cheaper", Truth(gain=-0.3, cost_growth=-0.4)),
        ("cheaper", Truth(cost_growth=-0.20)),
        ("cheaper", Truth(gain=-0.3, cost_growth=-0.20)),
    ],
)
def test_what_is_just_not_true_is_shown_one_time_in_twenty_at_most(
    claim: Claim, truth: Truth
) -> None:
    shown, _ = find_shown(truth, claim=claim, runs=RUNS, seed=3)
    assert shown <= AT_MOST_5_PERCENT


@pytest.mark.parametrize(
    ("claim", "truth", "power"),
    [
        ("better", Truth(gain=0.5, cost_growth=0.0), 0.9),
        ("better", Truth(gain=0.5, cost_growth=-0.3, latency_growth=0.0), 0.9),
        ("cheaper", Truth(cost_growth=-0.35, sd=1.0), 0.8),
        ("cheaper", Truth(gain=0.5, cost_growth=-0.35), 0.9),
    ],
)
def test_what_is_true_is_shown(claim: Claim, truth: Truth, power: float) -> None:
    shown, _ = find_shown(truth, claim=claim, runs=150, seed=4)
    assert shown >= power


def test_rare_failures_that_no_question_drew_do_not_look_certain() -> None:
    # without the least spread: 19 %; every other null here is at its nominal rate
    shown, _ = find_shown(Truth(sd=0.3, rare_failure=0.02), alpha=0.0244, runs=RUNS, seed=7)
    assert shown < 0.13


def test_a_null_ends_before_all_its_questions_are_spent() -> None:
    _, used = find_shown(Truth(), runs=RUNS, seed=5)
    assert used < 90


def test_equal_latency_seldom_holds_up_and_a_third_more_seldom_passes() -> None:
    equal = Truth(gain=1.0, latency_growth=0.0, latency_sd=0.25)
    slower = Truth(gain=1.0, latency_growth=0.3, latency_sd=0.25)
    assert find_shown(equal, runs=150, seed=6)[0] >= 0.95
    assert find_shown(slower, runs=150, seed=6)[0] <= 0.12


def test_some_milliseconds_are_no_latency() -> None:
    pairs = [pair(latency=(2.0, 40.0))] * 30
    assert not is_slower(pairs, TradeRule())
    assert is_slower([pair(latency=(2000.0, 2300.0))] * 30, TradeRule())
    assert find_p95(pairs) == pytest.approx((2.0, 40.0))


def test_the_percentile_of_latency_is_that_of_the_log_normal() -> None:
    times = np.exp(np.random.default_rng(1).normal(7.0, 0.5, 4_000))
    ours, _ = find_p95([pair(latency=(t, t)) for t in times])
    assert ours == pytest.approx(np.quantile(times, 0.95), rel=0.03)


def test_money_counts_where_there_is_a_price_else_tokens_else_nothing() -> None:
    assert find_unit([pair(tokens=(10, 12), micros=(5, 0))]) == "micros"
    assert find_unit([pair(tokens=(0, 12))]) == "tokens"
    assert find_unit([pair()]) is None


def test_where_nothing_costs_anything_only_quality_is_to_be_shown() -> None:
    conditions = list_conditions([pair()] * 30, "better", TradeRule())
    assert [c.name for c in conditions] == ["quality"]


def test_what_costs_nothing_cannot_be_cheaper() -> None:
    pairs = draw_pairs(Truth(gain=1.0), 120, np.random.default_rng(2))
    assert prove(pairs, 0.05, "cheaper") == (False, 60)


def test_a_missing_score_counts_against_the_cheaper_one_too() -> None:
    good = [pair(scores=(5.0, 5.0 + d), tokens=(100, 60)) for d in (0.1, -0.1) * 55]
    lost = [pair(scores=(5.0, None), tokens=(100, 60))] * 10
    assert judge_look(good, 4, LOOKS, 0.05, "cheaper") == "shown"
    assert judge_look(good + lost, 4, LOOKS, 0.05, "cheaper") == "go_on"


def test_a_proof_says_the_trade_and_what_stood_in_the_way() -> None:
    dear = [pair(scores=(5.0, 6.0 + d), tokens=(100, 130)) for d in (0.2, -0.2) * 60]
    proof = conclude(dear, 4, LOOKS, 0.0244)
    assert (proof.decision, proof.obstacle) == ("not_proven", "cost")
    assert sentence_of(proof) == (
        "Not proven: +1.00 of 10 (interval +0.91 to +1.09) on 120 fresh questions, tokens +30 %; "
        "the cost is not shown to be within what is allowed."
    )


def test_a_cheaper_one_says_by_how_much_how_sure_on_how_many() -> None:
    micros, latency = (1000, 700), (1000.0, 1000.0)
    pairs = [pair(scores=(5.0, 5.0 + d), micros=micros, latency=latency) for d in (0.2, -0.2) * 60]
    proof = conclude(pairs, 4, LOOKS, 0.0244, "cheaper")
    assert proof.decision == "cheaper"
    assert sentence_of(proof) == (
        "Cheaper and not worse by 0.3: 0.00 of 10 (interval −0.09 to +0.09) on 120 fresh questions,"
        " cost −30 %, 95th percentile of latency ±0 %; a false alarm at most 2.4 % of the time."
    )


def pair(
    scores: tuple[float | None, float | None] = (5.0, 5.0),
    tokens: tuple[int, int] = (0, 0),
    micros: tuple[int, int] = (0, 0),
    latency: tuple[float, float] = (0.0, 0.0),
) -> Pair:
    ours, theirs = (
        Spent(tokens=t, micros=m, latency_ms=ms)
        for t, m, ms in zip(tokens, micros, latency, strict=True)
    )
    return Pair(
        question_id=UUID(int=0),
        query="q",
        incumbent=scores[0],
        candidate=scores[1],
        incumbent_spent=ours,
        candidate_spent=theirs,
    )
