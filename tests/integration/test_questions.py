"""Search and proof never share a question, nor anything like it."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from evolution.questions import Split, book_search, spend_confirm, split_questions
from kit.db import Database
from kit.errors import Conflict
from models.tables import DEFAULT_TENANT, Corpus, Cycle, Profile, Question


async def make_corpus(db: Database, clusters: int, twins: int = 2) -> UUID:
    """A corpus in which each fact is asked `twins` times, a tenth of them unanswerable."""
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name=uuid4().hex)
        tx.add(corpus)
        await tx.flush()
        for c in range(clusters):
            for t in range(twins):
                tx.add(_question(corpus.id, c, t))
    return corpus.id


def _question(corpus_id: UUID, cluster: int, twin: int) -> Question:
    return Question(
        tenant_id=DEFAULT_TENANT,
        corpus_id=corpus_id,
        external_id=f"{cluster:03}-{twin}",
        text=f"fact {cluster}, asked {twin}",
        language=("en", "es", "ru")[cluster % 3],
        cluster=str(cluster),
        answerable=cluster % 10 != 0,
        reference_answer=None,
    )


async def make_cycle(db: Database, corpus_id: UUID) -> UUID:
    async with db.transaction(DEFAULT_TENANT) as tx:
        name = uuid4().hex
        profile = Profile(
            tenant_id=DEFAULT_TENANT, name=name, domain="d", corpus_id=corpus_id, settings={}
        )
        tx.add(profile)
        await tx.flush()
        cycle = Cycle(tenant_id=DEFAULT_TENANT, layer="routing", domain="d", budget=1, seed=1,
                      profile_id=profile.id, max_mutations=1)  # fmt: skip
        tx.add(cycle)
        await tx.flush()
        return cycle.id


async def split(db: Database, corpus_id: UUID, seed: int = 1) -> Split:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return await split_questions(tx, corpus_id, "d", "routing", seed)


async def spend(db: Database, cycle_id: UUID, drawn: Split) -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        await book_search(tx, DEFAULT_TENANT, cycle_id, "d", "routing", drawn.search)
        await spend_confirm(tx, DEFAULT_TENANT, cycle_id, "d", "routing", drawn.confirm)


async def clusters_of(db: Database, ids: tuple[UUID, ...]) -> list[str]:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return list(await tx.scalars(select(Question.cluster).where(Question.id.in_(ids))))


async def test_near_duplicates_are_never_split_between_search_and_proof(db: Database) -> None:
    drawn = await split(db, await make_corpus(db, 90))
    search, confirm = await clusters_of(db, drawn.search), await clusters_of(db, drawn.confirm)
    assert not set(search) & set(confirm)
    assert len(confirm) == len(set(confirm)) >= 40


async def test_a_spent_question_and_its_like_are_never_drawn_again(db: Database) -> None:
    corpus_id = await make_corpus(db, 200)
    first = await split(db, corpus_id)
    await spend(db, await make_cycle(db, corpus_id), first)
    second = await split(db, corpus_id, seed=2)
    spent = set(await clusters_of(db, first.confirm))
    assert not spent & set(await clusters_of(db, second.confirm))
    assert not spent & set(await clusters_of(db, second.search))
    searched = set(await clusters_of(db, first.search))
    assert set(await clusters_of(db, second.search)) <= searched


async def test_two_cycles_cannot_spend_the_same_question(db: Database) -> None:
    corpus_id = await make_corpus(db, 90)
    drawn = await split(db, corpus_id)
    mine, other = await make_cycle(db, corpus_id), await make_cycle(db, corpus_id)
    await spend(db, mine, drawn)
    await spend(db, mine, drawn)  # a resumed cycle comes by again
    with pytest.raises(Conflict, match="another cycle"):
        await spend(db, other, drawn)


async def test_languages_and_unanswerable_ones_are_in_every_part(db: Database) -> None:
    corpus_id = await make_corpus(db, 150, twins=1)
    drawn = await split(db, corpus_id)
    for ids in (drawn.search, drawn.confirm[:30]):
        async with db.transaction(DEFAULT_TENANT) as tx:
            rows = list(await tx.scalars(select(Question).where(Question.id.in_(ids))))
        counts = [sum(row.language == code for row in rows) for code in ("en", "es", "ru")]
        assert min(counts) >= len(rows) / 3 - 2
        assert abs(sum(not row.answerable for row in rows) - len(rows) / 10) <= 2


async def test_the_search_is_renewed_by_a_dozen_while_the_proof_has_enough(db: Database) -> None:
    corpus_id = await make_corpus(db, 400, twins=1)
    first = await split(db, corpus_id)
    await spend(db, await make_cycle(db, corpus_id), first)
    second = await split(db, corpus_id, seed=2)
    assert len(second.search) == len(first.search) == 48
    assert len(set(second.search) - set(first.search)) == 12
    assert len(second.confirm) == 120
    assert not set(second.confirm) & {*first.search, *first.confirm, *second.search}
