"""What a finalist claims to be, said before its proof, and which trade that allows."""

from evolution.shapes import Claim
from models.contract import Frozen

__all__ = ["Claim", "TradeRule"]


class TradeRule(Frozen):
    """What may be given for what. Shares are of the incumbent's: 0.1 is 10 %."""

    cost_growth: float = 0.10
    """`better`: the mean cost of an answer may grow by this much."""
    latency_growth: float = 0.10
    """The 95th percentile of the latency may grow by this much."""
    quality_loss: float = 0.3
    """`cheaper`: points of 10 that it has to be shown not to lose."""
    cost_saving: float = 0.20
    """`cheaper`: the mean cost of an answer has to fall by this much."""
