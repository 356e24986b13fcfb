"""The genome store: genomes, what was seen of them, who decided on them, what served when."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Enum, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from models.lifecycle import Status
from models.tables.base import Base, Identified, OfTenant, utc_now

_STATUS = Enum(
    Status, native_enum=False, length=20, values_callable=lambda enum: [s.value for s in enum]
)


def _layer_check() -> CheckConstraint:
    return CheckConstraint("layer in ('postprocess', 'routing', 'cache_policy')", name="layer")


class EvolutionGenome(Identified, Base):
    """The immutable configuration of one layer in one domain; only `status` ever changes."""

    __tablename__ = "evolution_genome"
    __table_args__ = (
        UniqueConstraint("domain", "layer", "content_hash"),
        _layer_check(),
        CheckConstraint(f"status in ({', '.join(repr(s.value) for s in Status)})", name="status"),
        Index(
            "uq_evolution_genome_active",
            "domain",
            "layer",
            unique=True,
            postgresql_where=text("status = 'active'"),
        ),
    )

    domain: Mapped[str]
    layer: Mapped[str]
    schema_version: Mapped[int]
    content: Mapped[dict[str, Any]]
    content_hash: Mapped[str]
    status: Mapped[Status] = mapped_column(_STATUS, default=Status.CANDIDATE)
    parent_id: Mapped[UUID | None] = mapped_column(ForeignKey("evolution_genome.id"))
    mate_id: Mapped[UUID | None] = mapped_column(ForeignKey("evolution_genome.id"))
    """The second parent of a crossover."""
    cycle_id: Mapped[UUID | None]
    operator: Mapped[str]
    """What made it: `hand`, `design`, `surrogate`, `reflect`, `reflect_all`, `crossover`."""
    notes: Mapped[str] = mapped_column(default="")


class EvolutionEvalResult(Identified, OfTenant, Base):
    """One question answered under one genome and judged."""

    __tablename__ = "evolution_eval_result"
    __table_args__ = (
        UniqueConstraint("genome_id", "cycle_id", "phase", "question_id", "replicate"),
        CheckConstraint("phase in ('search', 'confirm', 'session')", name="phase"),
        CheckConstraint("judge_score between 0 and 10", name="judge_score"),
        CheckConstraint("(judge_score is null) = (unscored_reason is not null)", name="missing"),
        CheckConstraint("length(response) <= 2000", name="response"),
        Index("ix_evolution_eval_result_cycle_id", "cycle_id", "genome_id", "phase"),
    )

    genome_id: Mapped[UUID] = mapped_column(ForeignKey("evolution_genome.id", ondelete="CASCADE"))
    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id", ondelete="CASCADE"))
    question_id: Mapped[UUID]
    phase: Mapped[str]
    replicate: Mapped[int] = mapped_column(default=0)
    query: Mapped[str]
    response: Mapped[str]
    judge_score: Mapped[float | None]
    """0-10, the mean of the criteria; null where the answer could not be judged."""
    unscored_reason: Mapped[str | None]
    criteria: Mapped[dict[str, Any]]
    judge_reasoning: Mapped[str]
    judge_raw: Mapped[str]
    bonus: Mapped[float] = mapped_column(default=0.0)
    """Points for saved work (cache_policy replay); 0 elsewhere."""
    latency_ms: Mapped[float]
    tokens: Mapped[int] = mapped_column(default=0)
    micros: Mapped[int] = mapped_column(BigInteger, default=0)
    """What the answer cost, in millionths of the currency of the prices; judging not counted."""
    answer_key: Mapped[str]


class BankedGene(Identified, Base):
    """The gene bank: one instruction that was ever tried in a domain and layer, and its worth."""

    __tablename__ = "gene_bank"
    __table_args__ = (UniqueConstraint("domain", "layer", "path", "text_hash"), _layer_check())

    domain: Mapped[str]
    layer: Mapped[str]
    path: Mapped[str]
    """The prompt that it stands in, dotted (`system_prompt`, `profiles.how_to.system_prompt`)."""
    gene_id: Mapped[str]
    text: Mapped[str]
    text_hash: Mapped[str]
    origin: Mapped[str]
    cycle_id: Mapped[UUID | None]
    """The cycle that brought it; null for what was there by hand."""
    tried: Mapped[int] = mapped_column(default=0)
    """Judged search answers under genomes that have it."""
    worth: Mapped[float | None]
    """Points of 10 that it adds; null where it was not both present and absent often enough."""
    low: Mapped[float | None]
    high: Mapped[float | None]
    updated_at: Mapped[datetime] = mapped_column(default=utc_now)


class ProofEntry(Identified, Base):
    """The book of all proofs of the lab, in order: what error rate each was given, what it said."""

    __tablename__ = "proof_book"
    __table_args__ = (UniqueConstraint("cycle_id", "genome_id"), _layer_check())

    number: Mapped[int] = mapped_column(unique=True)
    domain: Mapped[str]
    layer: Mapped[str]
    cycle_id: Mapped[UUID]
    genome_id: Mapped[UUID]
    claim: Mapped[str]
    """`better` or `cheaper`."""
    alpha: Mapped[float]
    proven: Mapped[bool | None]
    """Null while the proof runs."""


class Approval(Identified, OfTenant, Base):
    """A promoted genome that waits for a person, bound to everything that was proven with it."""

    __tablename__ = "approval"
    __table_args__ = (UniqueConstraint("genome_id", "cycle_id"),)

    genome_id: Mapped[UUID] = mapped_column(ForeignKey("evolution_genome.id"))
    incumbent_id: Mapped[UUID] = mapped_column(ForeignKey("evolution_genome.id"))
    cycle_id: Mapped[UUID] = mapped_column(ForeignKey("cycle.id"))
    digest: Mapped[str]
    evidence: Mapped[dict[str, Any]]
    """The proof (`evolution.shapes.Proof`) and its pairs, the binding, models, judge, sentence."""


class ApprovalDecision(Identified, OfTenant, Base):
    """What a person decided; the unique approval makes the first decision the only one."""

    __tablename__ = "approval_decision"
    __table_args__ = (
        CheckConstraint("verdict in ('approved', 'rejected', 'void')", name="verdict"),
        CheckConstraint("length(reason) >= 10", name="reason"),
    )

    approval_id: Mapped[UUID] = mapped_column(ForeignKey("approval.id"), unique=True)
    verdict: Mapped[str]
    actor: Mapped[str]
    reason: Mapped[str]


class Deployment(Identified, Base):
    """What served from when on: the newest row of a domain and layer is what serves now."""

    __tablename__ = "deployment"
    __table_args__ = (
        CheckConstraint("action in ('seed', 'approve', 'rollback')", name="action"),
        Index("ix_deployment_domain_layer", "domain", "layer", "created_at", "id"),
    )

    domain: Mapped[str]
    layer: Mapped[str]
    genome_id: Mapped[UUID] = mapped_column(ForeignKey("evolution_genome.id"))
    previous_id: Mapped[UUID | None] = mapped_column(ForeignKey("evolution_genome.id"))
    action: Mapped[str]
    actor: Mapped[str]
    reason: Mapped[str]
