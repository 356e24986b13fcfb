"""How sure the next proof has to be, so that over all nights at most 5 % of what is put up is not.

The rule spends one budget of error for the whole life of the lab. With R proofs won before a
test at level a, a null that passes adds at most 1/(R+1) to the false share of what was ever
put up, so its expected share is at most a/(R+1). The rule keeps the sum of all a/(R+1) at or
below `RATE`, whatever order wins and nulls come in, and whatever people decide about them
(Javanmard & Montanari 2015, LOND; a test only needs to hold its level given all the past).
"""

from collections.abc import Sequence
from dataclasses import dataclass

RATE = 0.05
"""Expected share of proposals that are not better, at most, of all that were ever put up."""

MOST = 0.05
"""No single proof is held to less than this."""


@dataclass(frozen=True)
class Entry:
    """One proof in the book: the error rate it was given, and what it said; None while it runs."""

    alpha: float
    proven: bool | None


def next_alpha(history: Sequence[Entry]) -> float:
    """Give the error rate of the next proof after `history`, all proofs of the lab in order.

    A running proof counts as one that is not proven (Zrnic, Ramdas & Jordan 2021).
    """
    wins = sum(entry.proven is True for entry in history)
    return min(MOST, RATE * (wins + 1) * _share(len(history) + 1))


def _share(number: int) -> float:
    """The part of the budget that test `number` (from 1) may take: sums to 1."""
    return 1.0 / (number * (number + 1))
