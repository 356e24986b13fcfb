"""Hybrid retrieval in PostgreSQL: pgvector and BM25 over stems, fused by reciprocal rank."""

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from kit.db import Database
from kit.embedding import Embedder
from kit.errors import NotFound
from kit.stemming import term_languages, terms
from models.contract import Chunk, Offsets, RetrievalResult, RetrievalUsage
from models.tables import EmbeddingCache
from pipeline import retrieval_sql as sql
from pipeline.fusion import fuse
from pipeline.ports import RetrievalQuery, Scope

EXACT_UP_TO = 10_000
"""Chunks of a corpus up to which all vectors are compared; above, the HNSW index is asked."""
EF_SEARCH = 200
"""How broadly the HNSW index is searched (decision 0011)."""
MOST_EF_SEARCH = 1_000
"""The most that pgvector takes."""
REMEMBERED_QUESTIONS = 4_096

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class _Corpus:
    """What the ranking needs to know of a corpus."""

    chunk_count: int
    average_length: float
    languages: frozenset[str]
    vector_count: int


@dataclass(frozen=True)
class _Search:
    """One question to both legs."""

    scope: Scope
    query: RetrievalQuery
    corpus: _Corpus
    vector: Vector | None
    model: str
    exact: bool

    @property
    def candidates(self) -> int:
        return max(self.scope.settings.candidates, self.query.limit)

    @property
    def values(self) -> dict[str, Any]:
        """What both statements take."""
        settings = self.scope.settings
        values: dict[str, Any] = {"corpus": self.scope.corpus_id, "candidates": self.candidates}
        if settings.source_ids is not None:
            values["source_ids"] = list(settings.source_ids)
        if settings.metadata is not None:
            values["metadata"] = json.dumps(settings.metadata)
        return values


class PostgresRetriever:
    """Finds fragments by meaning and by words; without vectors yet, by words alone."""

    def __init__(self, db: Database, embedder: Embedder, *, exact_up_to: int = EXACT_UP_TO) -> None:
        self._db = db
        self._embedder = embedder
        self._exact_up_to = exact_up_to
        self._complete: dict[UUID, int] = {}
        self._vectors: OrderedDict[tuple[UUID, str], Vector] = OrderedDict()

    async def retrieve(self, scope: Scope, query: RetrievalQuery) -> RetrievalResult:
        """Give at most `query.limit` fragments, best first; `similarity` is their cosine.

        An empty list of documents and a metadata filter without a match find nothing.
        Raises NotFound where the corpus is gone, kit.errors.ProviderError where the embedder
        fails.
        """
        if query.limit < 1 or scope.settings.source_ids == ():
            return _result(scope, query, ())
        async with self._db.transaction(scope.tenant_id) as tx:
            corpus = await self._load_corpus(tx, scope)
        vector = await self._question_vector(scope, query.text) if corpus.vector_count else None
        async with self._db.transaction(scope.tenant_id) as tx:
            exact = corpus.chunk_count <= self._exact_up_to
            search = _Search(scope, query, corpus, vector, self._embedder.name, exact)
            scores = await _search(tx, search)
            chunks = await _load_chunks(tx, scores, vector, self._embedder.name)
        return _result(scope, query, chunks)

    async def _load_corpus(self, tx: AsyncSession, scope: Scope) -> _Corpus:
        """Read the counters; once a version has a vector for each chunk, none is counted again."""
        values = {
            "corpus": scope.corpus_id,
            "model": self._embedder.name,
            "complete": self._complete.get(scope.corpus_id, -1),
        }
        row = (await tx.execute(text(sql.CORPUS), values)).one_or_none()
        if row is None:
            raise NotFound(f"the corpus {scope.corpus!r} is gone")
        if row.vector_count == row.chunk_count:
            self._complete[scope.corpus_id] = row.version
        return _Corpus(
            chunk_count=row.chunk_count,
            average_length=row.term_count / max(1, row.chunk_count) or 1.0,
            languages=frozenset(row.languages),
            vector_count=row.vector_count,
        )

    async def _question_vector(self, scope: Scope, question: str) -> Vector:
        """The vector of a question: from memory, from the cache table, or computed and kept."""
        key = (scope.tenant_id, hashlib.sha256(question.encode()).hexdigest())
        if key in self._vectors:
            self._vectors.move_to_end(key)
            return self._vectors[key]
        vector = await self._cached_vector(*key)
        if vector is None:
            vector = (await self._embedder.embed_queries([question]))[0]
            await self._keep_vector(*key, vector)
        self._vectors[key] = vector
        if len(self._vectors) > REMEMBERED_QUESTIONS:
            self._vectors.popitem(last=False)
        return vector

    async def _cached_vector(self, tenant: UUID, content_hash: str) -> Vector | None:
        async with self._db.transaction(tenant) as tx:
            found = await tx.get(
                EmbeddingCache, (tenant, self._embedder.name, "query", content_hash)
            )
        return np.frombuffer(found.vector, dtype="<f4") if found else None

    async def _keep_vector(self, tenant: UUID, content_hash: str, vector: Vector) -> None:
        row = insert(EmbeddingCache).values(
            tenant_id=tenant,
            model=self._embedder.name,
            kind="query",
            content_hash=content_hash,
            vector=vector.astype("<f4").tobytes(),
        )
        async with self._db.transaction(tenant) as tx:
            await tx.execute(row.on_conflict_do_nothing())


