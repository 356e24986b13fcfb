"""The rows of model calls: begun with a reservation, ended with what they really cost.

A reservation and its call in flight are written together and end together, so that at any
instant what a cycle has reserved is what its calls in flight may cost. Rows are locked in one
order: the call, then the cycle.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.budget import (
    MAY_RESERVE,
    RESERVES,
    SECONDS_LEFT,
    SETTLES,
    Amount,
    release,
    reservation_of,
    reserve,
    settle,
    settlement_of,
)
from evolution.buying.ledgers import Line, book_lab
from kit.chat import ChatReply, Usage
from kit.errors import Conflict
from models.tables import PaidCall

PRESUMED_DEAD_S = 60
"""A call that another process has had under way for so long is made again."""


@dataclass
class Tab:
    """What the calls of one scope cost together."""

    tokens: int = 0
    micros: int = 0
    beside_s: float = 0.0
    """Time that they took besides the model's: waiting for their turn, and for the books."""
    is_timed: bool = True
    """False where a reply was found in the store: how long the model took is not known."""


@dataclass(frozen=True)
class PaidScope:
    """What the model calls of the current task are paid for: an answer, a verdict, a mutation."""

    tenant: UUID
    cycle_id: UUID
    key: str
    purpose: str
    trace_id: UUID | None = None
    tab: Tab = field(default_factory=Tab, compare=False)


@dataclass(frozen=True)
class Call:
    """One model call: who pays for it, whom it asks, and what it may cost at the most."""

    key: str
    scope: PaidScope
    model: str
    provider: str
    bound: Amount


@dataclass(frozen=True)
class Begun:
    """A call that is written down as in flight, and may be made now."""

    fence: int
    seconds_left: float | None
    """Until the cycle's time is over; None where it is not limited."""


# The call first, then the cycle: rows are locked in one order.
_BEGIN = text(
    f"""
    with begun as (
        insert into paid_call (key, tenant_id, cycle_id, role, model, state, fence,
                               reserved_tokens, reserved_micros, started_at)
        values (:key, :tenant, :cycle, :role, :model, 'in_flight', 0,
                :tokens, :micros, clock_timestamp())
        on conflict do nothing returning key
    )
    update cycle set {RESERVES} from begun where id = :cycle and {MAY_RESERVE}
    returning {SECONDS_LEFT}
    """
)
_COMPLETE = text(
    f"""
    with done as (
        update paid_call set state = 'done', reply = :reply
        where key = :key and fence = :fence and cycle_id = :cycle and state = 'in_flight'
        returning key
    )
    update cycle set {SETTLES} from done where id = :cycle returning id
    """
).bindparams(bindparam("reply", type_=JSONB))


async def find_reply(tx: AsyncSession, key: str) -> ChatReply | None:
    """Give the whole reply of a call that was made before."""
    stored = await tx.scalar(select(PaidCall.reply).filter_by(key=key, state="done"))
    return ChatReply(**{**stored, "usage": Usage(**stored["usage"])}) if stored else None


async def begin_at_once(tx: AsyncSession, call: Call) -> Begun | None:
    """Begin a call that is new and fits, in one statement: nearly all are.

    None, and nothing written, where it is known already or does not fit: then `begin_call`.
    """
    row = {
        "key": call.key,
        "tenant": call.scope.tenant,
        "role": call.scope.purpose,
        "model": call.model,
    }
    wanted = reservation_of(call.scope.cycle_id, call.bound)
    begun = (await tx.execute(_BEGIN, row | wanted)).first()
    if begun is None:
        await tx.rollback()
        return None
    return Begun(0, begun[0])


async def begin_call(tx: AsyncSession, call: Call) -> Begun | None:
    """Reserve a call and write it down as in flight; None where another process makes it now.

    A call whose process is presumed dead is booked as lost and begun again under a higher
    fence. Raises like `budget.reserve`.
    """
    fence = await _claim(tx, call)
    if fence is None:
        return None
    return Begun(fence, await reserve(tx, call.scope.cycle_id, call.bound))


async def complete_call(
    tx: AsyncSession, call: Call, begun: Begun, reply: ChatReply, spent: Amount
) -> None:
    """Store a reply and book its real cost. Raises Conflict where the call was begun anew."""
    row = {"key": call.key, "fence": begun.fence, "reply": dataclasses.asdict(reply)}
    settled = settlement_of(call.scope.cycle_id, call.bound, spent)
    if (await tx.execute(_COMPLETE, row | settled)).first() is None:
        if await find_reply(tx, call.key) != reply:
            raise Conflict("a model call came back after it was given up for lost")
        return  # it was stored, and the word of it was lost on the way
    scope = call.scope
    line = Line("generation", scope.purpose, reply.model, spent.tokens, scope.cycle_id,
                call.provider, scope.trace_id)  # fmt: skip
    await book_lab(tx, scope.tenant, line)


