"""What is retrieved: documents, fragments, vectors and postings, and the questions on them."""

from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import Vector
from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Base, Identified, OfTenant

INDEXED_DIMENSIONS = (384, 768, 1024, 1536)
"""Vector sizes that have an HNSW index; any other is searched by an exact scan."""


class Corpus(Identified, OfTenant, Base):
    __tablename__ = "corpus"
    __table_args__ = (UniqueConstraint("tenant_id", "name"),)

    name: Mapped[str]
    version: Mapped[int] = mapped_column(default=1)
    """Grows with each change of a document or vector, and stands in every cache key."""
    chunk_count: Mapped[int] = mapped_column(default=0)
    term_count: Mapped[int] = mapped_column(default=0)
    """Terms in all chunks together: BM25's average length is term_count / chunk_count."""
    languages: Mapped[list[Any]] = mapped_column(default=list)
    abstain_below: Mapped[float | None]
    """Calibrated: under this similarity of question and best fragment nothing is answered."""


class Document(Identified, OfTenant, Base):
    __tablename__ = "document"
    __table_args__ = (UniqueConstraint("corpus_id", "source_id"),)

    corpus_id: Mapped[UUID] = mapped_column(ForeignKey("corpus.id", ondelete="CASCADE"))
    source_id: Mapped[str]
    title: Mapped[str]
    url_or_internal_ref: Mapped[str]
    language: Mapped[str]
    content_hash: Mapped[str]
    text: Mapped[str] = mapped_column(Text)
    notes: Mapped[list[Any]] = mapped_column(default=list)
    """What was mended on the way in (`NUL removed`, `decoded as cp1251`)."""
    meta: Mapped[dict[str, Any]] = mapped_column(default=dict)


class DocumentChunk(Identified, OfTenant, Base):
    __tablename__ = "chunk"
    __table_args__ = (UniqueConstraint("document_id", "ordinal"), Index(None, "corpus_id"))

    corpus_id: Mapped[UUID] = mapped_column(ForeignKey("corpus.id", ondelete="CASCADE"))
    document_id: Mapped[UUID] = mapped_column(ForeignKey("document.id", ondelete="CASCADE"))
    ordinal: Mapped[int]
    heading_path: Mapped[list[Any]]
    text: Mapped[str] = mapped_column(Text)
    content_hash: Mapped[str]
    """Of what is embedded (heading path and text)."""
    byte_start: Mapped[int]
    byte_end: Mapped[int]
    length: Mapped[int]
    """In terms, for BM25."""


class ChunkVector(OfTenant, Base):
    """The vector of a chunk under one embedding model; it joins when it has been computed."""

    __tablename__ = "chunk_vector"
    __table_args__ = (
        Index(None, "corpus_id", "model"),
        *(
            Index(
                f"ix_chunk_vector_hnsw_{size}",
                text(f"(embedding::vector({size})) vector_cosine_ops"),
                postgresql_using="hnsw",
                postgresql_where=text(f"vector_dims(embedding) = {size}"),
            )
            for size in INDEXED_DIMENSIONS
        ),
    )

    chunk_id: Mapped[UUID] = mapped_column(
        ForeignKey("chunk.id", ondelete="CASCADE"), primary_key=True
    )
    model: Mapped[str] = mapped_column(primary_key=True)
    corpus_id: Mapped[UUID] = mapped_column(ForeignKey("corpus.id", ondelete="CASCADE"))
    embedding: Mapped[Any] = mapped_column(Vector())


class Posting(OfTenant, Base):
    """How often a stem stands in a chunk: the btree that BM25 reads."""

    __tablename__ = "posting"
    __table_args__ = (Index(None, "chunk_id"),)

    corpus_id: Mapped[UUID] = mapped_column(
        ForeignKey("corpus.id", ondelete="CASCADE"), primary_key=True
    )
    term: Mapped[str] = mapped_column(primary_key=True)
    chunk_id: Mapped[UUID] = mapped_column(
        ForeignKey("chunk.id", ondelete="CASCADE"), primary_key=True
    )
    tf: Mapped[int]
    length: Mapped[int]
    """The chunk's length in terms, repeated here so that scoring reads one index."""


class EmbeddingCache(OfTenant, Base):
    """Vectors by content hash, per tenant: that a text is known tells something about it."""

    __tablename__ = "embedding_cache"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenant.id"), primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    """`query` or `passage`."""
    content_hash: Mapped[str] = mapped_column(primary_key=True)
    vector: Mapped[bytes] = mapped_column(LargeBinary)
    """float32, little endian."""


class Question(Identified, OfTenant, Base):
    """An evaluation question, with what is known of the right answer."""

    __tablename__ = "question"
    __table_args__ = (
        UniqueConstraint("corpus_id", "external_id"),
        CheckConstraint("origin in ('imported', 'traffic')", name="origin"),
    )

    corpus_id: Mapped[UUID] = mapped_column(ForeignKey("corpus.id", ondelete="CASCADE"))
    external_id: Mapped[str]
    text: Mapped[str] = mapped_column(Text)
    language: Mapped[str]
    reference_answer: Mapped[str | None]
    source_ids: Mapped[list[str]] = mapped_column(ARRAY(Text), default=list)
    answerable: Mapped[bool] = mapped_column(default=True)
    cluster: Mapped[str]
    """Near-duplicates share a cluster, and a cluster is never split between search and proof."""
    query_type: Mapped[str] = mapped_column(default="")
    """One of `models.genome.QUERY_TYPES`, a stratum of every draw; empty where nobody said."""
    origin: Mapped[str] = mapped_column(default="imported")
    """`imported` with a question set, or `traffic`: asked by a client of the live pipeline."""
    meta: Mapped[dict[str, Any]] = mapped_column(default=dict)
