"""How sure the next proof has to be, so that over all nights at most 5 % of what is put up is not.

Alpha-investing: the lab owns an account of error. It starts with `RATE`, a proof at level a that
is not won costs a / (1 - a), each win pays `RATE`, and the account is never overdrawn. Then
E[false] <= RATE * (E[put up] + 1) as long as each test holds its level given all the past
(Foster & Stine 2008, theorem 1), and where nothing is ever better the probability of putting up
anything at all, for ever, is at most `RATE`. Where the tests of nulls are independent the false
discovery rate is at most `RATE` at every moment, because the stakes only grow with each win
(Ramdas, Zrnic, Wainwright & Jordan 2018, SAFFRON with lambda = alpha). What people decide about
a proposal plays no part in it.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

RATE = 0.05
"""Expected share of proposals that are not better, at most, of all that were ever put up."""

MOST = 0.05
"""What one cycle's proofs may take together at the most, however full the account is."""


@dataclass(frozen=True)
class Entry:
    """One proof in the book: the error rate it was given, and what it said; None while it runs."""

    alpha: float
    proven: bool | None
    cycle: Hashable = None
    """Proofs of one cycle share one stake; None: the only proof of its cycle."""


def next_alpha(history: Sequence[Entry], parts: int = 1) -> float:
    """Give the error rate of each of the next cycle's `parts` proofs.

    `history` holds all proofs of the lab in order. One that still runs counts as not won, so
    that cycles side by side never stake the same error twice (Zrnic, Ramdas & Jordan 2021).
    """
    stake = max(0.0, min(find_stake(history), find_wealth(history))) / parts
    return min(MOST / parts, stake / (1 + stake))


def find_wealth(history: Sequence[Entry]) -> float:
    """Give what is left in the account."""
    wins = sum(entry.proven is True for entry in history)
    lost = sum(e.alpha / (1 - e.alpha) for e in history if e.proven is not True)
    return RATE * (wins + 1) - lost


def find_stake(history: Sequence[Entry]) -> float:
    """Give what the next cycle may lose: a share of the first purse and of each win's.

    Every purse of `RATE` is emptied by shares 1/2, 1/6, 1/12, ... 1/(n(n+1)), one for each cycle
    since it was filled that was not won; a win leaves its share where it was. The head is heavy,
    so that first nights and nights after a win can prove something; the tail never ends.
    """
    stake, lost = 0.0, set[Hashable]()
    for number, entry in reversed(list(enumerate(history))):
        if entry.proven is True:
            stake += RATE * _share(len(lost) + 1)
        else:
            lost.add(number if entry.cycle is None else ("cycle", entry.cycle))
    return stake + RATE * _share(len(lost) + 1)


def _share(number: int) -> float:
    return 1.0 / (number * (number + 1))
