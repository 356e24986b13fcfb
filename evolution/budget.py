"""A cycle's budget in judged answers: reserved before it is spent, never exceeded."""

from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from kit.errors import BudgetExhausted
from models.tables import Cycle


async def reserve(tx: AsyncSession, cycle_id: UUID, answers: int = 1) -> None:
    """Set `answers` aside in one atomic step. Raises BudgetExhausted where they do not fit."""
    fits = Cycle.spent + Cycle.reserved + answers <= Cycle.budget
    done = await tx.execute(
        update(Cycle)
        .where(Cycle.id == cycle_id, fits)
        .values(reserved=Cycle.reserved + answers)
        .returning(Cycle.id)
    )
    if done.first() is None:
        raise BudgetExhausted("the cycle's budget of judged answers is used up")


async def settle(tx: AsyncSession, cycle_id: UUID) -> None:
    """Turn one reserved judged answer into a spent one."""
    moved = {"reserved": Cycle.reserved - 1, "spent": Cycle.spent + 1}
    await tx.execute(update(Cycle).where(Cycle.id == cycle_id).values(**moved))


async def release(tx: AsyncSession, cycle_id: UUID, answers: int = 1) -> None:
    """Give a reservation back that bought nothing."""
    moved = {"reserved": Cycle.reserved - answers}
    await tx.execute(update(Cycle).where(Cycle.id == cycle_id).values(**moved))
