"""What a person decides: approve, reject, roll back. Each in one transaction, with its audit."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.binding import Binding, bind
from evolution.genomes import deploy, get_active, load_row, move
from kit.db import Database
from kit.errors import BadInput, Conflict, NotFound
from models.genome import LAYERS, short_name
from models.lifecycle import Status
from models.tables import Approval, ApprovalDecision, AuditLog, Deployment, EvolutionGenome
from pipeline.active import notify_active

MIN_REASON_CHARS = 10


async def approve(
    db: Database,
    tenant: UUID,
    approval_id: UUID,
    *,
    actor: str,
    reason: str,
    models: dict[str, str],
) -> str:
    """Make the promoted genome the active one; give its name.

    `models` are the lab's models now. Raises NotFound; BadInput where the reason is shorter
    than 10 characters; Conflict where it is decided already, or void because the incumbent,
    another layer, a model or the judge has moved since the proof.
    """
    _check_reason(reason)
    async with db.transaction(tenant) as tx:
        approval = await _open_approval(tx, approval_id)
        genome = await load_row(tx, approval.genome_id, lock=True)
        await _check_binding(tx, approval, genome, models)
        await _decide(tx, approval, "approved", actor, reason)
        before = await deploy(tx, genome, action="approve", actor=actor, reason=reason)
        _audit(tx, "approve", genome, before, actor, reason)
        await notify_active(tx)
    return short_name(genome.content_hash)


async def reject(db: Database, tenant: UUID, approval_id: UUID, *, actor: str, reason: str) -> str:
    """Turn the promoted genome down for good; give its name. Raises like `approve`."""
    _check_reason(reason)
    async with db.transaction(tenant) as tx:
        approval = await _open_approval(tx, approval_id)
        genome = await load_row(tx, approval.genome_id, lock=True)
        await _decide(tx, approval, "rejected", actor, reason)
        move(genome, Status.REJECTED)
        _audit(tx, "reject", genome, None, actor, reason)
    return short_name(genome.content_hash)


async def roll_back(db: Database, domain: str, layer: str, *, actor: str, reason: str) -> str:
    """Make the genome that served before the active one serve again; give its name.

    Raises BadInput on a short reason or unknown layer, Conflict where nothing served before.
    """
    _check_reason(reason)
    if layer not in LAYERS:
        raise BadInput(f"there is no layer {layer!r}: it is one of {', '.join(LAYERS)}")
    async with db.transaction() as tx:
        active = await get_active(tx, domain, layer, lock=True)
        if active is None:
            raise Conflict(f"no genome of its own is active in domain {domain!r}, layer {layer}")
        earlier = await load_row(tx, await _find_earlier(tx, active), lock=True)
        await deploy(tx, earlier, action="rollback", actor=actor, reason=reason)
        _audit(tx, "rollback", earlier, active, actor, reason)
        await notify_active(tx)
    return short_name(earlier.content_hash)


async def find_moved(
    tx: AsyncSession, approval: Approval, genome: EvolutionGenome, models: dict[str, str]
) -> list[str]:
    """Say what has moved since the proof, in words; an empty list means the approval holds."""
    bound = Binding.model_validate(approval.evidence["binding"])
    now = await bind(tx, genome.domain, genome.content_hash, models, bound.evaluation)
    if now.digest() == approval.digest:
        return []
    return bound.moved(now) or ["what was proven has changed"]


async def _check_binding(
    tx: AsyncSession, approval: Approval, genome: EvolutionGenome, models: dict[str, str]
) -> None:
    if moved := await find_moved(tx, approval, genome, models):
        raise Conflict(f"this approval is void: {'; '.join(moved)} since the proof")


async def _open_approval(tx: AsyncSession, approval_id: UUID) -> Approval:
    approval = await tx.get(Approval, approval_id)
    if approval is None:
        raise NotFound("there is no such approval")
    decided = await tx.scalar(select(ApprovalDecision).filter_by(approval_id=approval_id))
    if decided is not None:
        raise Conflict(f"this was {decided.verdict} by {decided.actor}: {decided.reason}")
    return approval


async def _decide(
    tx: AsyncSession, approval: Approval, verdict: str, actor: str, reason: str
) -> None:
    tx.add(
        ApprovalDecision(
            tenant_id=approval.tenant_id,
            approval_id=approval.id,
            verdict=verdict,
            actor=actor,
            reason=reason.strip(),
        )
    )
    try:
        await tx.flush()
    except IntegrityError as error:
        raise Conflict("somebody else decided on this a moment ago") from error


def served_before(active_id: UUID, deployments: Iterable[Deployment]) -> UUID | None:
    """Find what served when the active genome came: not what a later roll-back took away.

    `deployments` are those of its domain and layer, newest first. None where nothing served.
    """
    came = (d for d in deployments if d.genome_id == active_id and d.action != "rollback")
    return next((d.previous_id for d in came), None)


async def _find_earlier(tx: AsyncSession, active: EvolutionGenome) -> UUID:
    own = select(Deployment).filter_by(domain=active.domain, layer=active.layer)
    newest_first = own.order_by(Deployment.created_at.desc(), Deployment.id.desc())
    earlier = served_before(active.id, await tx.scalars(newest_first))
    if earlier is None:
        raise Conflict(f"nothing served in domain {active.domain!r} before the active genome")
    return earlier


def _audit(
    tx: AsyncSession,
    action: str,
    genome: EvolutionGenome,
    before: EvolutionGenome | None,
    actor: str,
    reason: str,
) -> None:
    tx.add(
        AuditLog(
            actor=actor,
            action=action,
            subject=f"{genome.domain}/{genome.layer}",
            before=_named(before),
            after=_named(genome),
            reason=reason.strip(),
        )
    )


def _named(genome: EvolutionGenome | None) -> dict[str, Any] | None:
    return {"genome": short_name(genome.content_hash)} if genome else None


def _check_reason(reason: str) -> None:
    if len(reason.strip()) < MIN_REASON_CHARS:
        raise BadInput(f"give a reason of at least {MIN_REASON_CHARS} characters")
