"""How a cycle's judged answers are divided between its search and its proof."""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from kit.errors import BadInput
from models.genome import Layer

RUNGS = (12, 24, 48)
"""Search questions that a candidate has answered after each round of the race."""

LEAST_PROPOSALS = 3


@dataclass(frozen=True)
class BudgetPlan:
    """How a budget is divided: proposals in the race, and what is kept for the proof."""

    proposals: int
    search: int
    proof: int


def plan_budget(
    layer: Layer, budget: int, max_mutations: int, search: int, confirm: int
) -> BudgetPlan:
    """Divide `budget` judged answers; `search` and `confirm` are numbers of questions.

    Raises BadInput, with the sum, where it does not pay for baseline + 3 proposals + proof.
    """
    base = baseline_cost(layer)
    first = min(RUNGS[0], search)
    proof = (base + 1) * confirm
    least = least_answers(layer, search, confirm)
    if budget < least:
        raise BadInput(
            f"a budget of {budget} judged answers is too small: {base * first} for the baseline + "
            f"{LEAST_PROPOSALS} proposals x {first} + {proof} for the proof = {least}"
        )
    counts = range(1, max_mutations + 1)
    fits = [n for n in counts if race_cost(layer, n, search) <= budget - proof]
    proposals = min(max_mutations, max([LEAST_PROPOSALS, *fits]))
    return BudgetPlan(proposals=proposals, search=budget - proof, proof=proof)


def least_answers(layer: Layer, search: int, confirm: int) -> int:
    """Count the judged answers of baseline + 3 proposals + proof."""
    base = baseline_cost(layer)
    return min(RUNGS[0], search) * (base + LEAST_PROPOSALS) + (base + 1) * confirm


def baseline_cost(layer: Layer) -> int:
    """Judged answers of the incumbent a question: a replay asks everything twice.

    A candidate costs at most one more a question: where it served what the incumbent did,
    the verdict is there already.
    """
    return 2 if layer == "cache_policy" else 1


def race_cost(layer: Layer, candidates: int, search: int) -> int:
    """Judged answers of a whole race, where the better half goes on after each rung."""
    cost = 0
    for block in rung_blocks(search):
        cost += len(block) * (baseline_cost(layer) + candidates)
        candidates = ceil(candidates / 2)
    return cost


def rung_blocks(search: int) -> list[range]:
    """Positions of the search questions that each rung adds."""
    edges = [0, *(min(rung, search) for rung in RUNGS)]
    return [range(a, b) for a, b in pairwise(edges) if b > a]
