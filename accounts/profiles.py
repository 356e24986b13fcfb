"""Profiles: how a tenant retrieves, by name."""

from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from kit.errors import BadInput, NotFound
from models.profile import ProfileSettings
from models.tables import Profile


async def create_profile(
    tx: AsyncSession,
    tenant: UUID,
    name: str,
    corpus_id: UUID,
    settings: ProfileSettings | None = None,
) -> Profile:
    """Give the tenant's profile of that name, made on this corpus if there is none.

    In this version a profile serves the domain of its own name. Raises BadInput on an empty
    name.
    """
    if not name.strip():
        raise BadInput("a profile needs a name")
    new = insert(Profile).values(
        id=uuid4(),
        tenant_id=tenant,
        name=name,
        domain=name,
        corpus_id=corpus_id,
        settings=(settings or ProfileSettings()).model_dump(mode="json"),
    )
    await tx.execute(new.on_conflict_do_nothing(index_elements=["tenant_id", "name"]))
    return (await tx.scalars(select(Profile).where(Profile.name == name))).one()


async def load_profile(tx: AsyncSession, name: str) -> Profile:
    """Give the tenant's profile of that name. Raises NotFound with the names there are."""
    profile = await tx.scalar(select(Profile).where(Profile.name == name))
    if profile is None:
        known = ", ".join(p.name for p in await list_profiles(tx))
        there_is = known or "none yet: bring documents in with `genoma ingest FOLDER`"
        raise NotFound(f"no profile is named {name!r}; there is {there_is}")
    return profile


async def list_profiles(tx: AsyncSession) -> list[Profile]:
    """List the tenant's profiles, oldest first."""
    return list(await tx.scalars(select(Profile).order_by(Profile.created_at, Profile.id)))
