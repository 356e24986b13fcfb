"""How a folder of documents gets in: batch by batch, so that nothing is ever half-written."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from corpus.index import IndexedDocument, index_document
from corpus.load import SourceText, Unreadable, load_file, walk
from corpus.store import open_corpus, refresh_corpus, write_document
from kit.db import Database
from kit.errors import BadInput

Progress = Callable[[int, int], None]
"""Called with how many are done, and how many there are."""

_BATCH = 16
_T = TypeVar("_T")


@dataclass(frozen=True)
class IngestReport:
    """What became of each document that was offered."""

    corpus: str
    corpus_id: UUID | None = None
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    chunks: int = 0
    """Written, of the added and changed documents."""
    skipped: tuple[tuple[str, str], ...] = ()
    """(source id, reason) of each file that was left out."""
    notes: tuple[tuple[str, str], ...] = ()
    """(source id, note) for each thing that was mended or guessed on the way in."""

    @property
    def taken(self) -> int:
        return self.added + self.changed + self.unchanged


async def ingest_folder(
    db: Database, tenant: UUID, folder: Path, corpus_name: str, report: Progress
) -> IngestReport:
    """Take every Markdown and text file of `folder` into the corpus, made if there is none.

    An unchanged document is untouched, a changed one replaced; documents that are no longer in
    the folder stay. Files that cannot be used are named in the report and the rest is taken.
    Text is searchable when this returns; vectors are `corpus.vectors.embed_pending`'s work.
    Raises BadInput where the folder cannot be read or holds nothing that can be used; then
    nothing is written.
    """
    paths = await asyncio.to_thread(walk, folder)
    if not paths:
        raise BadInput(f"the folder {folder} is empty")
    result = IngestReport(corpus_name)
    done = 0
    for batch in batches(paths, _BATCH):
        loaded = await asyncio.to_thread(_load, batch, folder)
        result = note_unreadable(result, [x for x in loaded if isinstance(x, Unreadable)])
        documents = [x for x in loaded if isinstance(x, IndexedDocument)]
        result = await take(db, tenant, corpus_name, documents, result)
        done += len(batch)
        report(done, len(paths))
    if not result.taken:
        name, reason = result.skipped[0]
        raise BadInput(f"no file in {folder} can be used; the first is {name}: {reason}")
    return result


def _load(paths: Iterable[Path], folder: Path) -> list[IndexedDocument | Unreadable]:
    loaded: list[IndexedDocument | Unreadable] = []
    for path in paths:
        source = load_file(path, folder)
        loaded.append(index_document(source) if isinstance(source, SourceText) else source)
    return loaded


def note_unreadable(report: IngestReport, files: Sequence[Unreadable]) -> IngestReport:
    return replace(report, skipped=(*report.skipped, *((f.source_id, f.reason) for f in files)))


async def take(
    db: Database,
    tenant: UUID,
    corpus_name: str,
    documents: Sequence[IndexedDocument],
    report: IngestReport,
) -> IngestReport:
    """Write a batch of documents in one transaction; give the report with them counted."""
    if not documents:
        return report
    async with db.transaction(tenant) as tx:
        corpus = await open_corpus(tx, tenant, corpus_name)
        outcomes = [await write_document(tx, corpus, document) for document in documents]
        if any(outcome != "unchanged" for outcome in outcomes):
            await refresh_corpus(tx, corpus)
    written = (d for d, what in zip(documents, outcomes, strict=True) if what != "unchanged")
    notes = ((d.source.source_id, note) for d in documents for note in d.source.notes)
    return replace(
        report,
        corpus_id=corpus.id,
        added=report.added + outcomes.count("added"),
        changed=report.changed + outcomes.count("changed"),
        unchanged=report.unchanged + outcomes.count("unchanged"),
        chunks=report.chunks + sum(len(document.chunks) for document in written),
        notes=(*report.notes, *notes),
    )


def batches(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
