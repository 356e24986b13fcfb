"""How evaluation questions get onto a corpus: read, checked as a whole, clustered, written."""

import asyncio
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from corpus.clusters import find_clusters
from corpus.load import clean, clean_value
from corpus.store import find_corpus
from kit.db import Database
from kit.errors import BadInput
from kit.language import detect_language
from models.contract import MAX_QUESTION_CHARS
from models.genome import QUERY_TYPES
from models.tables import Corpus, Document, Question
from pipeline.keyword_classifier import find_type

_OWN_KEYS = frozenset({"answer", "answerable", "lang"})
"""Keys of `metadata` that have a column of their own."""


@dataclass(frozen=True)
class QuestionRecord:
    """One evaluation question, as its file has it or as it was asked."""

    external_id: str
    text: str
    language: str
    reference_answer: str | None
    source_ids: tuple[str, ...]
    answerable: bool
    metadata: dict[str, Any]
    query_type: str
    origin: str = "imported"

    @property
    def parallel_id(self) -> str | None:
        found = self.metadata.get("parallel_id")
        return None if found is None else str(found)


async def import_questions(db: Database, tenant: UUID, corpus_name: str, folder: Path) -> int:
    """Put the questions of `folder` onto an ingested corpus; give their number.

    `folder` holds `queries.jsonl` and `qrels/*.tsv`, whose corpus ids are source ids. A
    question that is there already, by its id, is brought up to date and keeps its history.
    Raises BadInput naming the file and line that cannot be used; then nothing is written.
    """
    async with db.transaction(tenant) as tx:
        corpus = await find_corpus(tx, corpus_name)
        known = await tx.scalars(select(Document.source_id).filter_by(corpus_id=corpus.id))
        questions = read_questions(folder, set(known))
        await write_questions(tx, tenant, corpus.id, questions)
    return len(questions)


def read_questions(folder: Path, documents: set[str]) -> list[QuestionRecord]:
    """Read `queries.jsonl` and `qrels/*.tsv`, checked against the ids of the `documents`.

    Raises BadInput naming file and line.
    """
    path = folder / "queries.jsonl"
    rows = list(read_rows(path, "text"))
    if not rows:
        raise BadInput(f"{path} holds no question")
    gold = read_qrels(folder, {row["_id"] for row in rows}, documents)
    return [_question(row, gold.get(row["_id"], ()), path) for row in rows]


def read_rows(path: Path, required: str) -> Iterator[dict[str, Any]]:
    """Read JSON lines with an `_id` of their own and a text under `required`, cleaned.

    Raises BadInput that names file and line: not JSON, no object, a field that is missing or
    no text, an id given twice.
    """
    seen: set[str] = set()
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        row = _row(line, f"{path}, line {number}", required)
        if row["_id"] in seen:
            raise BadInput(f"{path}, line {number}: the id {row['_id']!r} is given twice")
        seen.add(row["_id"])
        yield row


def _row(line: str, where: str, required: str) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from error
    if not isinstance(row, dict):
        raise BadInput(f"{where}: not a JSON object")
    row = dict(clean_value(row))
    for key in ("_id", required):
        if not isinstance(row.get(key), str) or (key == "_id" and not row[key].strip()):
            raise BadInput(f"{where}: {key!r} is missing or no text")
    if not isinstance(row.setdefault("metadata", {}), dict):
        raise BadInput(f"{where}: 'metadata' is no object")
    return row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_bytes().decode("utf-8-sig").split("\n")
    except FileNotFoundError as error:
        raise BadInput(f"{path} is missing") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error


def read_qrels(
    folder: Path, questions: set[str], documents: set[str]
) -> dict[str, tuple[str, ...]]:
    """Read `qrels/*.tsv` (query-id, corpus-id, score): question id -> its right documents.

    Raises BadInput naming file and line: a row that is no three columns, a score that is no
    number, an unknown question or document, no file at all.
    """
    paths = sorted((folder / "qrels").glob("*.tsv"))
    if not paths:
        raise BadInput(f"{folder / 'qrels'} has no .tsv file")
    gold: dict[str, dict[str, None]] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), start=1):
            if not line.strip() or (number == 1 and line.lower().startswith("query-id")):
                continue
            question, document, score = _qrel(line, f"{path}, line {number}")
            if question not in questions:
                raise BadInput(f"{path}, line {number}: no question has the id {question!r}")
            if document not in documents:
                raise BadInput(f"{path}, line {number}: no document has the id {document!r}")
            if score > 0:
                gold.setdefault(question, {})[document] = None
    return {question: tuple(documents) for question, documents in gold.items()}