async def _search(tx: AsyncSession, asked: _Search) -> dict[UUID, float]:
    """Ask both legs and fuse them: chunk id -> score, the `limit` best, best first.

    While vectors are still being computed, a chunk that has none yet is taken to rank by
    meaning as it does by words: else the few that have one would outvote it.
    """
    settings = asked.scope.settings
    by_meaning = await _vector_leg(tx, asked)
    by_words = await _lexical_leg(tx, asked)
    legs = [(settings.vector_weight, by_meaning), (settings.lexical_weight, by_words)]
    scores = fuse(legs, settings.rrf_k)
    if by_meaning and asked.corpus.vector_count < asked.corpus.chunk_count:
        waiting = set(await _without_vector(tx, asked, by_words))
        for rank, chunk_id in enumerate(by_words, start=1):
            if chunk_id in waiting:
                scores[chunk_id] += settings.vector_weight / (settings.rrf_k + rank)
    best = sorted(scores, key=lambda chunk_id: -scores[chunk_id])[: asked.query.limit]
    return {chunk_id: scores[chunk_id] for chunk_id in best}


async def _without_vector(tx: AsyncSession, asked: _Search, ids: list[UUID]) -> list[UUID]:
    rows = await tx.scalars(text(sql.WITHOUT_VECTOR), {"ids": ids, "model": asked.model})
    return list(rows)


async def _vector_leg(tx: AsyncSession, asked: _Search) -> list[UUID]:
    settings, vector = asked.scope.settings, asked.vector
    if vector is None or not settings.vector_weight:
        return []
    if not asked.exact:
        breadth = min(MOST_EF_SEARCH, max(EF_SEARCH, 2 * asked.candidates))
        await tx.execute(text(sql.INDEX_SETTINGS), {"ef_search": str(breadth)})
    statement = sql.vector_leg(settings, len(vector), exact=asked.exact)
    values = asked.values | {"model": asked.model, "vector": _literal(vector)}
    rows = await tx.execute(text(statement), values)
    nearest = sorted(rows, key=lambda row: (row.distance, row.chunk_id))
    return [row.chunk_id for row in nearest]


async def _lexical_leg(tx: AsyncSession, asked: _Search) -> list[UUID]:
    settings, corpus = asked.scope.settings, asked.corpus
    languages = term_languages(corpus.languages | {asked.query.language})
    found = list(dict.fromkeys(terms(asked.query.text, languages)))
    if not found or not settings.lexical_weight:
        return []
    values = asked.values | {
        "terms": found,
        "chunk_count": corpus.chunk_count,
        "average_length": corpus.average_length,
    }
    rows = await tx.execute(text(sql.lexical_leg(settings)), values)
    return [row.chunk_id for row in rows]


async def _load_chunks(
    tx: AsyncSession, scores: dict[UUID, float], vector: Vector | None, model: str
) -> tuple[Chunk, ...]:
    if not scores:
        return ()
    values: dict[str, Any] = {"ids": list(scores), "model": model}
    if vector is not None:
        values["vector"] = _literal(vector)
    rows = await tx.execute(text(sql.chunks(with_similarity=vector is not None)), values)
    chunks = {row.id: _chunk(row, scores[row.id]) for row in rows}
    return tuple(chunks[chunk_id] for chunk_id in scores if chunk_id in chunks)


def _chunk(row: Row[Any], score: float) -> Chunk:
    return Chunk(
        chunk_id=str(row.id),
        source_id=row.source_id,
        title=row.title,
        text=row.text,
        url_or_internal_ref=row.url_or_internal_ref,
        heading_path=tuple(row.heading_path),
        language=row.language,
        offsets=Offsets(byte_start=row.byte_start, byte_end=row.byte_end),
        score=score,
        similarity=row.similarity,
        metadata=row.meta,
    )


def _literal(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _result(scope: Scope, query: RetrievalQuery, chunks: tuple[Chunk, ...]) -> RetrievalResult:
    return RetrievalResult(
        trace_id=query.trace_id,
        tenant_id=scope.tenant_id,
        corpus=scope.corpus,
        chunks=chunks,
        usage=RetrievalUsage(
            provider="postgres", query_count=1, result_count=len(chunks), billable_units=1
        ),
    )
