"""A cycle's budget in every unit: reserved before it is spent, settled afterwards, never exceeded.

Judged answers are the unit that each cycle has (`Cycle.budget`); `Cycle.limits` may bound model
calls, tokens, money and wall time as well. What a limit `kept` for the proof is out of reach
until `open_proof`. Time is told by the database, so that all machines have one clock.

The statements are plain text: they run twice for each model call of the lab.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Double, cast, func, text
from sqlalchemy.ext.asyncio import AsyncSession

from kit.errors import BudgetExhausted, Misconfigured, NotFound, Stopped
from models.tables import Cycle

UNITS = {
    "answers": "judged answers",
    "calls": "model calls",
    "tokens": "tokens",
    "micros": "money",
    "seconds": "wall time",
}
_COUNTED = ("answers", "calls", "tokens", "micros")


@dataclass(frozen=True)
class Amount:
    """What something costs, or may cost at the most."""

    answers: int = 0
    calls: int = 0
    tokens: int = 0
    micros: int | None = 0
    """Millionths of the currency of the prices; None where the model has no price."""

    def parameters(self, name: str = "") -> dict[str, int]:
        """Give the bound parameters of the statements here, each beginning with `name`."""
        counts = {unit: getattr(self, unit) or 0 for unit in _COUNTED}
        return {f"{name}{unit}": count for unit, count in counts.items()}


ONE_ANSWER = Amount(answers=1)


def _column(kind: str, unit: str) -> str:
    return kind if unit == "answers" else f"{kind}_{unit}"


def _limit(unit: str, *, kept: bool = True) -> str:
    """What may be spent of a unit now; null where nothing limits it."""
    if unit == "answers":
        return "budget::numeric"
    limit = f"(limits ->> '{unit}')::numeric"
    for_proof = f"coalesce((limits #>> '{{kept,{unit}}}')::numeric, 0)"
    return f"{limit} - {for_proof}" if kept else limit


def _fits(unit: str, *, reserved: bool = True, kept: bool = True) -> str:
    """Whether a cost fits; without what is `reserved` or `kept`, whether it may fit later."""
    used = _column("spent", unit) + (f" + {_column('reserved', unit)}" if reserved else "")
    limit = f"coalesce({_limit(unit, kept=kept)}, 'infinity')"
    return f"(:{unit} = 0 or {used} + :{unit} <= {limit})"


def _add(kind: str, sign: str = "+", name: str = "") -> str:
    """Assignments that move the parameters into or out of the columns `reserved…` or `spent…`."""
    columns = ((_column(kind, unit), unit) for unit in _COUNTED)
    return ", ".join(f"{column} = {column} {sign} :{name}{unit}" for column, unit in columns)


_RAN_S = "ran_s + greatest(0, coalesce(extract(epoch from clock_timestamp() - resumed_at), 0))"
_LEFT_IN_ALL = f"({_limit('seconds', kept=False)} - ({_RAN_S}))"
_HAS_PRICE = "(:has_price or limits ->> 'micros' is null)"
_LEFT_NOW = f"({_limit('seconds')} - ({_RAN_S}))"
_IN_TIME = "coalesce({} > 0, true)"

SECONDS_LEFT = f"{_LEFT_IN_ALL}::float"
"""Until the whole cycle's time is over: what has begun when the search's part ends goes on."""

RESERVES = _add("reserved")
MAY_RESERVE = " and ".join(
    ["wish is null", _HAS_PRICE, _IN_TIME.format(_LEFT_NOW), *map(_fits, _COUNTED)]
)
"""The condition of a statement that `RESERVES`, with `reservation_of(...)` as its parameters."""

_RESERVE = text(
    f"update cycle set {RESERVES} where id = :cycle and {MAY_RESERVE} returning {SECONDS_LEFT}"
)
_WHY_NOT = text(
    f"select wish, {_HAS_PRICE} as price, {_IN_TIME.format(_LEFT_NOW)} as seconds, "
    f"false as seconds_later, {_IN_TIME.format(_LEFT_IN_ALL)} as seconds_in_proof, "
    + ", ".join(
        f"{_fits(unit)} as {unit}, {_fits(unit, reserved=False)} as {unit}_later, "
        f"{_fits(unit, kept=False)} as {unit}_in_proof"
        for unit in _COUNTED
    )
    + " from cycle where id = :cycle"
)
_RELEASE = text(f"update cycle set {_add('reserved', '-')} where id = :cycle")
SETTLES = f"{_add('reserved', '-')}, {_add('spent', name='spent_')}"
"""Assignments with `settlement_of(...)` as their parameters."""

_SETTLE = text(f"update cycle set {SETTLES} where id = :cycle")
_SECONDS_LEFT = text(f"select {SECONDS_LEFT} from cycle where id = :cycle")
_OPEN_PROOF = text("update cycle set limits = limits - 'kept' where id = :cycle")


def reservation_of(cycle_id: UUID, amount: Amount) -> dict[str, Any]:
    return {"cycle": cycle_id, "has_price": amount.micros is not None, **amount.parameters()}


def settlement_of(cycle_id: UUID, reserved: Amount, spent: Amount) -> dict[str, Any]:
    return {"cycle": cycle_id, **reserved.parameters(), **spent.parameters("spent_")}


async def reserve(tx: AsyncSession, cycle_id: UUID, amount: Amount = ONE_ANSWER) -> float | None:
    """Set `amount` aside in one atomic step; give the seconds that are left in all.

    None where time is not limited. Raises BudgetExhausted, with the unit, where it does not fit
    or the time is over (`kept` where it would fit into the proof), Stopped where a person asked
    the cycle to pause or to end, Misconfigured where money is limited and the model has no price.
    """
    wanted = reservation_of(cycle_id, amount)
    while (row := (await tx.execute(_RESERVE, wanted)).first()) is None:
        await _refuse(tx, wanted)  # returns where others have given something back meanwhile
    left: float | None = row[0]
    return left


async def settle(
    tx: AsyncSession, cycle_id: UUID, reserved: Amount = ONE_ANSWER, spent: Amount | None = None
) -> None:
    """Turn a reservation into what was really spent: all of it, where `spent` is not given."""
    await tx.execute(_SETTLE, settlement_of(cycle_id, reserved, spent or reserved))


async def release(tx: AsyncSession, cycle_id: UUID, reserved: Amount = ONE_ANSWER) -> None:
    """Give a reservation back that bought nothing."""
    await tx.execute(_RELEASE, {"cycle": cycle_id, **reserved.parameters()})


async def load_seconds_left(tx: AsyncSession, cycle_id: UUID) -> float | None:
    """Give the seconds that are left of the whole cycle's time; None where nothing limits it."""
    left: float | None = await tx.scalar(_SECONDS_LEFT, {"cycle": cycle_id})
    return left


async def open_proof(tx: AsyncSession, cycle_id: UUID) -> None:
    """Let the proof have what the search had to leave; a resumed cycle may do it again."""
    await tx.execute(_OPEN_PROOF, {"cycle": cycle_id})


def clock_starts() -> dict[str, Any]:
    """Values of an update with which a cycle's time begins to count (again).

    A former run that was killed counts until its lease ended, at the latest until now.
    """
    return {**clock_stops(), "resumed_at": func.clock_timestamp()}


def clock_stops() -> dict[str, Any]:
    """Values of an update with which a cycle's time stands still."""
    until = func.least(func.clock_timestamp(), Cycle.lease_until)
    present = func.extract("epoch", until - Cycle.resumed_at)
    ran_s = Cycle.ran_s + cast(func.greatest(0, func.coalesce(present, 0)), Double)
    return {"ran_s": ran_s, "resumed_at": None}


async def _refuse(tx: AsyncSession, wanted: dict[str, Any]) -> None:
    """Say why a reservation was refused; return where nothing stands against it any more."""
    found = (await tx.execute(_WHY_NOT, wanted)).mappings().first()
    if found is None:
        raise NotFound(f"there is no cycle {wanted['cycle']}")
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
