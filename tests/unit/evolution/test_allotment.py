"""A budget says what it buys, or is refused with the sum."""

import pytest

from evolution.allotment import plan_budget, race_cost, rung_blocks
from kit.errors import BadInput


def test_the_default_budget_pays_for_twelve_candidates_and_the_whole_proof() -> None:
    plan = plan_budget("postprocess", 600, 12, search=48, confirm=120)
    assert (plan.proposals, plan.proof, plan.search) == (12, 240, 360)
    assert race_cost("postprocess", 12, 48) == 48 + 144 + 72 + 72


def test_a_budget_below_the_least_cycle_is_refused_with_the_sum() -> None:
    with pytest.raises(BadInput, match=r"12 for the baseline \+ 3 proposals x 12 \+ 240 .* = 288"):
        plan_budget("postprocess", 287, 12, search=48, confirm=120)


def test_the_least_budget_pays_for_three_proposals() -> None:
    assert plan_budget("postprocess", 288, 12, search=48, confirm=120).proposals == 3


@pytest.mark.parametrize("budget", [0, 5, 6, 7, 8])
def test_a_tiny_budget_never_pretends_to_have_searched(budget: int) -> None:
    with pytest.raises(BadInput, match="too small"):
        plan_budget("postprocess", budget, 12, search=6, confirm=0)


def test_exploring_needs_no_budget_for_a_proof() -> None:
    assert plan_budget("postprocess", 48, 12, search=48, confirm=0).proof == 0


def test_a_replay_costs_the_incumbent_twice() -> None:
    assert plan_budget("cache_policy", 600, 12, search=48, confirm=120).proof == 360


def test_rungs_cover_a_short_search_set_once() -> None:
    assert [list(block) for block in rung_blocks(14)] == [list(range(12)), [12, 13]]
