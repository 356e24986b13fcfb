"""How a cycle's judged answers are divided between its search and its proof."""

from dataclasses import dataclass

from evolution.search.effort import Effort, plan_effort, plan_streams
from kit.errors import BadInput
from models.genome import Layer

FIRST_QUESTIONS = 12
"""Search questions that the least cycle puts to the incumbent and to each of its proposals."""

LEAST_PROPOSALS = 3

SESSION_ANSWERS = 2
"""Of the routing layer's test session: under the incumbent and under the best candidate."""


@dataclass(frozen=True)
class BudgetPlan:
    """How a budget is divided, in judged answers."""

    search: int
    proof: int
    effort: Effort
    """How the search spends its part."""
    proposals: int
    """Candidates that it pays for."""


def plan_budget(
    layer: Layer,
    budget: int,
    max_mutations: int,
    search: int,
    confirm: int,
    concurrency: int = 1,
) -> BudgetPlan:
    """Divide `budget` judged answers; `search` and `confirm` are numbers of questions.

    Raises BadInput, with the sum, where it does not pay for baseline + 3 proposals + proof.
    """
    base = baseline_cost(layer)
    first = min(FIRST_QUESTIONS, search)
    proof = (base + 1) * confirm
    least = least_answers(layer, search, confirm)
    if budget < least:
        raise BadInput(
            f"a budget of {budget} judged answers is too small: {base * first} for the baseline + "
            f"{LEAST_PROPOSALS} proposals x {first} + {proof} for the proof = {least}"
        )
    left = budget - proof - (SESSION_ANSWERS if layer == "routing" else 0)
    if layer == "cache_policy":
        effort = plan_streams(left, search, max_mutations, base)
    else:
        effort = plan_effort(left, search, max_mutations, concurrency)
    trials = (left - base * effort.base - effort.check) // effort.per_trial
    return BudgetPlan(left, proof, effort, max(1, min(max_mutations, trials)))


def least_answers(layer: Layer, search: int, confirm: int) -> int:
    """Count the judged answers of baseline + 3 proposals + proof."""
    base = baseline_cost(layer)
    return min(FIRST_QUESTIONS, search) * (base + LEAST_PROPOSALS) + (base + 1) * confirm


def baseline_cost(layer: Layer) -> int:
    """Judged answers of the incumbent a question: a replay asks everything twice.

    A candidate costs at most one more a question: where it served what the incumbent did,
    the verdict is there already.
    """
    return 2 if layer == "cache_policy" else 1
