"""What live answers leave behind: the answer cache and the traces."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Base, Identified, OfTenant


class CachedAnswer(Identified, OfTenant, Base):
    """An admitted answer: evidence for the mutator, and the next asker's reply."""

    __tablename__ = "cached_answer"
    __table_args__ = (Index(None, "tenant_id", "fingerprint", "question_key"),)

    corpus_id: Mapped[UUID] = mapped_column(ForeignKey("corpus.id", ondelete="CASCADE"))
    fingerprint: Mapped[str]
    """Hash of genomes, corpus version, models, language and the whole conversation before."""
    question_key: Mapped[str]
    """The question's folded wording: `pipeline.wording.fold`."""
    question: Mapped[str] = mapped_column(Text)
    history: Mapped[list[Any]] = mapped_column(default=list)
    answer: Mapped[dict[str, Any]]
    source_ids: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """Documents whose change or deletion empties this entry."""
    hits: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime]


class Trace(Identified, OfTenant, Base):
    """Everything that happened to one question."""

    __tablename__ = "trace"
    __table_args__ = (
        CheckConstraint("origin in ('live', 'playground', 'lab')", name="origin"),
        Index("ix_trace_tenant_id_created_at", "tenant_id", "created_at", "id"),
    )

    origin: Mapped[str]
    """Only `live` traces may ever become questions or evidence."""
    profile: Mapped[str]
    question: Mapped[str] = mapped_column(Text)
    answer: Mapped[dict[str, Any]]
    genomes: Mapped[dict[str, Any]]
    query_type: Mapped[str]
    from_cache: Mapped[bool]
    steps: Mapped[list[Any]]
    """{name, ms, note} for each step."""
