"""Admins: the one-time link that makes one, signing in, sessions and signing out."""

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from kit.clock import Clock
from kit.errors import BadInput, NotAllowed, NotFound
from models.tables import AdminSession, AdminUser, AuditLog, SetupLink

MIN_PASSWORD_CHARS = 12
MAX_PASSWORD_CHARS = 1_000
MAX_NAME_CHARS = 60
SESSION_LIFETIME = timedelta(hours=12)
SETUP_LIFETIME = timedelta(hours=24)
REFUSED = "the name or the password is wrong"
LINK_GONE = "this link was used already or has run out: `genoma admin link` prints a new one"


@dataclass(frozen=True)
class Person:
    """Who is signed in, and the token that every form of theirs carries."""

    name: str
    csrf_token: str


async def create_setup_link(tx: AsyncSession, clock: Clock) -> str:
    """Make the token of a link that lets one admin choose name and password, within 24 hours."""
    token = secrets.token_urlsafe(32)
    now = clock.now()
    tx.add(SetupLink(token_hash=_digest(token), created_at=now, expires_at=now + SETUP_LIFETIME))
    await tx.flush()
    return token


async def is_link_open(tx: AsyncSession, clock: Clock, token: str) -> bool:
    """Tell whether `token` can still make an admin."""
    return await _find_link(tx, clock, token) is not None


async def use_setup_link(
    tx: AsyncSession, clock: Clock, token: str, name: str, password: str
) -> AdminUser:
    """Make the admin `name` and spend the link.

    Raises NotFound where the link is unknown, used or out of time; BadInput where the name
    is empty, too long or taken, or the password has fewer than 12 characters.
    """
    link = await _find_link(tx, clock, token, lock=True)
    if link is None:
        raise NotFound(LINK_GONE)
    name = _checked_name(name)
    _check_password(password)
    hashed = await asyncio.to_thread(PasswordHasher().hash, password)
    made: AdminUser | None = await tx.scalar(
        insert(AdminUser)
        .values(name=name, password_hash=hashed, created_at=clock.now())
        .on_conflict_do_nothing(index_elements=["name"])
        .returning(AdminUser)
    )
    if made is None:
        raise BadInput(f"there is an admin of the name {name!r} already")
    link.used_at = clock.now()
    record(tx, name, "create admin", name)
    return made


async def sign_in(tx: AsyncSession, clock: Clock, name: str, password: str) -> str:
    """Open a session and give its token. Raises NotAllowed, in the same words and after the
    same work, whether the name or the password is wrong."""
    user = await tx.scalar(select(AdminUser).filter_by(name=_folded(name)))
    password = password[:MAX_PASSWORD_CHARS]
    if user is None:  # hashing once costs what verifying once costs
        await asyncio.to_thread(PasswordHasher().hash, password)
        raise NotAllowed(REFUSED)
    if not await asyncio.to_thread(_fits, user.password_hash, password):
        raise NotAllowed(REFUSED)
    return await open_session(tx, clock, user)


async def open_session(tx: AsyncSession, clock: Clock, user: AdminUser) -> str:
    """Give the token of a new session of 12 hours; sessions that ended are cleared away."""
    now = clock.now()
    await tx.execute(delete(AdminSession).where(AdminSession.expires_at <= now))
    token = secrets.token_urlsafe(32)
    tx.add(
        AdminSession(
            token_hash=_digest(token),
            user_id=user.id,
            csrf_token=secrets.token_urlsafe(32),
            created_at=now,
            expires_at=now + SESSION_LIFETIME,
        )
    )
    record(tx, user.name, "sign in", user.name)
    await tx.flush()
    return token


async def find_person(tx: AsyncSession, clock: Clock, token: str) -> Person | None:
    """Tell whose session `token` is. Reading never makes it last longer."""
    row = (
        await tx.execute(
            select(AdminUser.name, AdminSession.csrf_token)
            .join(AdminSession, AdminSession.user_id == AdminUser.id)
            .where(AdminSession.token_hash == _digest(token))
            .where(AdminSession.expires_at > clock.now())
        )
    ).one_or_none()
    return Person(row.name, row.csrf_token) if row else None


async def sign_out(tx: AsyncSession, token: str, name: str) -> None:
    """End the session of `token`."""
    await tx.execute(delete(AdminSession).filter_by(token_hash=_digest(token)))
    record(tx, name, "sign out", name)


async def has_admins(tx: AsyncSession) -> bool:
    return bool(await tx.scalar(select(func.count()).select_from(AdminUser)))


def record(tx: AsyncSession, actor: str, action: str, subject: str, reason: str = "") -> None:
    """Write one line of the audit log."""
    tx.add(AuditLog(actor=actor, action=action, subject=subject, reason=reason))


async def _find_link(
    tx: AsyncSession, clock: Clock, token: str, *, lock: bool = False
) -> SetupLink | None:
    query = (
        select(SetupLink)
        .filter_by(token_hash=_digest(token), used_at=None)
        .where(SetupLink.expires_at > clock.now())
    )
    return await tx.scalar(query.with_for_update() if lock else query)


def _checked_name(name: str) -> str:
    name = _folded(name)
    if not name:
        raise BadInput("give a name")
    if len(name) > MAX_NAME_CHARS:
        raise BadInput(f"a name has at most {MAX_NAME_CHARS} characters")
    return name


def _folded(name: str) -> str:
    return " ".join(name.replace("\x00", "").split())


def _check_password(password: str) -> None:
    if len(password) < MIN_PASSWORD_CHARS:
        raise BadInput(f"a password needs at least {MIN_PASSWORD_CHARS} characters")
    if len(password) > MAX_PASSWORD_CHARS:
        raise BadInput(f"a password has at most {MAX_PASSWORD_CHARS:,} characters")


def _fits(stored: str, password: str) -> bool:
    try:
        return PasswordHasher().verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
