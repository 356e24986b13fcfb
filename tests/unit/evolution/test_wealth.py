"""Of all that is ever put up, at most 5 % is expected not to be better."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evolution.nights import run_nights
from evolution.proof.wealth import MOST, RATE, Entry, find_wealth, next_alpha

OUTCOMES = st.lists(st.sampled_from([True, False, None]), max_size=40)

FOUND_AT_HALF_A_POINT = 0.5 / 2.0 * np.sqrt(150)
"""The effect of +0.5 with SD 2 on 150 pairs."""


def live(outcomes: list[bool | None]) -> list[Entry]:
    history: list[Entry] = []
    for proven in outcomes:
        history.append(Entry(next_alpha(history), proven))
    return history


def test_the_first_proof_is_not_starved() -> None:
    assert next_alpha([]) == pytest.approx(0.025 / 1.025)


def test_where_nothing_is_ever_better_anything_is_put_up_with_5_percent_at_most() -> None:
    # until the first win each rate depends on the number of proofs alone: the chance is exact
    alphas = [entry.alpha for entry in live([False] * 500)]
    ever = 1 - np.prod([1 - alpha for alpha in alphas])
    assert 0.045 < ever <= RATE


@given(OUTCOMES)
def test_the_account_is_never_overdrawn(outcomes: list[bool | None]) -> None:
    history = live(outcomes)
    assert find_wealth(history) >= -1e-12
    assert 0 < next_alpha(history) <= MOST


@given(OUTCOMES, st.integers(0, 39))
def test_a_win_never_makes_a_later_proof_harder(outcomes: list[bool | None], at: int) -> None:
    lost = [*outcomes[:at], False, *outcomes[at:]]
    won = [*outcomes[:at], True, *outcomes[at:]]
    assert next_alpha(live(won)) >= next_alpha(live(lost))


def test_a_running_proof_counts_as_not_won_and_its_stake_comes_back_when_it_wins() -> None:
    running, lost, won = (next_alpha(live([outcome])) for outcome in (None, False, True))
    assert running == lost < won


def test_proofs_of_one_cycle_share_one_stake() -> None:
    alone, shared = next_alpha([]), next_alpha([], 2)
    assert 2 * shared == pytest.approx(alone, rel=0.02)
    together = [Entry(shared, False, "night 1"), Entry(shared, False, "night 1")]
    assert next_alpha(together) == pytest.approx(next_alpha([Entry(alone, False)]))


def test_what_was_given_under_another_rule_is_counted_as_it_was() -> None:
    assert next_alpha([Entry(0.047, False)]) < 0.001
    assert next_alpha([Entry(0.05, False), Entry(0.05, False)]) == 0


def test_every_win_in_a_row_keeps_a_rate_to_work_with() -> None:
    assert min(next_alpha(live([True] * wins)) for wins in range(1, 11)) > 0.045
    # three wins in ten nights, and every other night lost
    worst = min(
        next_alpha(live([*wins, False]))
        for wins in product([True, False], repeat=9)
        if sum(wins) == 3
    )
    assert worst > 0.0015


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.7])
def test_false_proposals_stay_under_5_percent_of_all(share: float) -> None:
    rng = np.random.default_rng(8)
    effects = np.where(rng.random((600, 30)) < share, FOUND_AT_HALF_A_POINT, 0.0)
    nights = run_nights(next_alpha, effects, seed=9)
    assert nights.false_share <= RATE + 2 * (RATE * (1 - RATE) / 600) ** 0.5


def test_wealth_from_sure_wins_is_not_wasted_on_luck() -> None:
    effects = np.hstack([np.full((600, 3), 9.0), np.zeros((600, 40))])
    nights = run_nights(next_alpha, effects, seed=10)
    assert nights.power(0) > 0.99
    assert 0.02 < nights.false_share <= RATE + 0.01


def test_ten_nights_find_most_of_what_is_there() -> None:
    rng = np.random.default_rng(11)
    effects = np.where(rng.random((1_000, 10)) < 0.5, FOUND_AT_HALF_A_POINT, 0.0)
    nights = run_nights(next_alpha, effects, seed=12)
    assert nights.power(0) > 0.8
    assert nights.power(9) > 0.72
    assert nights.power() > 0.74
