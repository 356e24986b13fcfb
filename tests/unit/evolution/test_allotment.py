"""A budget says what it buys, or is refused with the sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.allotment import baseline_cost, least_answers, plan_budget
from kit.errors import BadInput
from models.genome import LAYERS, Layer


def test_the_default_budget_pays_for_many_candidates_and_the_whole_proof() -> None:
    plan = plan_budget("postprocess", 600, 500, search=48, confirm=120)
    assert (plan.proof, plan.search) == (240, 360)
    effort = plan.effort
    assert (effort.base, effort.designs, effort.per_trial, effort.check) == (20, 24, 3, 45)
    assert plan.proposals == (360 - 20 - 45) // 3


def test_few_mutations_get_more_questions_each() -> None:
    plan = plan_budget("postprocess", 600, 12, search=48, confirm=120)
    assert (plan.proposals, plan.effort.per_trial) == (12, (360 - 20 - 45) // 12)


def test_a_budget_below_the_least_cycle_is_refused_with_the_sum() -> None:
    with pytest.raises(BadInput, match=r"12 for the baseline \+ 3 proposals x 12 \+ 240 .* = 288"):
        plan_budget("postprocess", 287, 12, search=48, confirm=120)


def test_the_least_budget_pays_for_three_proposals() -> None:
    plan = plan_budget("postprocess", 288, 12, search=48, confirm=120)
    assert plan.proposals >= 3
    assert plan.search == 48


@pytest.mark.parametrize("budget", [0, 5, 6, 7, 8])
def test_a_tiny_budget_never_pretends_to_have_searched(budget: int) -> None:
    with pytest.raises(BadInput, match="too small"):
        plan_budget("postprocess", budget, 12, search=6, confirm=0)


def test_exploring_needs_no_budget_for_a_proof() -> None:
    assert plan_budget("postprocess", 48, 12, search=48, confirm=0).proof == 0


def test_a_replay_costs_the_incumbent_twice() -> None:
    plan = plan_budget("cache_policy", 600, 12, search=48, confirm=120)
    assert plan.proof == 360
    assert plan.effort.same_questions


@given(
    st.sampled_from(LAYERS),
    st.integers(0, 5_000),
    st.integers(1, 1_000),
    st.integers(1, 100),
    st.sampled_from([0, 40, 120]),
    st.integers(1, 64),
)
def test_every_division_of_a_budget_pays_for_its_parts(
    layer: Layer, extra: int, most: int, search: int, confirm: int, concurrency: int
) -> None:
    budget = least_answers(layer, search, confirm) + extra
    plan = plan_budget(layer, budget, most, search, confirm, concurrency)
    assert plan.search + plan.proof <= budget
    effort = plan.effort
    opened = baseline_cost(layer) * effort.base + effort.designs * effort.per_trial
    assert opened + effort.check <= plan.search
    assert 1 <= plan.proposals <= most
    assert 1 <= effort.base <= search and 1 <= effort.per_trial <= search
    assert effort.round >= effort.per_trial
    assert effort.designs <= most
