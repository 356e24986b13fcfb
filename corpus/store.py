"""How documents stand in the database: with chunks, postings and a corpus whose counters are right.

Every function works inside the caller's transaction, which holds the corpus row locked, so that
two ingests of one corpus take turns and nothing is ever half-written.
"""

from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from corpus.index import IndexedChunk, IndexedDocument
from kit.errors import BadInput, NotFound
from models.tables import CachedAnswer, Corpus, Document, DocumentChunk


async def open_corpus(tx: AsyncSession, tenant: UUID, name: str) -> Corpus:
    """Give the corpus of that name, made if there is none, locked until the transaction ends.

    Raises BadInput on an empty name.
    """
    if not name.strip():
        raise BadInput("a corpus needs a name")
    new = insert(Corpus).values(
        id=uuid4(),
        tenant_id=tenant,
        name=name,
        version=1,
        chunk_count=0,
        term_count=0,
        languages=[],
    )
    await tx.execute(new.on_conflict_do_nothing(index_elements=["tenant_id", "name"]))
    return (await tx.scalars(select(Corpus).where(Corpus.name == name).with_for_update())).one()


async def find_corpus(tx: AsyncSession, name: str) -> Corpus:
    """Give the corpus of that name. Raises NotFound with the names there are."""
    corpus = await tx.scalar(select(Corpus).where(Corpus.name == name))
    if corpus is None:
        known = ", ".join(await tx.scalars(select(Corpus.name).order_by(Corpus.name)))
        raise NotFound(f"no corpus is named {name!r}; there is {known or 'none yet'}")
    return corpus


async def write_document(tx: AsyncSession, corpus: Corpus, document: IndexedDocument) -> str:
    """Write one document; say `added`, `changed` or `unchanged`.

    A changed document's chunks, vectors and postings are replaced, and every cached answer
    that it fed is dropped. `refresh_corpus` is owed once, after the last of a batch.
    """
    source_id = document.source.source_id
    old = await tx.execute(
        select(Document.id, Document.content_hash).where(
            Document.corpus_id == corpus.id, Document.source_id == source_id
        )
    )
    found = old.one_or_none()
    if found is not None and found.content_hash == document.content_hash:
        return "unchanged"
    hashes = await _drop(tx, corpus, found.id, source_id) if found else []
    await _insert(tx, corpus, document)
    await _forget_vectors(tx, hashes)
    return "changed" if found else "added"


async def forget_document(tx: AsyncSession, corpus: Corpus, source_id: str) -> None:
    """Delete a document with its chunks, vectors, postings and all cached answers that it fed.

    Raises NotFound where the corpus has no such document.
    """
    found = await tx.scalar(
        select(Document.id).where(Document.corpus_id == corpus.id, Document.source_id == source_id)
    )
    if found is None:
        raise NotFound(f"the corpus {corpus.name!r} has no document {source_id!r}")
    hashes = await _drop(tx, corpus, found, source_id)
    await _forget_vectors(tx, hashes)
    await refresh_corpus(tx, corpus)


async def _drop(tx: AsyncSession, corpus: Corpus, document: UUID, source_id: str) -> list[str]:
    """Delete a document and what it fed; give the hashes of its passages."""
    hashes = list(
        await tx.scalars(
            select(DocumentChunk.content_hash).where(DocumentChunk.document_id == document)
        )
    )
    await tx.execute(delete(Document).where(Document.id == document))
    await tx.execute(
        delete(CachedAnswer).where(
            CachedAnswer.corpus_id == corpus.id, CachedAnswer.source_ids.contains([source_id])
        )
    )
    return hashes


async def _forget_vectors(tx: AsyncSession, hashes: Sequence[str]) -> None:
    """Drop the cached vectors of passages that no chunk of this tenant has any more."""
    if hashes:
        await tx.execute(
            text(
                "delete from embedding_cache e where kind = 'passage' "
                "and content_hash = any(:hashes) and not exists "
                "(select from chunk c where c.content_hash = e.content_hash)"
            ),
            {"hashes": list(hashes)},
        )


async def _insert(tx: AsyncSession, corpus: Corpus, document: IndexedDocument) -> None:
    source = document.source
    row = Document(
        id=uuid4(),
        tenant_id=corpus.tenant_id,
        corpus_id=corpus.id,
        source_id=source.source_id,
        title=document.title,
        url_or_internal_ref=source.url_or_internal_ref,
        language=document.language,
        content_hash=document.content_hash,
        text=source.text,
        notes=list(source.notes),
        meta=source.metadata,
    )
    tx.add(row)
    await tx.flush()
    # Named by where they stand: two labs with the same documents break ties alike.
    place = f"{corpus.tenant_id}/{corpus.name}/{source.source_id}"
    ids = [uuid5(NAMESPACE_OID, f"{place}#{at}") for at in range(len(document.chunks))]
    if ids:
        await tx.execute(insert(DocumentChunk), _chunk_rows(row, ids, document.chunks))
        await tx.execute(_POSTINGS, _posting_columns(corpus, ids, document.chunks))


def _chunk_rows(
    row: Document, ids: Sequence[UUID], chunks: Sequence[IndexedChunk]
) -> list[dict[str, Any]]:
    return [
        {
            "id": ids[at],
            "tenant_id": row.tenant_id,
            "corpus_id": row.corpus_id,
            "document_id": row.id,
            "ordinal": at,
            "heading_path": list(chunk.piece.heading_path),
            "text": chunk.piece.text,
            "content_hash": chunk.content_hash,
            "byte_start": chunk.piece.byte_start,
            "byte_end": chunk.piece.byte_end,
            "length": chunk.length,
        }
        for at, chunk in enumerate(chunks)
    ]


_POSTINGS = text(
    "insert into posting (tenant_id, corpus_id, term, chunk_id, tf, length) "
    "select :tenant, :corpus, p.* from unnest(cast(:terms as text[]), cast(:chunks as uuid[]), "
    "cast(:tfs as int[]), cast(:lengths as int[])) as p"
)


def _posting_columns(
    corpus: Corpus, ids: Sequence[UUID], chunks: Sequence[IndexedChunk]
) -> dict[str, Any]:
    """The postings column by column: one statement instead of a row each."""
    columns: dict[str, list[Any]] = {"terms": [], "chunks": [], "tfs": [], "lengths": []}
    for chunk_id, chunk in zip(ids, chunks, strict=True):
        columns["terms"] += chunk.counts.keys()
        columns["tfs"] += chunk.counts.values()
        columns["chunks"] += [chunk_id] * len(chunk.counts)
        columns["lengths"] += [chunk.length] * len(chunk.counts)
    return {"tenant": corpus.tenant_id, "corpus": corpus.id, **columns}


async def refresh_corpus(tx: AsyncSession, corpus: Corpus) -> None:
    """Count the corpus anew and give it its next version."""
    await tx.execute(
        text(
            "update corpus set version = version + 1, "
            "chunk_count = (select count(*) from chunk where corpus_id = :id), "
            "term_count = (select coalesce(sum(length), 0) from chunk where corpus_id = :id), "
            "languages = (select coalesce(jsonb_agg(distinct language order by language), '[]') "
            "from document where corpus_id = :id) where id = :id"
        ),
        {"id": corpus.id},
    )


async def bump_version(tx: AsyncSession, corpus_id: UUID) -> None:
    """Give the corpus its next version: what was cached under the old one is not found again."""
    await tx.execute(
        update(Corpus).where(Corpus.id == corpus_id).values(version=Corpus.version + 1)
    )
