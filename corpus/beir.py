"""How a question set in the BEIR layout gets in: everything checked first, then written."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from corpus.index import IndexedDocument, index_document
from corpus.ingest import IngestReport, Progress, batches, take
from corpus.load import SourceText
from corpus.questions import (
    QuestionRecord,
    read_questions,
    read_rows,
    write_questions,
)
from corpus.store import find_corpus
from kit.db import Database
from kit.errors import BadInput

_BATCH = 16


async def import_beir(
    db: Database, tenant: UUID, folder: Path, corpus_name: str, report: Progress
) -> IngestReport:
    """Take `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` into the corpus, made if need be.

    Raises BadInput that names file and line of whatever cannot be used (no JSON, an id given
    twice, a qrel to an unknown id, a missing file); then nothing at all is written.
    """
    sources, questions = await asyncio.to_thread(_read, folder)
    result = IngestReport(corpus_name, skipped=tuple(_blank(sources)))
    usable = [source for source in sources if source.text.strip()]
    done = 0
    for batch in batches(usable, _BATCH):
        documents = await asyncio.to_thread(_index, batch)
        result = await take(db, tenant, corpus_name, documents, result)
        done += len(batch)
        report(done, len(usable))
    async with db.transaction(tenant) as tx:
        corpus = await find_corpus(tx, corpus_name)
        await write_questions(tx, tenant, corpus.id, questions)
    return result


def _read(folder: Path) -> tuple[list[SourceText], list[QuestionRecord]]:
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder")
    path = folder / "corpus.jsonl"
    sources = [_source(row) for row in read_rows(path, "text")]
    if not any(source.text.strip() for source in sources):
        raise BadInput(f"{path} holds no document with a text")
    return sources, read_questions(folder, {source.source_id for source in sources})


def _source(row: Mapping[str, Any]) -> SourceText:
    metadata: dict[str, Any] = row["metadata"]
    title, url, language = (row.get("title"), metadata.get("url"), metadata.get("lang"))
    return SourceText(
        source_id=row["_id"],
        text=row["text"],
        is_markdown=True,
        title=title if isinstance(title, str) else "",
        url_or_internal_ref=url if isinstance(url, str) else row["_id"],
        language=language if isinstance(language, str) and 2 <= len(language) <= 8 else "",
        metadata=metadata,
    )


def _index(batch: list[SourceText]) -> list[IndexedDocument]:
    return [index_document(source) for source in batch]


def _blank(sources: list[SourceText]) -> Iterator[tuple[str, str]]:
    return ((source.source_id, "empty text") for source in sources if not source.text.strip())
