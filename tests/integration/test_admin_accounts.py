"""Admins come from one-time links; sessions end by themselves and are never made longer."""

from datetime import timedelta

import pytest
from admin_world import NAME, PASSWORD, FixedClock
from sqlalchemy import select

from admin_ui.accounts import (
    create_setup_link,
    find_person,
    has_admins,
    is_link_open,
    open_session,
    sign_in,
    sign_out,
    use_setup_link,
)
from kit.db import Database
from kit.errors import BadInput, NotAllowed, NotFound
from models.tables import AdminSession, AdminUser, AuditLog, SetupLink


async def make_admin_user(db: Database, clock: FixedClock) -> str:
    """Give the token of a link that has just been used."""
    async with db.transaction() as tx:
        token = await create_setup_link(tx, clock)
        await use_setup_link(tx, clock, token, NAME, PASSWORD)
    return token


async def test_a_link_makes_one_admin_and_then_nothing(db: Database) -> None:
    clock = FixedClock()
    token = await make_admin_user(db, clock)
    async with db.transaction() as tx:
        assert await has_admins(tx)
        assert not await is_link_open(tx, clock, token)
        with pytest.raises(NotFound, match="used already"):
            await use_setup_link(tx, clock, token, "eve", PASSWORD)


async def test_a_link_runs_out_after_24_hours(db: Database) -> None:
    clock = FixedClock()
    async with db.transaction() as tx:
        token = await create_setup_link(tx, clock)
        clock.time += timedelta(hours=23, minutes=59)
        assert await is_link_open(tx, clock, token)
        clock.time += timedelta(minutes=1)
        assert not await is_link_open(tx, clock, token)


@pytest.mark.parametrize(
    ("name", "password", "message"),
    [
        ("", PASSWORD, "give a name"),
        ("x" * 61, PASSWORD, "at most 60"),
        (NAME, "elevenchars", "at least 12"),
        (NAME, PASSWORD, "already"),
    ],
)
async def test_a_refused_account_leaves_the_link_open(
    db: Database, name: str, password: str, message: str
) -> None:
    clock = FixedClock()
    await make_admin_user(db, clock)
    async with db.transaction() as tx:
        token = await create_setup_link(tx, clock)
    with pytest.raises(BadInput, match=message):
        async with db.transaction() as tx:
            await use_setup_link(tx, clock, token, name, password)
    async with db.transaction() as tx:
        assert await is_link_open(tx, clock, token)


async def test_an_unknown_name_and_a_wrong_password_are_told_in_the_same_words(
    db: Database,
) -> None:
    clock = FixedClock()
    await make_admin_user(db, clock)
    messages = []
    for name, password in (("nobody", PASSWORD), (NAME, "wrong password")):
        with pytest.raises(NotAllowed) as refusal:
            async with db.transaction() as tx:
                await sign_in(tx, clock, name, password)
        messages.append(str(refusal.value))
    assert messages == ["the name or the password is wrong"] * 2


async def test_a_session_lasts_12_hours_however_often_it_is_read(db: Database) -> None:
    clock = FixedClock()
    await make_admin_user(db, clock)
    async with db.transaction() as tx:
        token = await sign_in(tx, clock, NAME, PASSWORD)
        for _ in range(3):
            clock.time += timedelta(hours=3, minutes=59)
            person = await find_person(tx, clock, token)
            assert person is not None and person.name == NAME
        clock.time += timedelta(minutes=3)
        assert await find_person(tx, clock, token) is None


async def test_signing_out_ends_the_session_at_once(db: Database) -> None:
    clock = FixedClock()
    await make_admin_user(db, clock)
    async with db.transaction() as tx:
        token = await sign_in(tx, clock, NAME, PASSWORD)
        await sign_out(tx, token, NAME)
        assert await find_person(tx, clock, token) is None


async def test_neither_password_nor_tokens_stand_in_the_database(db: Database) -> None:
    clock = FixedClock()
    link = await make_admin_user(db, clock)
    async with db.transaction() as tx:
        token = await sign_in(tx, clock, NAME, PASSWORD)
        user = (await tx.scalars(select(AdminUser))).one()
        stored = {
            user.password_hash,
            *await tx.scalars(select(SetupLink.token_hash)),
            *await tx.scalars(select(AdminSession.token_hash)),
        }
    assert user.password_hash.startswith("$argon2id$")
    assert not any(secret in kept for kept in stored for secret in (PASSWORD, link, token))


async def test_opening_a_session_clears_those_that_ended(db: Database) -> None:
    clock = FixedClock()
    await make_admin_user(db, clock)
    async with db.transaction() as tx:
        user = (await tx.scalars(select(AdminUser))).one()
        await open_session(tx, clock, user)
        clock.time += timedelta(hours=13)
        await open_session(tx, clock, user)
        assert len((await tx.scalars(select(AdminSession))).all()) == 1


async def test_making_an_admin_and_signing_in_are_audited(db: Database) -> None:
    clock = FixedClock()
    await make_admin_user(db, clock)
    async with db.transaction() as tx:
        await sign_in(tx, clock, NAME, PASSWORD)
        lines = await tx.execute(select(AuditLog.actor, AuditLog.action))
        assert {tuple(line) for line in lines} == {(NAME, "create admin"), (NAME, "sign in")}
