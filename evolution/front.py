"""Quality, cost and latency of what was tried: the Pareto front, and what may be traded."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from evolution.breeding.population import Member
from evolution.buying.results import Scored
from evolution.proof.claims import TradeRule
from evolution.proof.latency import is_slower
from evolution.shapes import FrontPoint, Pair, Spent

LEAST_TIMED = 12
"""Common questions from which times say anything about their 95th percentile."""

LEAST_ANSWERS = 3
"""Answers of a genome from which its cost and latency count."""


@dataclass(frozen=True)
class Economy:
    """What an answer of one genome costs, on average, and how long it takes."""

    cost: float
    """Millionths of money where there is a price, else tokens; 0 where neither is known."""
    p95_ms: float
    """Of the answers that were timed."""


def economy_of(member: Member) -> Economy | None:
    """Measure a member on the answers of this cycle; None where there are too few."""
    answers = list(member.answers.values())
    if len(answers) < LEAST_ANSWERS:
        return None
    micros = float(np.mean([a.micros for a in answers]))
    tokens = float(np.mean([a.tokens for a in answers]))
    timed = [a.timed_ms for a in answers if a.timed_ms]
    return Economy(micros or tokens, float(np.quantile(timed, 0.95)) if timed else 0.0)


def cost_ratio(member: Member, incumbent: Member) -> float:
    """Cost of an answer as a share of the incumbent's, on common questions where there are any.

    1 where nothing is known, or nothing costs anything.
    """
    common = member.answers.keys() & incumbent.answers.keys()
    theirs = [member.answers[q] for q in common] or list(member.answers.values())
    ours = [incumbent.answers[q] for q in common] or list(incumbent.answers.values())
    for unit in ("micros", "tokens"):
        if own := sum(getattr(a, unit) for a in ours) / max(1, len(ours)):
            return float(sum(getattr(a, unit) for a in theirs) / max(1, len(theirs)) / own)
    return 1.0


def is_affordable(member: Member, incumbent: Member, rule: TradeRule) -> bool:
    """Tell whether a better genome would cost, and take, no more than the rule allows."""
    is_dear = cost_ratio(member, incumbent) > 1 + rule.cost_growth
    return not (is_dear or is_slow(member, incumbent, rule))


def is_slow(member: Member, incumbent: Member, rule: TradeRule) -> bool:
    """Tell whether a genome's answers took too long on the questions that both have answered.

    An answer that a killed process had begun is not timed, and says nothing.
    """
    common = sorted(member.answers.keys() & incumbent.answers.keys())
    pairs = [_times(q, incumbent.answers[q], member.answers[q]) for q in common]
    timed = [p for p in pairs if p.incumbent_spent.latency_ms and p.candidate_spent.latency_ms]
    return len(timed) >= LEAST_TIMED and is_slower(timed, rule)


def _times(question_id: UUID, ours: Scored, theirs: Scored) -> Pair:
    return Pair(
        question_id=question_id,
        query="",
        incumbent=ours.score,
        candidate=theirs.score,
        incumbent_spent=Spent(latency_ms=ours.timed_ms),
        candidate_spent=Spent(latency_ms=theirs.timed_ms),
    )


def is_saving(member: Member, incumbent: Member, rule: TradeRule) -> bool:
    """Tell whether a genome looks cheaper by as much as the rule asks for."""
    saves = cost_ratio(member, incumbent) <= 1 - rule.cost_saving
    return saves and not is_slow(member, incumbent, rule)


def pareto_front(members: Sequence[tuple[Member, float]]) -> tuple[FrontPoint, ...]:
    """Give those that no other one beats in gain, cost and latency at once, best gain first."""
    points = [
        FrontPoint(
            genome_id=member.row.id,
            name=member.contender.name,
            gain=gain,
            cost=economy.cost,
            p95_ms=economy.p95_ms,
        )
        for member, gain in members
        if (economy := economy_of(member)) is not None
    ]
    front = [p for p in points if not any(_dominates(other, p) for other in points)]
    return tuple(sorted(front, key=lambda p: -p.gain))


def _dominates(a: FrontPoint, b: FrontPoint) -> bool:
    ours, theirs = (a.gain, -a.cost, -a.p95_ms), (b.gain, -b.cost, -b.p95_ms)
    return ours != theirs and all(x >= y for x, y in zip(ours, theirs, strict=True))
