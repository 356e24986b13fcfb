"""A folder gets in whole, again without harm, and out without a trace."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from corpus.ingest import IngestReport, ingest_folder
from corpus.store import find_corpus, forget_document, refresh_corpus
from corpus.vectors import count_pending, embed_pending
from kit.db import Database
from kit.errors import BadInput, NotFound
from kit.fakes import HashEmbedder
from models.tables import (
    DEFAULT_TENANT,
    CachedAnswer,
    ChunkVector,
    Corpus,
    Document,
    DocumentChunk,
    EmbeddingCache,
    LedgerEntry,
    Posting,
    utc_now,
)


def silent(done: int, total: int) -> None:
    assert 0 <= done <= total


def write(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}.md").write_bytes(data)
    return folder


async def ingest(db: Database, folder: Path) -> IngestReport:
    return await ingest_folder(db, DEFAULT_TENANT, folder, "docs", silent)


async def corpus_of(db: Database) -> Corpus:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await find_corpus(tx, "docs")


async def count(db: Database, *tables: Any) -> list[int]:
    async with db.transaction(DEFAULT_TENANT) as tx:
        found = [await tx.scalar(select(func.count()).select_from(table)) for table in tables]
    return [int(number or 0) for number in found]


async def cache_answer(db: Database, corpus: Corpus, source_id: str) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        tx.add(
            CachedAnswer(
                tenant_id=DEFAULT_TENANT, corpus_id=corpus.id,
                fingerprint="f", question_key=source_id,
                question="q", answer={}, source_ids=[source_id], expires_at=utc_now(),
            )
        )  # fmt: skip


async def test_a_folder_gets_in_with_right_counters(db: Database, tmp_path: Path) -> None:
    report = await ingest(db, write(tmp_path, a="# One\n\nThe first text.", b="Вторая запись."))
    assert (report.added, report.changed, report.unchanged, report.chunks) == (2, 0, 0, 2)
    corpus = await corpus_of(db)
    async with db.transaction(DEFAULT_TENANT) as tx:
        lengths = list(await tx.scalars(select(DocumentChunk.length)))
        postings = await tx.scalar(select(func.sum(Posting.tf)))
        titles = list(await tx.scalars(select(Document.title).order_by(Document.source_id)))
    assert (corpus.chunk_count, corpus.term_count) == (2, sum(lengths))
    assert postings == corpus.term_count
    assert corpus.languages == ["en", "ru"]
    assert titles == ["One", "b"]


async def test_a_second_run_changes_nothing(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, a="# One\n\nText.", b="Other text."))
    before = await corpus_of(db)
    report = await ingest(db, tmp_path)
    after = await corpus_of(db)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 2)
    assert (after.version, after.chunk_count) == (before.version, before.chunk_count)


async def test_a_changed_document_is_replaced_with_what_it_fed(
    db: Database, tmp_path: Path
) -> None:
    await ingest(db, write(tmp_path, a="# One\n\nOld words.", b="Other text."))
    before = await corpus_of(db)
    await cache_answer(db, before, "a.md")
    await cache_answer(db, before, "b.md")
    report = await ingest(db, write(tmp_path, a="# One\n\nNew words."))
    after = await corpus_of(db)
    async with db.transaction(DEFAULT_TENANT) as tx:
        cached = list(await tx.scalars(select(CachedAnswer.question_key)))
        old = await tx.scalar(select(func.count()).where(Posting.term == "old"))
    assert (report.changed, report.unchanged) == (1, 1)
    assert after.version > before.version
    assert (cached, old) == (["b.md"], 0)


async def test_a_document_that_left_the_folder_stays(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, a="One text.", b="Other text."))
    (tmp_path / "a.md").unlink()
    await ingest(db, tmp_path)
    assert await count(db, Document) == [2]


async def test_bad_files_are_named_and_the_rest_is_taken(db: Database, tmp_path: Path) -> None:
    write(tmp_path, plain="plain text", nul="---\nkey: a\\0b\n---\na wo\0rd", last="more text")
    write(tmp_path, none=b"", binary=bytes(range(256)) * 64)
    (tmp_path / "utf16.txt").write_bytes("Written without a mark.".encode("utf-16-le"))
    report = await ingest(db, tmp_path)
    assert report.added == 4
    assert dict(report.skipped) == {
        "none.md": "empty file",
        "binary.md": "is not UTF-8 and its encoding cannot be told",
    }
    assert dict(report.notes) == {
        "nul.md": "NUL removed (1)",
        "utf16.txt": "decoded as utf-16-le: told by its NUL bytes",
    }


async def test_a_folder_without_a_usable_file_writes_nothing(db: Database, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is empty"):
        await ingest(db, tmp_path)
    with pytest.raises(BadInput, match=r"the first is a\.md: empty file"):
        await ingest(db, write(tmp_path, a=""))
    assert await count(db, Corpus) == [0]


async def test_vectors_join_and_are_booked_once(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, **{f"d{n}": f"text number {n}" for n in range(20)}))
    corpus, embedder = await corpus_of(db), HashEmbedder()
    assert await count_pending(db, embedder.name, DEFAULT_TENANT, corpus.id) == 20
    assert await embed_pending(db, embedder, DEFAULT_TENANT, corpus.id, silent) == 20
    assert await embed_pending(db, embedder, DEFAULT_TENANT, corpus.id, silent) == 0
    async with db.transaction(DEFAULT_TENANT) as tx:
        entries = list(await tx.scalars(select(LedgerEntry).order_by(LedgerEntry.created_at)))
    assert [(e.ledger, e.purpose, e.unit, e.units) for e in entries] == [
        ("embedding", "index", "chunks", 16),
        ("embedding", "index", "chunks", 4),
    ]
    assert (await corpus_of(db)).version == corpus.version + 1


async def test_a_known_passage_is_not_embedded_again(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, a="# Title\n\nThe same words."))
    first = await corpus_of(db)
    await embed_pending(db, HashEmbedder(), DEFAULT_TENANT, first.id, silent)
    await ingest_folder(db, DEFAULT_TENANT, tmp_path, "copy", silent)
    async with db.transaction(DEFAULT_TENANT) as tx:
        copy = await find_corpus(tx, "copy")
    assert await embed_pending(db, HashEmbedder(), DEFAULT_TENANT, copy.id, silent) == 1
    assert await count(db, ChunkVector, EmbeddingCache, LedgerEntry) == [2, 1, 1]


async def test_a_forgotten_document_leaves_nothing(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, a="# Secret plan\n\nThe words.", b="Other text."))
    corpus = await corpus_of(db)
    await embed_pending(db, HashEmbedder(), DEFAULT_TENANT, corpus.id, silent)
    await cache_answer(db, corpus, "a.md")
    async with db.transaction(DEFAULT_TENANT) as tx:
        await forget_document(tx, await find_corpus(tx, "docs"), "a.md")
    counted = (Document, DocumentChunk, ChunkVector, EmbeddingCache, CachedAnswer)
    assert await count(db, *counted) == [1, 1, 1, 1, 0]
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert await tx.scalar(select(func.count()).where(Posting.term == "secret")) == 0
        with pytest.raises(NotFound, match=r"has no document 'a\.md'"):
            await forget_document(tx, await find_corpus(tx, "docs"), "a.md")
    after = await corpus_of(db)
    assert (after.chunk_count, after.version) == (1, corpus.version + 2)


async def test_documents_of_one_instant_are_listed_once_each(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, **{f"d{n:02}": f"text {n}" for n in range(45)}))
    async with db.transaction(DEFAULT_TENANT) as tx:
        await tx.execute(text("update document set created_at = '2026-01-01 00:00:00Z'"))
        walked: list[str] = []
        for page in range(5):
            rows = select(Document.source_id).order_by(Document.created_at, Document.id)
            walked += await tx.scalars(rows.offset(page * 10).limit(10))
    assert len(walked) == len(set(walked)) == 45


async def test_counting_anew_changes_no_counter(db: Database, tmp_path: Path) -> None:
    await ingest(db, write(tmp_path, a="One text.", b="Other text."))
    before = await corpus_of(db)
    async with db.transaction(DEFAULT_TENANT) as tx:
        await refresh_corpus(tx, before)
    after = await corpus_of(db)
    assert (after.chunk_count, after.term_count, after.languages) == (
        before.chunk_count, before.term_count, before.languages,
    )  # fmt: skip
