"""Admins, their sessions, the link that makes the first one, and the audit log."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Base, Identified, utc_now


class AdminUser(Identified, Base):
    __tablename__ = "admin_user"

    name: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]


class AdminSession(Base):
    """A signed-in browser. Only the hash of its token is kept."""

    __tablename__ = "admin_session"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("admin_user.id", ondelete="CASCADE"))
    csrf_token: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]


class SetupLink(Base):
    """A one-time link with which an admin account is made."""

    __tablename__ = "setup_link"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class AuditLog(Identified, Base):
    """Who changed what, when and why: append-only."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("ix_audit_log_created_at", "created_at", "id"),)

    actor: Mapped[str]
    action: Mapped[str]
    subject: Mapped[str]
    before: Mapped[dict[str, Any] | None]
    after: Mapped[dict[str, Any] | None]
    reason: Mapped[str] = mapped_column(default="")
