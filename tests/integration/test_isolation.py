"""Tenant isolation stands in the database itself, from the first migration on."""

from uuid import uuid4

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from kit.db import Database
from models.tables import DEFAULT_TENANT, LAB_TENANT, Corpus, tenant_tables


def corpus(name: str) -> Corpus:
    return Corpus(tenant_id=DEFAULT_TENANT, name=name)


async def test_a_row_of_one_tenant_is_invisible_to_another(db: Database) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        tx.add(corpus("mine"))
    async with db.transaction(LAB_TENANT) as tx:
        assert (await tx.scalars(select(Corpus))).all() == []
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert [c.name for c in await tx.scalars(select(Corpus))] == ["mine"]


async def test_a_row_cannot_be_written_for_another_tenant(db: Database) -> None:
    with pytest.raises(DBAPIError, match="row-level security"):
        async with db.transaction(LAB_TENANT) as tx:
            tx.add(corpus("smuggled"))


async def test_an_unset_tenant_raises_also_on_a_connection_used_before(db: Database) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        tx.add(corpus("mine"))
    with pytest.raises(DBAPIError):
        async with db.transaction() as tx:
            await tx.scalars(select(Corpus))


async def test_every_table_with_a_tenant_forces_its_policy(db: Database) -> None:
    async with db.transaction() as tx:
        rows = await tx.execute(
            text(
                "select relname, relforcerowsecurity from pg_class join pg_attribute a "
                "on a.attrelid = pg_class.oid where attname = 'tenant_id' and relkind = 'r'"
            )
        )
        forced = {name for name, force in rows if force}
    assert forced == set(tenant_tables())


async def test_an_unknown_tenant_sees_nothing(db: Database) -> None:
    async with db.transaction(uuid4()) as tx:
        assert (await tx.scalars(select(Corpus))).all() == []
