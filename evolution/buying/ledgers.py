"""The books of the lab, kept inside the transactions of the tenant that it works for."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from kit.db import set_tenant
from models.tables import LAB_TENANT, LedgerEntry


async def book_lab(tx: AsyncSession, tenant: UUID, *entries: LedgerEntry) -> None:
    """Write `entries` into the lab's books inside a transaction that works for `tenant`."""
    await tx.flush()
    await set_tenant(tx, LAB_TENANT)
    tx.add_all(entries)
    await tx.flush()
    await set_tenant(tx, tenant)
