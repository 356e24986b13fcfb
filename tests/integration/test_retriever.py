"""Retrieval finds what fits, and nothing where nothing may be found."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from accounts.profiles import create_profile
from corpus.ingest import ingest_folder
from corpus.store import find_corpus
from corpus.vectors import embed_pending
from kit.db import Database
from kit.errors import NotFound
from kit.fakes import HashEmbedder
from models.contract import RetrievalResult
from models.profile import ProfileSettings
from models.tables import DEFAULT_TENANT, LAB_TENANT, EmbeddingCache
from pipeline.ports import RetrievalQuery, Scope
from pipeline.postgres_retriever import PostgresRetriever
from pipeline.scope import DEFAULT_ABSTAIN_BELOW, load_scope

FILES = {
    "cats.md": "---\nyear: 2021\n---\n# Cats\n\nA cat sleeps sixteen hours a day and purrs.\n",
    "dogs.md": "---\nyear: 2021\n---\n# Dogs\n\nA dog barks at strangers and likes to swim.\n",
    "кони.md": "---\nyear: 2021\n---\n# Кони\n\nЛошади спят стоя, метод ОбработкаСедла.\n",
}


def silent(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture
async def scope(db: Database, tmp_path: Path) -> AsyncIterator[Scope]:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    await ingest_folder(db, DEFAULT_TENANT, tmp_path, "animals", silent)
    yield await scope_with(db, ProfileSettings(), "animals")


async def scope_with(db: Database, settings: ProfileSettings, name: str) -> Scope:
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = await find_corpus(tx, "animals")
        await create_profile(tx, DEFAULT_TENANT, name, corpus.id, settings)
        return await load_scope(tx, DEFAULT_TENANT, name)


async def embed(db: Database, corpus_id: UUID) -> None:
    await embed_pending(db, HashEmbedder(), DEFAULT_TENANT, corpus_id, silent)


async def ask(db: Database, scope: Scope, text: str, limit: int = 5) -> RetrievalResult:
    retriever = PostgresRetriever(db, HashEmbedder())
    return await retriever.retrieve(scope, RetrievalQuery(uuid4(), text, "en", limit))


def sources(result: RetrievalResult) -> list[str]:
    return [chunk.source_id for chunk in result.chunks]


async def test_text_is_searchable_before_any_vector(db: Database, scope: Scope) -> None:
    result = await ask(db, scope, "Why do cats sleep?")
    assert sources(result)[0] == "cats.md"
    assert result.chunks[0].similarity is None


async def test_vectors_join_and_say_how_similar(db: Database, scope: Scope) -> None:
    await embed(db, scope.corpus_id)
    result = await ask(db, scope, "sixteen hours")
    assert sources(result)[0] == "cats.md"
    assert sorted(sources(result)) == sorted(FILES)
    similarities = [chunk.similarity for chunk in result.chunks]
    assert similarities[0] == max(s for s in similarities if s is not None)


async def test_a_few_vectors_do_not_outvote_the_words(
    db: Database, scope: Scope, tmp_path: Path
) -> None:
    await embed(db, scope.corpus_id)
    for name in ("owls", "bats", "rats"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nThe {name} hunt at night.\n")
    await ingest_folder(db, DEFAULT_TENANT, tmp_path, "animals", silent)
    result = await ask(db, scope, "Do owls hunt at night?")
    assert sources(result)[0] == "owls.md"
    assert result.chunks[0].similarity is None


async def test_a_fragment_tells_where_it_stands(db: Database, scope: Scope) -> None:
    chunk = (await ask(db, scope, "purrs")).chunks[0]
    assert (chunk.title, chunk.heading_path, chunk.language) == ("Cats", ("Cats",), "en")
    assert chunk.text == "# Cats\n\nA cat sleeps sixteen hours a day and purrs.\n"
    assert (chunk.offsets.byte_start, chunk.offsets.byte_end) == (0, len(chunk.text))
    assert chunk.metadata == {"year": "2021"}


async def test_what_was_used_is_told(db: Database, scope: Scope) -> None:
    usage = (await ask(db, scope, "purrs")).usage
    assert (usage.provider, usage.query_count, usage.result_count, usage.billable_units) == (
        "postgres", 1, 1, 1,
    )  # fmt: skip


async def test_part_of_an_identifier_finds_it(db: Database, scope: Scope) -> None:
    assert sources(await ask(db, scope, "обработка")) == ["кони.md"]
    assert sources(await ask(db, scope, "лошадь")) == ["кони.md"]


@pytest.mark.parametrize(
    "settings",
    [
        ProfileSettings(metadata={"year": "2030"}),
        ProfileSettings(metadata={"colour": "red"}),
        ProfileSettings(source_ids=()),
        ProfileSettings(source_ids=("gone.md",)),
    ],
    ids=["no match", "unknown field", "empty list", "unknown document"],
)
@pytest.mark.parametrize("with_vectors", [False, True])
async def test_a_filter_without_a_match_finds_nothing(
    db: Database, scope: Scope, settings: ProfileSettings, with_vectors: bool
) -> None:
    if with_vectors:
        await embed(db, scope.corpus_id)
    filtered = await scope_with(db, settings, "filtered")
    assert sources(await ask(db, filtered, "cat dog")) == []


async def test_filters_let_through_what_they_name(db: Database, scope: Scope) -> None:
    await embed(db, scope.corpus_id)
    one = await scope_with(db, ProfileSettings(source_ids=("dogs.md",)), "one")
    year = await scope_with(db, ProfileSettings(metadata={"year": "2021"}), "year")
    assert sources(await ask(db, one, "cat dog")) == ["dogs.md"]
    assert len(sources(await ask(db, year, "cat dog"))) == 3


async def test_no_more_is_given_than_asked_for(db: Database, scope: Scope) -> None:
    await embed(db, scope.corpus_id)
    assert len((await ask(db, scope, "cat dog", limit=2)).chunks) == 2
    assert (await ask(db, scope, "cat dog", limit=0)).chunks == ()


@pytest.mark.parametrize(
    "question", ["?!", "'; drop table chunk; --", "%s {0} {{x}}", "\\", "a" * 8_000]
)
async def test_a_strange_question_is_only_a_question(
    db: Database, scope: Scope, question: str
) -> None:
    await embed(db, scope.corpus_id)
    assert len((await ask(db, scope, question)).chunks) == 3


async def test_a_question_is_embedded_once(db: Database, scope: Scope) -> None:
    await embed(db, scope.corpus_id)
    for _ in range(2):
        await ask(db, scope, "Why do cats sleep?")
    async with db.transaction(DEFAULT_TENANT) as tx:
        count = select(func.count()).where(EmbeddingCache.kind == "query")
        assert await tx.scalar(count) == 1


async def test_another_tenant_finds_nothing_in_a_foreign_corpus(db: Database, scope: Scope) -> None:
    foreign = Scope(**{**vars(scope), "tenant_id": LAB_TENANT})
    with pytest.raises(NotFound, match="is gone"):
        await ask(db, foreign, "cat")


async def test_an_index_search_finds_what_an_exact_one_does(db: Database, scope: Scope) -> None:
    await embed(db, scope.corpus_id)
    retriever = PostgresRetriever(db, HashEmbedder(), exact_up_to=0)
    query = RetrievalQuery(uuid4(), "sixteen hours", "en", 5)
    found = await retriever.retrieve(scope, query)
    exact = await ask(db, scope, "sixteen hours")
    assert [c.chunk_id for c in found.chunks] == [c.chunk_id for c in exact.chunks]


async def test_an_unknown_profile_is_told_with_the_known_ones(db: Database, scope: Scope) -> None:
    assert scope.abstain_below == DEFAULT_ABSTAIN_BELOW
    async with db.transaction(DEFAULT_TENANT) as tx:
        with pytest.raises(NotFound, match="'plants'; there is animals"):
            await load_scope(tx, DEFAULT_TENANT, "plants")


async def test_a_profile_is_made_once(db: Database, scope: Scope) -> None:
    again = await scope_with(db, ProfileSettings(candidates=7), "animals")
    assert again.settings.candidates == ProfileSettings().candidates