async def forget_call(tx: AsyncSession, call: Call, begun: Begun) -> None:
    """Give back what a call had reserved that the provider refused: it bought nothing."""
    ours = _in_flight(call, begun)
    end: Any = delete(PaidCall)
    if begun.fence:  # an earlier start of it is lost, and its fence must stay
        nothing = {"state": "lost_in_flight", "reserved_tokens": 0, "reserved_micros": 0}
        end = update(PaidCall).values(nothing)
    gone = await tx.execute(end.where(*ours).returning(PaidCall.key))
    if gone.first() is not None:
        await release(tx, call.scope.cycle_id, call.bound)


async def lose_call(tx: AsyncSession, call: Call, begun: Begun) -> None:
    """Book a call that may be on the bill although no reply came: at what it was reserved at."""
    await _lose(tx, call.scope.tenant, *_in_flight(call, begun))


async def book_lost(tx: AsyncSession, tenant: UUID, cycle_id: UUID) -> int:
    """Book the calls that were in flight when the cycle was killed; give their number."""
    in_flight = PaidCall.state == "in_flight"
    return await _lose(tx, tenant, PaidCall.cycle_id == cycle_id, in_flight)


async def _claim(tx: AsyncSession, call: Call) -> int | None:
    """Write the call's row as in flight; give its fence, None where somebody else makes it."""
    values = {
        "tenant_id": call.scope.tenant,
        "cycle_id": call.scope.cycle_id,
        "role": call.scope.purpose,
        "model": call.model,
        "state": "in_flight",
        "reserved_tokens": call.bound.tokens,
        "reserved_micros": call.bound.micros or 0,
        "started_at": func.clock_timestamp(),
    }
    new = insert(PaidCall).values(key=call.key, fence=0, **values).on_conflict_do_nothing()
    if (await tx.execute(new.returning(PaidCall.key))).first() is not None:
        return 0
    limit = func.clock_timestamp() - text(f"interval '{PRESUMED_DEAD_S} seconds'")
    is_late = (PaidCall.started_at < limit).label("is_late")
    locked = select(PaidCall.state, is_late).where(PaidCall.key == call.key).with_for_update()
    row = (await tx.execute(locked)).first()
    if row is None or row.state == "done" or (row.state == "in_flight" and not row.is_late):
        return None  # the next look finds the reply, or begins
    if row.state == "in_flight":
        await _lose(tx, call.scope.tenant, PaidCall.key == call.key)
    again = update(PaidCall).filter_by(key=call.key).values(fence=PaidCall.fence + 1, **values)
    fence: int = (await tx.execute(again.returning(PaidCall.fence))).scalar_one()
    return fence


def _in_flight(call: Call, begun: Begun) -> tuple[Any, ...]:
    """Name this very start of the call, while it is under way."""
    return (
        PaidCall.key == call.key,
        PaidCall.fence == begun.fence,
        PaidCall.cycle_id == call.scope.cycle_id,
        PaidCall.state == "in_flight",
    )


async def _lose(tx: AsyncSession, tenant: UUID, *which: Any) -> int:
    """Book calls as lost in flight, each in its own cycle, at what it may have cost."""
    columns = (PaidCall.cycle_id, PaidCall.role, PaidCall.model,
               PaidCall.reserved_tokens, PaidCall.reserved_micros)  # fmt: skip
    lost = update(PaidCall).where(*which).values(state="lost_in_flight").returning(*columns)
    rows = (await tx.execute(lost)).all()
    for row in rows:
        cost = row.reserved_tokens
        line = Line("generation", row.role, row.model, cost, row.cycle_id, outcome="lost_in_flight")
        await book_lab(tx, tenant, line)
    for cycle_id in sorted({row.cycle_id for row in rows}):
        bounds = [row for row in rows if row.cycle_id == cycle_id]
        tokens = sum(row.reserved_tokens for row in bounds)
        micros = sum(row.reserved_micros for row in bounds)
        await settle(tx, cycle_id, Amount(calls=len(bounds), tokens=tokens, micros=micros))
    return len(rows)