def _qrel(line: str, where: str) -> tuple[str, str, float]:
    fields = clean(line)[0].strip("\n").split("\t")
    if len(fields) != 3:
        raise BadInput(f"{where}: {len(fields)} columns where query-id, corpus-id, score are due")
    try:
        score = float(fields[2])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise BadInput(f"{where}: the score {fields[2]!r} is no number")
    return fields[0], fields[1], score


def _question(row: Mapping[str, Any], gold: tuple[str, ...], path: Path) -> QuestionRecord:
    metadata = row["metadata"]
    text = row["text"].strip()
    if not 1 <= len(text) <= MAX_QUESTION_CHARS:
        raise BadInput(
            f"{path}: the question {row['_id']!r} has {len(text)} characters, "
            f"not 1 to {MAX_QUESTION_CHARS}"
        )
    answer, language = metadata.get("answer"), metadata.get("lang")
    answerable = metadata.get("answerable", True)
    return QuestionRecord(
        external_id=row["_id"],
        text=text,
        language=language if isinstance(language, str) and language else detect_language(text),
        reference_answer=answer if isinstance(answer, str) and answer.strip() else None,
        source_ids=gold,
        answerable=answerable not in (False, "false", 0),
        metadata={key: value for key, value in metadata.items() if key not in _OWN_KEYS},
        query_type=_type_of(metadata.get("query_type"), text),
    )


def _type_of(given: object, text: str) -> str:
    """What the set says where that is a type we know, else what the built-in router finds."""
    return given if given in QUERY_TYPES else find_type(text)


async def write_questions(
    tx: AsyncSession, tenant: UUID, corpus_id: UUID, questions: Sequence[QuestionRecord]
) -> None:
    """Write the questions with the clusters of their near-duplicates.

    What stands on the corpus already, out of another set or out of traffic, is clustered with
    them: no question is fresh in the words of one that was used.
    """
    own = {question.external_id for question in questions}
    known = [row for row in await lock_questions(tx, corpus_id) if row.external_id not in own]
    asked = [*questions, *map(record_of, known)]
    clusters = await asyncio.to_thread(find_clusters, asked)
    for row, cluster in zip(known, clusters[len(questions) :], strict=True):
        row.cluster = cluster
    rows = [
        question_row(tenant, corpus_id, question, cluster)
        for question, cluster in zip(questions, clusters, strict=False)
    ]
    new = insert(Question)
    fixed = {"id", "tenant_id", "corpus_id", "external_id"}
    kept = {column: new.excluded[column] for column in rows[0] if column not in fixed}
    await tx.execute(
        new.on_conflict_do_update(index_elements=["corpus_id", "external_id"], set_=kept), rows
    )


async def lock_questions(tx: AsyncSession, corpus_id: UUID) -> list[Question]:
    """Give the questions on a corpus, oldest first; until the commit nobody else adds any."""
    await tx.execute(select(Corpus.id).filter_by(id=corpus_id).with_for_update())
    order = (Question.created_at, Question.external_id)
    return list(await tx.scalars(select(Question).filter_by(corpus_id=corpus_id).order_by(*order)))


def record_of(row: Question) -> QuestionRecord:
    """Give a stored question as it was read."""
    return QuestionRecord(
        external_id=row.external_id,
        text=row.text,
        language=row.language,
        reference_answer=row.reference_answer,
        source_ids=tuple(row.source_ids),
        answerable=row.answerable,
        metadata=row.meta,
        query_type=row.query_type,
        origin=row.origin,
    )


def question_row(
    tenant: UUID, corpus_id: UUID, question: QuestionRecord, cluster: str
) -> dict[str, Any]:
    """Give the columns of a new question."""
    return {
        "id": uuid4(),
        "tenant_id": tenant,
        "corpus_id": corpus_id,
        "external_id": question.external_id,
        "text": question.text,
        "language": question.language[:8],
        "reference_answer": question.reference_answer,
        "source_ids": list(question.source_ids),
        "answerable": question.answerable,
        "cluster": cluster,
        "query_type": question.query_type,
        "origin": question.origin,
        "meta": question.metadata,
    }
