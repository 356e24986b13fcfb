"""What a cycle may spend besides judged answers, checked before it is queued, and what it spent."""

from dataclasses import asdict, dataclass
from datetime import datetime
from math import ceil
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.budget import UNITS
from kit.errors import BadInput
from models.genome import Layer
from models.tables import Cycle

MICROS = 1_000_000
"""Millionths in one unit of money."""

LATELY = 5
"""Cycles from which the cost of a judged answer is known."""

ENOUGH = 12
"""Judged answers of a cycle from which its cost counts."""


@dataclass(frozen=True)
class Limits:
    """Upper limits of one cycle; None where nothing limits it."""

    calls: int | None = None
    tokens: int | None = None
    micros: int | None = None
    """Of money, in millionths."""
    seconds: int | None = None

    @property
    def given(self) -> dict[str, int]:
        return {unit: limit for unit, limit in asdict(self).items() if limit is not None}


@dataclass(frozen=True)
class Called:
    """The language models that a cycle calls, by name, as far as limits need to know them."""

    each_answer: tuple[str, ...] = ()
    """At least once for each judged answer."""
    unpriced: tuple[str, ...] = ()
    """Models without a price in the settings."""


UNLIMITED = Limits()
NONE_CALLED = Called()


@dataclass(frozen=True)
class Division:
    """How the judged answers of a cycle are divided."""

    budget: int
    least: int
    """Baseline + 3 proposals + proof."""
    proof: int


async def plan_limits(
    tx: AsyncSession, layer: Layer, limits: Limits, division: Division, called: Called
) -> dict[str, Any]:
    """Give what is stored in `Cycle.limits`, with the part of each that is kept for the proof.

    What a judged answer takes is known from the tenant's last cycles, if there are any. Raises
    BadInput, with the sum, where a limit does not pay for baseline + 3 proposals + proof, or
    money is limited and a model has no price.
    """
    if limits.micros is not None and called.unpriced:
        names = ", ".join(sorted(set(called.unpriced)))
        raise BadInput(f"a limit of money needs a price for {names}: set GENOMA_PRICES")
    rates = await load_rates(tx, layer, called)
    for unit, limit in limits.given.items():
        _check(unit, limit, rates.get(unit), division.least)
    kept = {unit: _kept(limit, rates.get(unit), division) for unit, limit in limits.given.items()}
    return {**limits.given, **({"kept": kept} if any(kept.values()) else {})}


async def load_rates(tx: AsyncSession, layer: Layer, called: Called) -> dict[str, float]:
    """Say what one judged answer takes in each unit, from the last cycles of this tenant.

    Cycles of the same layer count before others. Where there is none, only the least number of
    calls is known.
    """
    newest = select(Cycle).where(Cycle.spent >= ENOUGH).order_by(Cycle.created_at.desc(), Cycle.id)
    cycles = list(await tx.scalars(newest.limit(4 * LATELY)))
    cycles = ([c for c in cycles if c.layer == layer] or cycles)[:LATELY]
    answers = sum(cycle.spent for cycle in cycles)
    if not answers:
        return {"calls": float(len(called.each_answer))} if called.each_answer else {}
    sums = {
        "calls": sum(cycle.spent_calls for cycle in cycles),
        "tokens": sum(cycle.spent_tokens for cycle in cycles),
        "micros": sum(cycle.spent_micros for cycle in cycles),
        "seconds": sum(cycle.ran_s for cycle in cycles),
    }
    return {unit: total / answers for unit, total in sums.items() if total}


@dataclass(frozen=True)
class Spending:
    """What a cycle has spent of a unit, written for people."""

    noun: str
    spent: str
    limit: str | None
    """None where nothing limits it."""


def spending(cycle: Cycle, now: datetime) -> tuple[Spending, ...]:
    """Say what a cycle has spent of each unit of which it spent anything or which is limited."""
    limits = {"answers": cycle.budget, **cycle.limits}
    spent = {
        "answers": cycle.spent,
        "calls": cycle.spent_calls,
        "tokens": cycle.spent_tokens,
        "micros": cycle.spent_micros,
        "seconds": ran_for(cycle, now),
    }
    return tuple(
        Spending(
            noun=UNITS[unit],
            spent=_measure(unit, amount),
            limit=_measure(unit, limits[unit]) if unit in limits else None,
        )
        for unit, amount in spent.items()
        if amount or unit in limits
    )


def ran_for(cycle: Cycle, now: datetime) -> float:
    """Count the seconds of all runs as `clock_starts` does: a killed one until its lease ended."""
    if cycle.resumed_at is None:
        return cycle.ran_s
    until = min(now, cycle.lease_until or now)
    return cycle.ran_s + max(0.0, (until - cycle.resumed_at).total_seconds())


def say(unit: str, amount: float) -> str:
    """Write an amount of a unit as people read it: `1,200 tokens`, `0.35 of money`."""
    nouns = UNITS | {"micros": "of money", "seconds": "seconds"}
    return f"{_number(unit, amount)} {nouns[unit]}"


def _measure(unit: str, amount: float) -> str:
    """Write an amount that stands beside the name of its unit."""
    return _number(unit, amount) + (" s" if unit == "seconds" else "")


def _number(unit: str, amount: float) -> str:
    if unit == "micros":
        return f"{amount / MICROS:,.4f}".rstrip("0").rstrip(".")
    return f"{amount:,.0f}" if amount >= 10 or amount == int(amount) else f"{amount:.2g}"


def _check(unit: str, limit: int, rate: float | None, least: int) -> None:
    if limit < 1:
        raise BadInput(f"a limit of {say(unit, limit)} buys nothing")
    if rate is not None and limit < rate * least:
        raise BadInput(
            f"a limit of {say(unit, limit)} is too small: a judged answer takes about "
            f"{say(unit, rate)}, and baseline + 3 proposals + proof are {least} of them = "
            f"{say(unit, ceil(rate * least))}"
        )


def _kept(limit: int, rate: float | None, division: Division) -> int:
    """Keep for the proof what it is likely to take, or its share where that is not known."""
    if rate is None:
        return limit * division.proof // division.budget
    return ceil(rate * division.proof)
