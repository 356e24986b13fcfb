"""A question set in the BEIR layout: all of it or nothing, and where it is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from corpus.beir import import_beir
from corpus.ingest import ingest_folder
from corpus.questions import import_questions
from kit.db import Database
from kit.errors import BadInput
from models.tables import DEFAULT_TENANT, Corpus, Document, Question

DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Opening", "text": "Open from nine.", "metadata": {"url": "x/1"}},
    {"_id": "d2", "title": "Cierre", "text": "Cerramos a las cinco.", "metadata": {"lang": "es"}},
]
QUESTIONS: list[dict[str, Any]] = [
    {"_id": "q1", "text": "When do you open?", "metadata": {"answer": "At nine.", "lang": "en"}},
    {"_id": "q2", "text": "¿A qué hora cierran?", "metadata": {"parallel_id": 7}},
    {"_id": "q3", "text": "Who owns it?", "metadata": {"answerable": False}},
]
ASKED_AT_LENGTH = QUESTIONS[0] | {"text": "x" * 8_001}
BLANK = QUESTIONS[0] | {"text": " "}
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\nq2\td1\t0\n"


def silent(done: int, total: int) -> None:
    assert 0 <= done <= total


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def layout(folder: Path, **changed: str) -> Path:
    files = {"corpus": lines(DOCUMENTS), "queries": lines(QUESTIONS), "qrels": QRELS} | changed
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text(files["corpus"])
    (folder / "queries.jsonl").write_text(files["queries"])
    (folder / "qrels" / "test.tsv").write_text(files["qrels"])
    return folder


async def test_documents_and_questions_get_in(db: Database, tmp_path: Path) -> None:
    report = await import_beir(db, DEFAULT_TENANT, layout(tmp_path), "set", silent)
    async with db.transaction(DEFAULT_TENANT) as tx:
        documents = list(await tx.scalars(select(Document).order_by(Document.source_id)))
        questions = list(await tx.scalars(select(Question).order_by(Question.external_id)))
    assert report.added == 2
    assert [(d.source_id, d.title, d.language, d.url_or_internal_ref) for d in documents] == [
        ("d1", "Opening", "en", "x/1"),
        ("d2", "Cierre", "es", "d2"),
    ]
    assert [
        (q.external_id, q.reference_answer, q.source_ids, q.answerable, q.language)
        for q in questions
    ] == [
        ("q1", "At nine.", ["d1"], True, "en"),
        ("q2", None, ["d2"], True, "es"),
        ("q3", None, [], False, "en"),
    ]
    assert questions[1].meta == {"parallel_id": 7}


async def test_a_second_import_keeps_the_questions_it_knows(db: Database, tmp_path: Path) -> None:
    await import_beir(db, DEFAULT_TENANT, layout(tmp_path), "set", silent)
    async with db.transaction(DEFAULT_TENANT) as tx:
        before = set(await tx.scalars(select(Question.id)))
    report = await import_beir(db, DEFAULT_TENANT, tmp_path, "set", silent)
    async with db.transaction(DEFAULT_TENANT) as tx:
        after = set(await tx.scalars(select(Question.id)))
    assert (report.unchanged, before) == (2, after)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus": lines(DOCUMENTS) + "{not json\n"}, r"corpus\.jsonl, line 3: not JSON"),
        ({"corpus": lines(DOCUMENTS * 2)}, r"corpus\.jsonl, line 3: the id 'd1' is given twice"),
        ({"corpus": ""}, r"corpus\.jsonl holds no document"),
        ({"corpus": '{"_id": "a", "title": "b"}\n'}, r"line 1: 'text' is missing or no text"),
        ({"queries": lines(QUESTIONS) + "[1]\n"}, r"queries\.jsonl, line 4: not a JSON object"),
        ({"queries": '{"_id": "a", "text": "x", "metadata": {"n": NaN}}\n'}, "line 1: not JSON"),
        ({"queries": lines([ASKED_AT_LENGTH, *QUESTIONS[1:]])}, "'q1' has 8001 characters"),
        (
            {"queries": lines([BLANK, *QUESTIONS[1:]])},
            "'q1' has 0 characters",
        ),
        ({"qrels": QRELS + "q9\td1\t1\n"}, r"test\.tsv, line 5: no question has the id 'q9'"),
        ({"qrels": QRELS + "q1\td9\t1\n"}, "line 5: no document has the id 'd9'"),
        ({"qrels": QRELS + "q1 d1 1\n"}, r"test\.tsv, line 5: 1 columns where"),
        ({"qrels": QRELS + "q1\td1\tyes\n"}, r"test\.tsv, line 5: the score 'yes' is no number"),
    ],
)
async def test_a_mistake_is_named_with_its_line_and_nothing_is_written(
    db: Database, tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        await import_beir(db, DEFAULT_TENANT, layout(tmp_path, **changed), "set", silent)
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert await tx.scalar(select(func.count()).select_from(Corpus)) == 0


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
async def test_a_missing_file_is_named(db: Database, tmp_path: Path, name: str) -> None:
    (layout(tmp_path) / name).unlink()
    with pytest.raises(BadInput, match=name.partition("/")[0]):
        await import_beir(db, DEFAULT_TENANT, tmp_path, "set", silent)


async def test_a_nul_in_a_value_is_removed(db: Database, tmp_path: Path) -> None:
    documents = [{"_id": "d1", "title": "A\0b", "text": "wo\0rd", "metadata": {"k\0": "v\0w"}}]
    folder = layout(tmp_path, corpus=lines(documents), qrels="q1\td1\t1\n")
    await import_beir(db, DEFAULT_TENANT, folder, "set", silent)
    async with db.transaction(DEFAULT_TENANT) as tx:
        document = (await tx.scalars(select(Document))).one()
    assert (document.title, document.text, document.meta) == ("Ab", "word", {"k": "vw"})


async def test_questions_join_an_ingested_folder_by_relative_paths(
    db: Database, tmp_path: Path
) -> None:
    (tmp_path / "docs" / "en").mkdir(parents=True)
    (tmp_path / "docs" / "en" / "01.md").write_text("# Opening\n\nOpen from nine.")
    await ingest_folder(db, DEFAULT_TENANT, tmp_path / "docs", "docs", silent)
    asked = layout(
        tmp_path,
        queries=lines(QUESTIONS[:1]),
        qrels="query-id\tcorpus-id\tscore\nq1\ten/01.md\t1\n",
    )
    assert await import_questions(db, DEFAULT_TENANT, "docs", asked) == 1
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert (await tx.scalars(select(Question.source_ids))).one() == ["en/01.md"]
