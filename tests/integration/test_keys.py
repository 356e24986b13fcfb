"""API keys: the one thing that says whose request it is."""

from uuid import uuid4

import pytest
from sqlalchemy import select

from accounts.keys import (
    PREFIX_CHARS,
    create_key,
    find_tenant,
    has_keys,
    resolve_tenant,
    revoke_key,
)
from kit.clock import SystemClock
from kit.db import Database
from kit.errors import Conflict, NotAllowed, NotFound
from models.tables import DEFAULT_TENANT, LAB_TENANT, ApiKey

CLOCK = SystemClock()


async def test_a_key_names_its_tenant_and_is_not_stored(db: Database) -> None:
    async with db.transaction() as tx:
        key = await create_key(tx, DEFAULT_TENANT)
    async with db.transaction() as tx:
        assert await resolve_tenant(tx, key) == DEFAULT_TENANT
        row = (await tx.scalars(select(ApiKey))).one()
    assert key.startswith("gen_")
    assert len(key) >= 40
    assert key not in (row.prefix, row.key_hash)
    assert row.prefix == key[:PREFIX_CHARS]


async def test_two_tenants_have_two_keys(db: Database) -> None:
    async with db.transaction() as tx:
        keys = [await create_key(tx, tenant) for tenant in (DEFAULT_TENANT, LAB_TENANT)]
        assert [await resolve_tenant(tx, key) for key in keys] == [DEFAULT_TENANT, LAB_TENANT]
        assert await has_keys(tx, LAB_TENANT)
        assert not await has_keys(tx, uuid4())


async def test_an_unknown_key_is_refused(db: Database) -> None:
    async with db.transaction() as tx:
        await create_key(tx, DEFAULT_TENANT)
        for key in ("", "gen_", "gen_wrong", "a\0b", "\ud800", "k" * 100_000):
            with pytest.raises(NotAllowed):
                await resolve_tenant(tx, key)


async def test_a_part_of_a_key_is_no_key(db: Database) -> None:
    async with db.transaction() as tx:
        key = await create_key(tx, DEFAULT_TENANT)
        for part in (key[:-1], key[:PREFIX_CHARS], key.upper(), key + "x"):
            with pytest.raises(NotAllowed):
                await resolve_tenant(tx, part)


@pytest.mark.parametrize("length", [PREFIX_CHARS, PREFIX_CHARS + 4, None])
async def test_a_key_is_revoked_by_its_beginning_or_whole(db: Database, length: int | None) -> None:
    async with db.transaction() as tx:
        key, other = [await create_key(tx, DEFAULT_TENANT) for _ in range(2)]
        assert await revoke_key(tx, key[:length], CLOCK) == key[:PREFIX_CHARS]
    async with db.transaction() as tx:
        with pytest.raises(NotAllowed):
            await resolve_tenant(tx, key)
        assert await resolve_tenant(tx, other) == DEFAULT_TENANT
        with pytest.raises(NotFound):
            await revoke_key(tx, key[:length], CLOCK)


async def test_what_begins_no_key_revokes_none(db: Database) -> None:
    async with db.transaction() as tx:
        key = await create_key(tx, DEFAULT_TENANT)
        for prefix in ("", "%", "gen_%", "gen-", "____", "zzz", "GEN_"):
            with pytest.raises(NotFound):
                await revoke_key(tx, prefix, CLOCK)
        assert await resolve_tenant(tx, key) == DEFAULT_TENANT


async def test_a_beginning_of_several_keys_revokes_none_of_them(db: Database) -> None:
    async with db.transaction() as tx:
        keys = [await create_key(tx, DEFAULT_TENANT) for _ in range(2)]
        with pytest.raises(Conflict, match="2 live keys"):
            await revoke_key(tx, "gen_", CLOCK)
        assert [await resolve_tenant(tx, key) for key in keys] == [DEFAULT_TENANT] * 2


async def test_tenants_are_found_by_name(db: Database) -> None:
    async with db.transaction() as tx:
        assert await find_tenant(tx, "default") == DEFAULT_TENANT
        with pytest.raises(NotFound, match="nobody"):
            await find_tenant(tx, "nobody")
