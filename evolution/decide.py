"""What a person decides: approve, reject, roll back. Each in one transaction, with its audit line."""

from uuid import UUID

from kit.db import Database


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
    raise NotImplementedError


async def reject(db: Database, tenant: UUID, approval_id: UUID, *, actor: str, reason: str) -> str:
    """Turn the promoted genome down for good; give its name. Raises like `approve`."""
    raise NotImplementedError


async def roll_back(db: Database, domain: str, layer: str, *, actor: str, reason: str) -> str:
    """Make the genome that served before the active one again; give its name.

    Raises BadInput on a short reason, Conflict where nothing served before.
    """
    raise NotImplementedError
