"""API keys: shown once, kept as a hash, and the only way to say who one is."""

import hashlib
import secrets
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from kit.clock import Clock
from kit.errors import Conflict, NotAllowed, NotFound
from models.tables import ApiKey, Tenant

SCHEME = "gen_"
PREFIX_CHARS = 10


async def create_key(tx: AsyncSession, tenant_id: UUID) -> str:
    """Make a key for the tenant and give it: this is the only time that it can be read."""
    key = SCHEME + secrets.token_urlsafe(32)
    tx.add(ApiKey(tenant_id=tenant_id, prefix=key[:PREFIX_CHARS], key_hash=hash_key(key)))
    await tx.flush()
    return key


async def resolve_tenant(tx: AsyncSession, key: str) -> UUID:
    """Tell whose key it is. Raises NotAllowed, alike for an unknown and a revoked one."""
    live = select(ApiKey.tenant_id).filter_by(key_hash=hash_key(key), revoked_at=None)
    tenant_id = await tx.scalar(live)
    if tenant_id is None:
        raise NotAllowed("this API key is not known")
    return tenant_id


async def revoke_key(tx: AsyncSession, prefix: str, clock: Clock) -> str:
    """Revoke the one live key that begins with `prefix`; give its kept prefix.

    Only the first characters of a key are kept: what is longer is compared by these, a whole
    key by its hash. Raises NotFound where there is none, Conflict where there are several.
    """
    begins = ApiKey.prefix.startswith(prefix[:PREFIX_CHARS], autoescape=True)
    live = select(ApiKey).filter_by(revoked_at=None).where(begins)
    found = list(await tx.scalars(live)) if prefix.startswith(SCHEME) else []
    found = [key for key in found if key.key_hash == hash_key(prefix)] or found
    shown = prefix[:PREFIX_CHARS]
    if not found:
        raise NotFound(f"no live key begins with {shown!r}")
    if len(found) > 1:
        raise Conflict(f"{len(found)} live keys begin with {shown!r}: give more of it")
    await tx.execute(update(ApiKey).filter_by(id=found[0].id).values(revoked_at=clock.now()))
    return found[0].prefix


async def has_keys(tx: AsyncSession, tenant_id: UUID) -> bool:
    """Tell whether the tenant has a live key."""
    live = select(func.count()).select_from(ApiKey).filter_by(tenant_id=tenant_id, revoked_at=None)
    return bool(await tx.scalar(live))


async def find_tenant(tx: AsyncSession, name: str) -> UUID:
    """Give the tenant of that name. Raises NotFound."""
    tenant_id = await tx.scalar(select(Tenant.id).filter_by(name=name))
    if tenant_id is None:
        raise NotFound(f"there is no tenant {name!r}")
    return tenant_id


def hash_key(key: str) -> str:
    """SHA-256: a key is 256 random bits, so that no slow hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
