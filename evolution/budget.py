"""A cycle's budget in every unit: reserved before it is spent, settled afterwards, never exceeded.

Judged answers are the unit that each cycle has (`Cycle.budget`); `Cycle.limits` may bound model
calls, tokens, money and wall time as well. What a limit `kept` for the proof is out of reach
until `open_proof`. Time is told by the database, so that all machines have one clock.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Double, cast, false, func, select, true, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.elements import ColumnElement

from kit.errors import BudgetExhausted, Misconfigured, NotFound, Stopped
from models.tables import Cycle


@dataclass(frozen=True)
class Amount:
    """What something costs, or may cost at the most."""

    answers: int = 0
    calls: int = 0
    tokens: int = 0
    micros: int | None = 0
    """Millionths of the currency of the prices; None where the model has no price."""


ONE_ANSWER = Amount(answers=1)

UNITS = {
    "answers": "judged answers",
    "calls": "model calls",
    "tokens": "tokens",
    "micros": "money",
    "seconds": "wall time",
}
_UNLIMITED = 2**62


async def reserve(tx: AsyncSession, cycle_id: UUID, amount: Amount = ONE_ANSWER) -> float | None:
    """Set `amount` aside in one atomic step; give the seconds that are left, None if unlimited.

    Raises BudgetExhausted, with the unit, where it does not fit or the time is over, Stopped
    where a person asked the cycle to pause or to end, Misconfigured where money is limited and
    the model has no price.
    """
    fits = (_fits(unit, cost) for unit, cost in _costs(amount).items())
    allowed = (Cycle.wish.is_(None), _has_price(amount), _in_time())
    done = await tx.execute(
        update(Cycle)
        .where(Cycle.id == cycle_id, *allowed, *fits)
        .values(_moved(reserved=amount))
        .returning(_seconds_left())
        .execution_options(synchronize_session=False)
    )
    row = done.first()
    if row is None:
        await _refuse(tx, cycle_id, amount)
        return await reserve(tx, cycle_id, amount)  # others have given something back meanwhile
    left: float | None = row[0]
    return left


async def settle(
    tx: AsyncSession, cycle_id: UUID, reserved: Amount = ONE_ANSWER, spent: Amount | None = None
) -> None:
    """Turn a reservation into what was really spent: all of it, where `spent` is not given."""
    moved = _moved(reserved=reserved, sign=-1) | _moved(spent=spent or reserved)
    await tx.execute(update(Cycle).where(Cycle.id == cycle_id).values(moved))


async def release(tx: AsyncSession, cycle_id: UUID, reserved: Amount = ONE_ANSWER) -> None:
    """Give a reservation back that bought nothing."""
    moved = _moved(reserved=reserved, sign=-1)
    await tx.execute(update(Cycle).where(Cycle.id == cycle_id).values(moved))


async def load_seconds_left(tx: AsyncSession, cycle_id: UUID) -> float | None:
    """Give the seconds that are left of the whole cycle's time; None where nothing limits it."""
    left: float | None = await tx.scalar(
        select(_seconds_left(kept=False)).where(Cycle.id == cycle_id)
    )
    return left


async def open_proof(tx: AsyncSession, cycle_id: UUID) -> None:
    """Let the proof have what the search had to leave; a resumed cycle may do it again."""
    rest = Cycle.limits.op("-")("kept")
    await tx.execute(update(Cycle).where(Cycle.id == cycle_id).values(limits=rest))


def clock_starts() -> dict[str, Any]:
    """Values of an update with which a cycle's time begins to count (again).

    A former run that was killed counts until its lease ended, at the latest until now.
    """
    return {**clock_stops(), "resumed_at": func.clock_timestamp()}


def clock_stops() -> dict[str, Any]:
    """Values of an update with which a cycle's time stands still."""
    return {"ran_s": _ran_s(func.least(func.clock_timestamp(), Cycle.lease_until)),
            "resumed_at": None}  # fmt: skip


