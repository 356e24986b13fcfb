"""Tenants, their keys and profiles, and the books."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Base, Identified, OfTenant


class Tenant(Identified, Base):
    __tablename__ = "tenant"

    name: Mapped[str] = mapped_column(unique=True)


class ApiKey(Identified, Base):
    """A key of a tenant. Only its hash is kept; it is looked up before any tenant is known."""

    __tablename__ = "api_key"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenant.id"))
    prefix: Mapped[str]
    key_hash: Mapped[str] = mapped_column(unique=True)
    revoked_at: Mapped[datetime | None]


class Profile(Identified, OfTenant, Base):
    """How a tenant retrieves. In this version a profile is named like the domain it serves."""

    __tablename__ = "profile"
    __table_args__ = (UniqueConstraint("tenant_id", "name"),)

    name: Mapped[str]
    domain: Mapped[str]
    corpus_id: Mapped[UUID] = mapped_column(ForeignKey("corpus.id"))
    settings: Mapped[dict[str, Any]]
    """A `models.profile.ProfileSettings`."""


class LedgerEntry(Identified, OfTenant, Base):
    """One line of the books, never changed: who, what, which trace, how many units."""

    __tablename__ = "ledger_entry"
    __table_args__ = (
        CheckConstraint("ledger in ('embedding', 'retrieval', 'generation')", name="ledger"),
        CheckConstraint("outcome in ('settled', 'lost_in_flight')", name="outcome"),
        Index("ix_ledger_entry_tenant_id_created_at", "tenant_id", "created_at", "id"),
    )

    ledger: Mapped[str]
    outcome: Mapped[str] = mapped_column(default="settled")
    purpose: Mapped[str]
    """`answer`, `judge`, `mutate`, `route`, `index`, `search`."""
    provider: Mapped[str]
    model: Mapped[str]
    unit: Mapped[str]
    """`tokens`, `queries` or `chunks`."""
    units: Mapped[int]
    trace_id: Mapped[UUID | None]
    cycle_id: Mapped[UUID | None]


class Endpoint(Base):
    """What all processes know of one model endpoint: whether the lab may call it now."""

    __tablename__ = "endpoint"

    name: Mapped[str] = mapped_column(primary_key=True)
    closed_until: Mapped[datetime | None]
    """It answered 429: the lab waits until then."""
    reason: Mapped[str] = mapped_column(default="")


class EndpointLease(Identified, Base):
    """One model call that the lab may have under way at an endpoint."""

    __tablename__ = "endpoint_lease"
    __table_args__ = (Index(None, "endpoint", "expires_at"),)

    endpoint: Mapped[str]
    holder: Mapped[str]
    expires_at: Mapped[datetime]
