"""What a finalist claims, said before its proof, and what it has to show for it.

A claim is a list of conditions, each a test of its own. The claim is shown where all of them
are shown at once, so that it is false at most as often as the worst of them (intersection-union,
Berger 1982): no part of the error rate is used up by having several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evolution.shapes import Claim, Pair, Spent
from models.contract import Frozen

WORST = (0.0, 10.0)
"""What a missing score is taken for in the worst case: candidate's, incumbent's."""

LEAST_SD = 0.5
"""Points of 10 that paired differences are taken to spread at least. A genome that gains a little
on nearly all questions and fails badly on the rest looks certain while none of these was drawn."""

Unit = Literal["micros", "tokens"]


class TradeRule(Frozen):
    """What may be given for what. Shares are of the incumbent's: 0.1 is 10 %."""

    cost_growth: float = 0.10
    """`better`: the mean cost of an answer is shown to grow by less than this."""
    quality_loss: float = 0.3
    """`cheaper`: points of 10; the quality is shown not to fall by as much."""
    cost_saving: float = 0.20
    """`cheaper`: the mean cost of an answer is shown to fall by more than this."""
    latency_growth: float = 0.10
    """Both: the 95th percentile of the latency may grow by this much."""
    latency_slack_ms: float = 50.0
    """Both: and by this, which nobody feels."""


@dataclass(frozen=True)
class Condition:
    """One thing to be shown: the mean of what `values` are a sample of is above 0."""

    name: Literal["quality", "cost"]
    values: NDArray[np.float64]
    """One a pair that is scored. Shape (n,)."""
    worst: NDArray[np.float64]
    """The same with the worst for the candidate in place of what is missing. Shape (m,)."""
    least_sd: float = 0.0


def list_conditions(pairs: Sequence[Pair], claim: Claim, rule: TradeRule) -> list[Condition]:
    """Give what has to be shown at once for `claim`.

    Costs count in money where there is a price, else in tokens. Where neither side costs
    anything they cost the same: nothing is in the way of `better`, and nothing is `cheaper`.
    """
    margin = rule.quality_loss if claim == "cheaper" else 0.0
    quality = Condition("quality", deltas(pairs) + margin, worst_case(pairs) + margin, LEAST_SD)
    if claim == "better" and find_unit(pairs) is None:
        return [quality]
    allowed = 1 - rule.cost_saving if claim == "cheaper" else 1 + rule.cost_growth
    ours, theirs = costs(pairs)
    room = allowed * ours - theirs  # its mean is above 0 where the ratio of the means is below
    return [quality, Condition("cost", room, room)]


def deltas(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """Candidate minus incumbent, where both are scored. Shape (n,)."""
    return np.array([p.delta for p in pairs if p.delta is not None], dtype=float)


def worst_case(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """The same with the worst for the candidate in place of every missing score. Shape (n,)."""
    candidate, incumbent = WORST
    return np.array(
        [
            (candidate if p.candidate is None else p.candidate)
            - (incumbent if p.incumbent is None else p.incumbent)
            for p in pairs
        ],
        dtype=float,
    )


def find_unit(pairs: Sequence[Pair]) -> Unit | None:
    """Say what the costs of `pairs` are counted in; None where nothing costs anything."""
    spent = [side for p in pairs for side in (p.incumbent_spent, p.candidate_spent)]
    if any(each.micros for each in spent):
        return "micros"
    return "tokens" if any(each.tokens for each in spent) else None


def costs(pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give what each answer cost: incumbent's and candidate's, both of shape (n,)."""
    unit = find_unit(pairs)

    def of(spent: Spent) -> int:
        return spent.micros if unit == "micros" else spent.tokens

    ours = np.array([of(p.incumbent_spent) for p in pairs], dtype=float)
    return ours, np.array([of(p.candidate_spent) for p in pairs], dtype=float)