def _costs(amount: Amount) -> dict[str, int]:
    return {
        "answers": amount.answers,
        "calls": amount.calls,
        "tokens": amount.tokens,
        "micros": amount.micros or 0,
    }


def _column(kind: str, unit: str) -> str:
    return kind if unit == "answers" else f"{kind}_{unit}"


def _moved(sign: int = 1, **amounts: Amount) -> dict[str, Any]:
    """Values of an update that add the amounts to the columns `reserved…` or `spent…`."""
    return {
        name: getattr(Cycle, name) + sign * cost
        for kind, amount in amounts.items()
        for unit, cost in _costs(amount).items()
        if cost
        for name in [_column(kind, unit)]
    }


def _limit(unit: str, *, kept: bool = True) -> ColumnElement[Any]:
    """Give what may be spent of a unit now; null where nothing limits it."""
    if unit == "answers":
        return cast(Cycle.budget, BigInteger)
    kind = Double if unit == "seconds" else BigInteger
    limit = cast(Cycle.limits[unit].astext, kind)
    return (
        limit - func.coalesce(cast(Cycle.limits[("kept", unit)].astext, kind), 0) if kept else limit
    )


def _fits(unit: str, cost: int, *, reserved: bool = True, kept: bool = True) -> ColumnElement[bool]:
    """Tell whether a cost fits; without what is `reserved` or `kept`, whether it may fit later."""
    if not cost:
        return true()
    used = getattr(Cycle, _column("spent", unit))
    if reserved:
        used += getattr(Cycle, _column("reserved", unit))
    return cast(used, BigInteger) + cost <= func.coalesce(_limit(unit, kept=kept), _UNLIMITED)


def _has_price(amount: Amount) -> ColumnElement[bool]:
    return true() if amount.micros is not None else Cycle.limits["micros"].astext.is_(None)


def _ran_s(until: ColumnElement[Any]) -> ColumnElement[float]:
    present = func.extract("epoch", until - Cycle.resumed_at)
    return Cycle.ran_s + cast(func.greatest(0, func.coalesce(present, 0)), Double)


def _seconds_left(*, kept: bool = True) -> ColumnElement[Any]:
    return _limit("seconds", kept=kept) - _ran_s(func.clock_timestamp())


def _in_time(*, kept: bool = True) -> ColumnElement[bool]:
    return func.coalesce(_seconds_left(kept=kept) > 0, True)


async def _refuse(tx: AsyncSession, cycle_id: UUID, amount: Amount) -> None:
    """Say why a reservation was refused; return where nothing stands against it any more."""
    query = select(Cycle.wish, _has_price(amount).label("price"), *_verdicts(amount))
    found = (await tx.execute(query.where(Cycle.id == cycle_id))).mappings().first()
    if found is None:
        raise NotFound(f"there is no cycle {cycle_id}")
    if found["wish"] is not None:
        raise Stopped(found["wish"])
    if not found["price"]:
        raise Misconfigured("this cycle's money is limited: set the model's price in GENOMA_PRICES")
    for unit, noun in UNITS.items():
        if not found[unit]:
            kept = bool(found[f"{unit}_in_proof"])
            whose = "the search's part of the budget" if kept else "the cycle's budget"
            passing = bool(found[f"{unit}_later"])
            raise BudgetExhausted(f"{whose} of {noun} is used up", passing=passing, kept=kept)


def _verdicts(amount: Amount) -> list[ColumnElement[bool]]:
    """For each unit: whether it fits, may fit later, and would fit in the proof."""
    verdicts: list[ColumnElement[bool]] = [
        _in_time().label("seconds"),
        false().label("seconds_later"),
        _in_time(kept=False).label("seconds_in_proof"),
    ]
    for unit, cost in _costs(amount).items():
        verdicts += [
            _fits(unit, cost).label(unit),
            _fits(unit, cost, reserved=False).label(f"{unit}_later"),
            _fits(unit, cost, kept=False).label(f"{unit}_in_proof"),
        ]
    return verdicts
