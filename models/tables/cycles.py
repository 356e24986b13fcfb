"""Cycles, the questions they used up, and what they paid for."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Base, Identified, OfTenant, utc_now


class Cycle(Identified, OfTenant, Base):
    """One run of generate_mutations -> eval_genome -> promote_best for one layer and domain."""

    __tablename__ = "cycle"
    __table_args__ = (
        CheckConstraint("layer in ('postprocess', 'routing', 'cache_policy')", name="layer"),
        CheckConstraint(
            "status in ('queued', 'running', 'paused', 'done', 'failed', 'cancelled')",
            name="status",
        ),
        CheckConstraint("wish in ('pause', 'cancel')", name="wish"),
        CheckConstraint("spent + reserved <= budget", name="budget"),
    )

    layer: Mapped[str]
    domain: Mapped[str]
    profile_id: Mapped[UUID] = mapped_column(ForeignKey("profile.id"))
    status: Mapped[str] = mapped_column(default="queued")
    due_key: Mapped[str | None] = mapped_column(unique=True)
    """Names a nightly due time, so that it fires once however many processes run."""
    seed: Mapped[int]
    budget: Mapped[int]
    """Judged answers."""
    reserved: Mapped[int] = mapped_column(default=0)
    spent: Mapped[int] = mapped_column(default=0)
    limits: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """What else may not be exceeded: `calls`, `tokens`, `micros` (of money), `seconds`."""
    reserved_calls: Mapped[int] = mapped_column(default=0)
    spent_calls: Mapped[int] = mapped_column(default=0)
    reserved_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    spent_tokens: Mapped[int] = mapped_column(BigInteger, default=0)
    reserved_micros: Mapped[int] = mapped_column(BigInteger, default=0)
    spent_micros: Mapped[int] = mapped_column(BigInteger, default=0)
    """Millionths of the currency that the prices are in."""
    ran_s: Mapped[float] = mapped_column(default=0.0)
    """Seconds of former runs; those of the present one count from `resumed_at`."""
    resumed_at: Mapped[datetime | None]
    wish: Mapped[str | None]
    """What a person asked of a running cycle; it is obeyed before the next answer is bought."""
    fence: Mapped[int] = mapped_column(default=0)
    """Grows with each process that takes the cycle over: writes under an older one are refused."""
    holder: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    max_mutations: Mapped[int]
    plan: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Fixed at the start: incumbent, other layers, index version, models, questions, looks."""
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    result: Mapped[dict[str, Any] | None]
    error: Mapped[str | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class Trial(OfTenant, Base):
    """One genome put to a few search questions: written before the first of them is answered."""

    __tablename__ = "trial"

    cycle_id: Mapped[UUID] = mapped_column(
        ForeignKey("cycle.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    round: Mapped[int]
    genome_id: Mapped[UUID] = mapped_column(ForeignKey("evolution_genome.id", ondelete="CASCADE"))
    question_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid))
    predicted: Mapped[float | None]
    """Gain over the incumbent that the surrogate expected beforehand, in points of 10."""
    error: Mapped[float | None]
    """Its standard error."""


class RefusedProposal(Identified, OfTenant, Base):
    """A proposal that was refused before it cost a judged answer, and why."""

    __tablename__ = "refused_proposal"
    __table_args__ = (Index(None, "domain", "layer", "created_at"),)

    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id", ondelete="CASCADE"))
    domain: Mapped[str]
    layer: Mapped[str]
    parent_id: Mapped[UUID | None]
    operator: Mapped[str]
    reason: Mapped[str]
    text: Mapped[str] = mapped_column(Text, default="")
    """What was proposed, at most 4,000 characters of it."""


class QuestionUse(OfTenant, Base):
    """The books of used questions: per domain and layer one is for search or for one proof."""

    __tablename__ = "question_use"
    __table_args__ = (CheckConstraint("role in ('search', 'confirm')", name="role"),)

    question_id: Mapped[UUID] = mapped_column(
        ForeignKey("question.id", ondelete="CASCADE"), primary_key=True
    )
    domain: Mapped[str] = mapped_column(primary_key=True)
    layer: Mapped[str] = mapped_column(primary_key=True)
    role: Mapped[str]
    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class PaidCall(OfTenant, Base):
    """One model call of a cycle: written when it starts, completed before its reply is used."""

    __tablename__ = "paid_call"
    __table_args__ = (
        CheckConstraint("state in ('in_flight', 'done', 'lost_in_flight')", name="state"),
    )

    key: Mapped[str] = mapped_column(primary_key=True)
    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id", ondelete="CASCADE"))
    role: Mapped[str]
    model: Mapped[str]
    state: Mapped[str] = mapped_column(default="in_flight")
    fence: Mapped[int] = mapped_column(default=0)
    reserved_tokens: Mapped[int] = mapped_column(default=0)
    reserved_micros: Mapped[int] = mapped_column(BigInteger, default=0)
    reply: Mapped[dict[str, Any] | None]
    started_at: Mapped[datetime] = mapped_column(default=utc_now)


class PaidAnswer(OfTenant, Base):
    """A whole answer with the fragments it was made from, by its key."""

    __tablename__ = "paid_answer"

    key: Mapped[str] = mapped_column(primary_key=True)
    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id", ondelete="CASCADE"))
    answer: Mapped[dict[str, Any]]
    chunks: Mapped[list[Any]]
    latency_ms: Mapped[float]
    tokens: Mapped[int] = mapped_column(default=0)
    micros: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)


class PaidVerdict(OfTenant, Base):
    """A whole verdict, by (answer hash, hash of question and reference, judge version)."""

    __tablename__ = "paid_verdict"

    key: Mapped[str] = mapped_column(primary_key=True)
    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id", ondelete="CASCADE"))
    verdict: Mapped[dict[str, Any]]
    raw: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(default=utc_now)
