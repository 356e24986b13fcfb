"""What all tables share: names of constraints, aware times, the tenant column."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import DateTime, ForeignKey, MetaData, Table
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column

DEFAULT_TENANT = UUID("00000000-0000-7000-8000-000000000001")
LAB_TENANT = UUID("00000000-0000-7000-8000-000000000002")


def utc_now() -> datetime:
    return datetime.now(UTC)


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own name
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
        datetime: DateTime(timezone=True),
    }


class Identified:
    """A row with an id of its own and the moment it was made."""

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class OfTenant:
    """A row that belongs to one tenant: row-level security is forced on each such table."""

    @declared_attr
    @classmethod
    def tenant_id(cls) -> Mapped[UUID]:
        return mapped_column(ForeignKey("tenant.id"))


def tenant_tables() -> list[str]:
    """Names of all tables under row-level security, sorted."""
    return sorted(
        mapper.local_table.description
        for mapper in Base.registry.mappers
        if issubclass(mapper.class_, OfTenant)
    )


def table_of(model: type[Base]) -> Table:
    """Give the table of a model, for statements that are made once and need no objects."""
    return Base.metadata.tables[model.__tablename__]
