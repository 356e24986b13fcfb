"""What clients ask becomes questions: once each, live ones alone, and nobody's secret."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import select

from accounts.profiles import create_profile
from corpus.beir import import_beir
from corpus.calibrate import calibrate
from corpus.questions import QuestionRecord, write_questions
from corpus.traffic import take_traffic
from evolution.plan import CycleOrder, create_cycle
from evolution.questions import split_questions
from kit.db import Database
from models.contract import RetrievalResult, RetrievalUsage
from models.tables import DEFAULT_TENANT, Corpus, Question, Tenant, Trace
from pipeline.keyword_classifier import find_type
from pipeline.ports import RetrievalQuery, Scope
from pipeline.scope import load_scope

SAID = "A session lasts twelve hours [1]."


async def make_corpus(db: Database, tenant: UUID = DEFAULT_TENANT, profile: str = "shop") -> UUID:
    async with db.transaction(tenant) as tx:
        corpus = Corpus(tenant_id=tenant, name=profile)
        tx.add(corpus)
        await tx.flush()
        await create_profile(tx, tenant, profile, corpus.id)
        return corpus.id


def trace(question: str, tenant: UUID = DEFAULT_TENANT, **changes: object) -> Trace:
    answer = {"answer": SAID, "abstained": False, "finish_reason": "stop"}
    plain: dict[str, object] = {
        "id": uuid4(),
        "tenant_id": tenant,
        "origin": "live",
        "profile": "shop",
        "question": question,
        "answer": answer | dict(changes.pop("answer", {})),  # type: ignore[call-overload]
        "genomes": {},
        "query_type": "factual_lookup",
        "from_cache": False,
        "steps": [{"name": "retrieve", "ms": 1.0, "note": ""}],
    }
    return Trace(**plain | changes)


async def record(db: Database, *traces: Trace) -> None:
    async with db.transaction(traces[0].tenant_id) as tx:
        tx.add_all(traces)


async def take(db: Database, corpus_id: UUID, tenant: UUID = DEFAULT_TENANT) -> int:
    async with db.transaction(tenant) as tx:
        return await take_traffic(tx, tenant, corpus_id)


async def questions(db: Database, corpus_id: UUID) -> list[Question]:
    async with db.transaction(DEFAULT_TENANT) as tx:
        query = select(Question).filter_by(corpus_id=corpus_id).order_by(Question.text)
        return list(await tx.scalars(query))


def imported(external_id: str, text: str, *source_ids: str) -> QuestionRecord:
    query_type = find_type(text)
    return QuestionRecord(external_id, text, "en", "known", source_ids, True, {}, query_type)


async def bring(db: Database, corpus_id: UUID, asked: Sequence[QuestionRecord]) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        await write_questions(tx, DEFAULT_TENANT, corpus_id, asked)


async def test_a_live_question_is_taken_with_its_type_and_without_a_reference(
    db: Database,
) -> None:
    corpus_id = await make_corpus(db)
    await record(db, trace("How do I export the price list?"))
    assert await take(db, corpus_id) == 1
    [taken] = await questions(db, corpus_id)
    assert (taken.origin, taken.query_type, taken.language) == ("traffic", "how_to", "en")
    assert (taken.reference_answer, taken.source_ids, taken.answerable) == (None, [], True)
    assert taken.cluster == taken.external_id


async def test_playground_and_lab_never_become_questions(db: Database) -> None:
    corpus_id = await make_corpus(db)
    kinds = ("playground", "lab")
    await record(db, *(trace(f"How does the {each} work?", origin=each) for each in kinds))
    assert await take(db, corpus_id) == 0


async def test_what_is_personal_pasted_or_not_alone_understandable_is_left(db: Database) -> None:
    corpus_id = await make_corpus(db)
    turns = [{"name": "conversation", "ms": 0.0, "note": "2 turns before"}]
    await record(
        db,
        trace("What is my account balance?"),
        trace("And in Spain?", steps=turns),
        trace("word " * 250),
    )
    assert await take(db, corpus_id) == 0


async def test_where_live_said_nothing_nobody_knows_what_would_be_right(db: Database) -> None:
    corpus_id = await make_corpus(db)
    await record(
        db,
        trace("Who invented the abacus?", answer={"abstained": True}),
        trace("Who sells the abacus?", answer={"finish_reason": "error"}),
        trace("Who owns the abacus?", answer={"answer": "The sources do not say."}),
    )
    assert await take(db, corpus_id) == 0


async def test_the_same_in_other_words_is_taken_once(db: Database) -> None:
    corpus_id = await make_corpus(db)
    await record(
        db,
        trace("How long does an admin session last?"),
        trace("how long does an admin session last"),
        trace("Please, how long do admin sessions last?"),
        trace("Which ports are open?"),
    )
    assert await take(db, corpus_id) == 2
    await record(db, trace("How long does one admin session last?"))
    assert await take(db, corpus_id) == 0


async def test_a_question_like_an_imported_one_brings_nothing(db: Database) -> None:
    corpus_id = await make_corpus(db)
    await bring(db, corpus_id, [imported("1", "How long does an admin session last?", "a.md")])
    await record(db, trace("How long do admin sessions last?"))
    assert await take(db, corpus_id) == 0


async def test_a_set_imported_later_joins_the_clusters_of_what_was_asked(db: Database) -> None:
    corpus_id = await make_corpus(db)
    await record(db, trace("How long do admin sessions last?"))
    await take(db, corpus_id)
    await bring(
        db,
        corpus_id,
        [
            imported("1", "How long does an admin session last?", "a.md"),
            imported("2", "Which ports are open?", "a.md"),
        ],
    )
    clusters = {q.text: q.cluster for q in await questions(db, corpus_id)}
    assert len(clusters) == 3 and len(set(clusters.values())) == 2
    one, other = "How long do admin sessions last?", "How long does an admin session last?"
    assert clusters[one] == clusters[other]


async def test_only_this_corpus_and_the_last_month_are_looked_at(db: Database) -> None:
    corpus_id, other_id = await make_corpus(db), await make_corpus(db, profile="bank")
    old = datetime.now(UTC) - timedelta(days=31)
    await record(
        db,
        trace("Which banks are open?", profile="bank"),
        trace("Which shops are open?", created_at=old),
    )
    assert await take(db, corpus_id) == 0
    assert await take(db, other_id) == 1


async def test_another_tenants_traffic_is_never_seen(db: Database) -> None:
    async with db.transaction() as tx:
        other = Tenant(name="other")
        tx.add(other)
        await tx.flush()
        tenant = other.id
    corpus_id = await make_corpus(db)
    await make_corpus(db, tenant)
    await record(db, trace("Which prices are secret?", tenant))
    assert await take(db, corpus_id) == 0


async def test_search_and_proof_are_drawn_from_both_origins_and_all_types(db: Database) -> None:
    corpus_id = await make_corpus(db)
    begins = ("How do I set", "Why is there", "How many values has")
    known = [f"{begins[n % 3]} zork{n} plim{n} trok{n}?" for n in range(90)]
    await bring(db, corpus_id, [imported(text, text, "a.md") for text in known])
    await record(db, *(trace(f"{begins[n % 3]} blib{n} quux{n} gnar{n}?") for n in range(90)))
    assert await take(db, corpus_id) == 90
    async with db.transaction(DEFAULT_TENANT) as tx:
        drawn = await split_questions(tx, corpus_id, "shop", "routing", seed=3)
    for ids in (drawn.search, drawn.confirm[:30], drawn.confirm[:60]):
        rows = [q for q in await questions(db, corpus_id) if q.id in ids]
        assert abs(sum(q.origin == "traffic" for q in rows) - len(rows) / 2) <= 3
        for query_type in ("how_to", "explanation", "factual_lookup"):
            assert abs(sum(q.query_type == query_type for q in rows) - len(rows) / 3) <= 3


async def test_a_set_may_say_its_types_and_else_the_built_in_router_does(
    db: Database, tmp_path: Path
) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "All about it."}\n')
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "1", "text": "How do I begin?", "metadata": {"query_type": "explanation"}}\n'
        '{"_id": "2", "text": "How do I end?", "metadata": {"query_type": "riddle"}}\n'
        '{"_id": "3", "text": "Why is it so?"}\n'
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "all.tsv").write_text("1\ta\t1\n")
    report = await import_beir(db, DEFAULT_TENANT, tmp_path, "typed", lambda done, total: None)
    assert report.corpus_id is not None
    found = {q.external_id: q.query_type for q in await questions(db, report.corpus_id)}
    assert found == {"1": "explanation", "2": "how_to", "3": "explanation"}


async def test_an_ordered_cycle_draws_from_what_was_asked(db: Database) -> None:
    corpus_id = await make_corpus(db)
    await record(db, *(trace(f"Where is zork{n} plim{n} kept?") for n in range(60)))
    async with db.transaction(DEFAULT_TENANT) as tx:
        await create_cycle(tx, DEFAULT_TENANT, CycleOrder("routing", "shop", 600, seed=1))
    assert len(await questions(db, corpus_id)) == 60


@dataclass
class Listening:
    """A retriever that finds nothing, and remembers what it was asked."""

    asked: list[str] = field(default_factory=list)

    async def retrieve(self, scope: Scope, query: RetrievalQuery) -> RetrievalResult:
        self.asked.append(query.text)
        usage = RetrievalUsage(provider="none")
        return RetrievalResult(
            trace_id=query.trace_id, tenant_id=scope.tenant_id, corpus=scope.corpus, usage=usage
        )


async def test_traffic_has_no_say_in_when_nothing_is_answered(db: Database) -> None:
    corpus_id = await make_corpus(db)
    known = [imported(f"{n}", f"Where is zork{n} plim{n} kept?") for n in range(40)]
    known = [replace(each, answerable=n % 2 == 0) for n, each in enumerate(known)]
    await bring(db, corpus_id, known)
    await record(db, trace("Which ports are open?"))
    assert await take(db, corpus_id) == 1
    async with db.transaction(DEFAULT_TENANT) as tx:
        scope = await load_scope(tx, DEFAULT_TENANT, "shop")
    retriever = Listening()
    await calibrate(db, retriever, scope, lambda done, total: None)
    assert sorted(retriever.asked) == sorted(each.text for each in known)
