"""How vectors join the text: a few chunks at a time, each batch committed, nothing done twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from corpus.index import passage_of
from corpus.store import bump_version
from kit.db import Database
from kit.embedding import Embedder
from models.tables import (
    ChunkVector,
    DocumentChunk,
    EmbeddingCache,
    LedgerEntry,
)

BATCH = 16
"""Chunks per transaction: what a `kill -9` can lose at most, some three seconds of work."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Pending:
    chunk_id: UUID
    content_hash: str
    passage: str


async def embed_pending(
    db: Database, embedder: Embedder, tenant: UUID, corpus_id: UUID, progress: Progress
) -> int:
    """Compute the vector of every chunk of the corpus that has none; give their number.

    Each batch is committed with its ledger entry. A passage whose vector is known by its hash
    is not embedded again. The corpus gets its next version with the last batch, once, so that
    what was cached while vectors were missing is not found again.
    Raises kit.errors.ProviderError where the embedder fails; what was committed stays.
    """
    total = await count_pending(db, embedder.name, tenant, corpus_id)
    done = 0
    while True:
        async with db.transaction(tenant) as tx:
            batch = await _next_batch(tx, embedder.name, corpus_id)
            known = await _known_vectors(tx, embedder.name, batch)
        if not batch:
            return done
        vectors = known | await _compute(
            embedder, [p for p in batch if p.content_hash not in known]
        )
        async with db.transaction(tenant) as tx:
            written = await _write(tx, embedder.name, tenant, corpus_id, batch, vectors)
            await _book(tx, embedder.name, tenant, len(vectors) - len(known))
            if await _count(tx, embedder.name, corpus_id) == 0:
                await bump_version(tx, corpus_id)
        done += written
        progress(done, max(total, done))


async def count_pending(db: Database, model: str, tenant: UUID, corpus_id: UUID) -> int:
    """Count the chunks of the corpus that have no vector of that model yet."""
    async with db.transaction(tenant) as tx:
        return await _count(tx, model, corpus_id)


_PENDING = (
    "from chunk c where c.corpus_id = :corpus and not exists (select from chunk_vector v "
    "where v.chunk_id = c.id and v.model = :model)"
)


async def _count(tx: AsyncSession, model: str, corpus_id: UUID) -> int:
    found = await tx.scalar(
        text(f"select count(*) {_PENDING}"), {"corpus": corpus_id, "model": model}
    )
    return int(found or 0)


async def _next_batch(tx: AsyncSession, model: str, corpus_id: UUID) -> list[_Pending]:
    rows = await tx.execute(
        text(
            "select c.id, c.content_hash, c.heading_path, c.text, "
            "(select title from document d where d.id = c.document_id) as title "
            f"{_PENDING} order by c.created_at, c.id limit :size"
        ),
        {"corpus": corpus_id, "model": model, "size": BATCH},
    )
    return [
        _Pending(row.id, row.content_hash, passage_of(row.title, row.heading_path, row.text))
        for row in rows
    ]


async def _known_vectors(
    tx: AsyncSession, model: str, batch: Sequence[_Pending]
) -> dict[str, NDArray[np.float32]]:
    rows = await tx.execute(
        select(EmbeddingCache.content_hash, EmbeddingCache.vector).where(
            EmbeddingCache.model == model,
            EmbeddingCache.kind == "passage",
            EmbeddingCache.content_hash.in_([item.content_hash for item in batch]),
        )
    )
    return {row.content_hash: np.frombuffer(row.vector, dtype="<f4") for row in rows}


async def _compute(embedder: Embedder, items: Sequence[_Pending]) -> dict[str, NDArray[np.float32]]:
    passages = {item.content_hash: item.passage for item in items}
    if not passages:
        return {}
    vectors = await embedder.embed_passages(list(passages.values()))
    return dict(zip(passages, vectors, strict=True))


async def _write(
    tx: AsyncSession,
    model: str,
    tenant: UUID,
    corpus_id: UUID,
    batch: Sequence[_Pending],
    vectors: dict[str, NDArray[np.float32]],
) -> int:
    """Store the vectors of those chunks that are still there; give their number."""
    items = await _alive(tx, batch)
    if not items:
        return 0
    common = {"tenant_id": tenant, "model": model}
    hashes = {item.content_hash for item in items}
    cached = [
        {**common, "kind": "passage", "content_hash": key, "vector": vector_bytes(vectors[key])}
        for key in hashes
    ]
    await tx.execute(insert(EmbeddingCache).on_conflict_do_nothing(), cached)
    rows = [
        {
            **common,
            "chunk_id": item.chunk_id,
            "corpus_id": corpus_id,
            "embedding": vectors[item.content_hash],
        }
        for item in items
    ]
    await tx.execute(insert(ChunkVector).on_conflict_do_nothing(), rows)
    return len(items)


async def _alive(tx: AsyncSession, batch: Sequence[_Pending]) -> list[_Pending]:
    """Those of `batch` whose chunk was not deleted meanwhile; they stay until this commits."""
    ids = [item.chunk_id for item in batch]
    locked = select(DocumentChunk.id).where(DocumentChunk.id.in_(ids)).with_for_update()
    alive = set(await tx.scalars(locked))
    return [item for item in batch if item.chunk_id in alive]


def vector_bytes(vector: NDArray[np.float32]) -> bytes:
    """A vector as the cache keeps it: float32, little endian."""
    return vector.astype("<f4").tobytes()


async def _book(tx: AsyncSession, model: str, tenant: UUID, chunks: int) -> None:
    if chunks:
        tx.add(
            LedgerEntry(
                tenant_id=tenant,
                ledger="embedding",
                purpose="index",
                provider="embedder",
                model=model,
                unit="chunks",
                units=chunks,
            )
        )
