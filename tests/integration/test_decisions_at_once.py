"""Two admins decide at the same moment: one wins, the other is told."""

import asyncio

from admin_world import MODELS, World, add_approval, make_world
from sqlalchemy import func, select

from evolution.decide import approve, reject, roll_back
from evolution.genomes import get_active
from kit.db import Database
from kit.errors import Conflict
from models.tables import DEFAULT_TENANT, ApprovalDecision, AuditLog, Deployment

REASON = "better on what matters"


async def count(world: World, table: type) -> int:
    async with world.db.transaction(DEFAULT_TENANT) as tx:
        return await tx.scalar(select(func.count()).select_from(table)) or 0


def refused(outcomes: list[str | BaseException]) -> list[BaseException]:
    return [outcome for outcome in outcomes if isinstance(outcome, BaseException)]


async def test_of_many_approvals_at_once_one_wins(db: Database) -> None:
    world = await make_world(db)
    approval_id = await add_approval(world)
    before = await count(world, Deployment)
    outcomes = await asyncio.gather(
        *(
            approve(db, DEFAULT_TENANT, approval_id, actor=name, reason=REASON, models=MODELS)
            for name in ("ada", "eva", "ira", "leo")
        ),
        return_exceptions=True,
    )
    losers = refused(list(outcomes))
    assert len(losers) == 3
    assert all(isinstance(loser, Conflict) for loser in losers)
    assert await count(world, ApprovalDecision) == 1
    assert await count(world, AuditLog) == 1
    assert await count(world, Deployment) == before + 1


async def test_of_an_approval_and_a_rejection_at_once_one_holds(db: Database) -> None:
    world = await make_world(db)
    approval_id = await add_approval(world)
    outcomes = await asyncio.gather(
        approve(db, DEFAULT_TENANT, approval_id, actor="ada", reason=REASON, models=MODELS),
        reject(db, DEFAULT_TENANT, approval_id, actor="eva", reason=REASON),
        return_exceptions=True,
    )
    (loser,) = refused(list(outcomes))
    assert isinstance(loser, Conflict)
    assert await count(world, ApprovalDecision) == 1


async def test_of_two_roll_backs_at_once_the_genome_goes_back_one_step(db: Database) -> None:
    world = await make_world(db)
    async with db.transaction() as tx:
        first = await get_active(tx, "tutorial", "postprocess")
    approval_id = await add_approval(world)
    await approve(db, DEFAULT_TENANT, approval_id, actor="ada", reason=REASON, models=MODELS)
    outcomes = await asyncio.gather(
        *(
            roll_back(db, "tutorial", "postprocess", actor=name, reason=REASON)
            for name in ("ada", "eva")
        ),
        return_exceptions=True,
    )
    (loser,) = refused(list(outcomes))
    assert isinstance(loser, Conflict)
    async with db.transaction() as tx:
        now = await get_active(tx, "tutorial", "postprocess")
    assert first is not None
    assert now is not None
    assert now.id == first.id
