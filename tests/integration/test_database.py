"""Which database is taken, which is refused, and what the store itself holds on to."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from evolution.genomes import Origin, add_genome, deploy, get_active, seed_genomes
from kit.db import Database, make_engine, psycopg_url
from kit.embedded_postgres import EmbeddedPostgres
from kit.errors import Conflict, Misconfigured, Unavailable
from kit.settings import Settings
from lab.database import DatabaseUrls, create_database, open_database, upgrade
from models.defaults import DEFAULT_GENOMES
from models.lifecycle import Status
from models.tables import (
    DEFAULT_TENANT,
    Corpus,
    Cycle,
    EvolutionEvalResult,
    EvolutionGenome,
    Profile,
)
from pipeline.active import DEFAULT_DOMAIN


@pytest.fixture
def elsewhere(server: EmbeddedPostgres) -> Iterator[str]:
    """The name of an empty database on what stands for somebody else's server."""
    name = f"other_{uuid4().hex}"
    create_database(server.url("postgres"), name)
    yield name
    with as_owner(server, "postgres").connect() as connection:
        connection.execute(text(f"drop database {name} with (force)"))


def as_owner(server: EmbeddedPostgres, database: str) -> Engine:
    return create_engine(psycopg_url(server.url(database)), isolation_level="AUTOCOMMIT")


def settings(service: str, owner: str | None = None) -> Settings:
    return Settings(
        database_url=SecretStr(service), migration_url=SecretStr(owner) if owner else None
    )


def refusal(service: str, owner: str | None = None) -> str:
    """The one sentence with which the database is refused."""
    with pytest.raises(Misconfigured) as caught:
        open_database(settings(service, owner))
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


async def test_another_server_is_migrated_by_its_owner_and_served_by_a_powerless_login(
    server: EmbeddedPostgres, elsewhere: str
) -> None:
    urls = open_database(settings(server.url(elsewhere, "another_app"), server.url(elsewhere)))
    assert urls.embedded is None
    database = Database(make_engine(urls.service))
    async with database.transaction() as tx:
        assert await tx.scalar(text("select current_user")) == "another_app"
        assert await tx.scalar(text("select count(*) from tenant")) == 2
    await database.close()


def test_a_migrated_server_needs_no_owner_url(server: EmbeddedPostgres, elsewhere: str) -> None:
    upgrade(server.url(elsewhere), "genoma_app")
    urls = open_database(settings(server.url(elsewhere, "genoma_app")))
    assert urls.owner is None


def test_a_superuser_is_refused_as_the_services_login(
    server: EmbeddedPostgres, elsewhere: str
) -> None:
    sentence = refusal(server.url(elsewhere), server.url(elsewhere))
    assert "GENOMA_DATABASE_URL logs in as 'postgres'" in sentence
    assert "past row-level security" in sentence


def test_a_login_that_may_become_the_owner_is_refused(
    server: EmbeddedPostgres, elsewhere: str
) -> None:
    upgrade(server.url(elsewhere), "sly_app")
    with as_owner(server, elsewhere).connect() as connection:
        connection.execute(text("grant postgres to sly_app"))
    try:
        assert "'sly_app'" in refusal(server.url(elsewhere, "sly_app"))
    finally:
        with as_owner(server, elsewhere).connect() as connection:
            connection.execute(text("revoke postgres from sly_app"))


def test_a_closed_port_is_named_and_the_password_is_not() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    sentence = refusal(f"postgresql://app:hush@127.0.0.1:{port}/genoma")
    assert f"127.0.0.1:{port}" in sentence
    assert "refused" in sentence
    assert "hush" not in sentence


def test_a_database_that_is_not_there_is_named(server: EmbeddedPostgres) -> None:
    assert 'database "nowhere" does not exist' in refusal(server.url("nowhere"))


def test_an_empty_database_without_an_owners_url_is_refused(
    server: EmbeddedPostgres, elsewhere: str
) -> None:
    sentence = refusal(server.url(elsewhere))
    assert "has schema none" in sentence
    assert "GENOMA_MIGRATION_URL" in sentence


def test_a_database_full_of_somebody_elses_tables_is_left_alone(
    server: EmbeddedPostgres, elsewhere: str
) -> None:
    with as_owner(server, elsewhere).connect() as connection:
        connection.execute(text("create table question (id int)"))
    sentence = refusal(server.url(elsewhere, "genoma_app"), server.url(elsewhere))
    assert "tables of another program" in sentence
    with as_owner(server, elsewhere).connect() as connection:
        found = connection.scalars(
            text("select relname from pg_class where relnamespace = 'public'::regnamespace")
        )
        assert found.all() == ["question"]


def test_a_schema_that_another_programs_migrations_made_is_refused(
    server: EmbeddedPostgres, elsewhere: str
) -> None:
    with as_owner(server, elsewhere).connect() as connection:
        connection.execute(text("create table alembic_version (version_num varchar(32))"))
        connection.execute(text("insert into alembic_version values ('somebody-else')"))
    sentence = refusal(server.url(elsewhere, "genoma_app"), server.url(elsewhere))
    assert "'somebody-else'" in sentence


@pytest.mark.parametrize("url", ["mysql://u@h/d", "genoma.db", "http://127.0.0.1/"])
def test_a_url_of_something_else_is_refused(url: str) -> None:
    assert "is not a PostgreSQL URL" in refusal(url)


def test_a_url_that_cannot_be_read_is_not_printed_with_its_password() -> None:
    assert "hidden" not in refusal("postgres:hidden@h/db")


def test_a_home_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="embedded database"):
        open_database(Settings(home=tmp_path / "file"))


async def candidate(db: Database, chunk_count: int) -> EvolutionGenome:
    genome = DEFAULT_GENOMES["postprocess"].model_copy(update={"chunk_count": chunk_count})
    async with db.transaction() as tx:
        row, _ = await add_genome(tx, DEFAULT_DOMAIN, genome, Origin(operator="typed"))
    return row


async def test_a_genomes_content_cannot_change_even_by_its_owner(
    db: Database, database_urls: DatabaseUrls
) -> None:
    row = await candidate(db, 3)
    assert database_urls.owner
    owner = Database(make_engine(database_urls.owner))
    with pytest.raises(DBAPIError, match="a genome is immutable"):
        async with owner.transaction() as tx:
            await tx.execute(
                text("update evolution_genome set content = '{}' where id = :id"), {"id": row.id}
            )
    await owner.close()


async def test_the_service_may_change_a_genomes_status_and_nothing_else(db: Database) -> None:
    await candidate(db, 3)
    async with db.transaction() as tx:
        await tx.execute(text("update evolution_genome set status = 'rejected'"))
    for change in ("set notes = 'x'", "set domain = 'x'"):
        with pytest.raises(DBAPIError, match="permission denied"):
            async with db.transaction() as tx:
                await tx.execute(text(f"update evolution_genome {change}"))
    with pytest.raises(DBAPIError, match="permission denied"):
        async with db.transaction() as tx:
            await tx.execute(text("delete from evolution_genome"))


@pytest.mark.parametrize(
    "table",
    [
        "approval",
        "approval_decision",
        "audit_log",
        "deployment",
        "evolution_eval_result",
        "ledger_entry",
        "trace",
    ],
)
async def test_the_books_can_be_added_to_and_never_rewritten(db: Database, table: str) -> None:
    for statement in (f"update {table} set created_at = now()", f"delete from {table}"):
        with pytest.raises(DBAPIError, match="permission denied"):
            async with db.transaction(DEFAULT_TENANT) as tx:
                await tx.execute(text(statement))


async def test_one_genome_is_active_in_a_domain_and_layer(db: Database) -> None:
    rows = [await candidate(db, 3), await candidate(db, 5)]
    with pytest.raises(IntegrityError, match="uq_evolution_genome_active"):
        async with db.transaction() as tx:
            for row in rows:
                await tx.execute(
                    text("update evolution_genome set status = 'active' where id = :id"),
                    {"id": row.id},
                )


async def test_seeding_twice_seeds_once(db: Database) -> None:
    async with db.transaction() as tx:
        assert await seed_genomes(tx) == 4
        assert await seed_genomes(tx) == 0
        active = await get_active(tx, DEFAULT_DOMAIN, "routing")
    assert active is not None
    assert active.status is Status.ACTIVE


async def test_a_rejected_genome_never_comes_back(db: Database) -> None:
    row = await candidate(db, 3)
    async with db.transaction() as tx:
        row = await tx.get_one(EvolutionGenome, row.id)
        row.status = Status.REJECTED
        with pytest.raises(Conflict, match="cannot go from rejected to active"):
            await deploy(tx, row, action="approve", actor="ada", reason="because we can")


async def test_eval_results_go_with_their_genome(db: Database, database_urls: DatabaseUrls) -> None:
    row = await candidate(db, 3)
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="c")
        tx.add(corpus)
        await tx.flush()
        profile = Profile(
            tenant_id=DEFAULT_TENANT, name="p", domain="p", corpus_id=corpus.id, settings={}
        )
        tx.add(profile)
        await tx.flush()
        cycle = Cycle(
            tenant_id=DEFAULT_TENANT,
            layer="postprocess",
            domain="p",
            profile_id=profile.id,
            seed=1,
            budget=600,
            max_mutations=3,
        )
        tx.add(cycle)
        await tx.flush()
        tx.add(eval_result(row, cycle))
    assert database_urls.owner
    engine = create_engine(psycopg_url(database_urls.owner))
    with engine.begin() as connection:
        connection.execute(text("delete from evolution_genome where id = :id"), {"id": row.id})
        assert connection.scalar(text("select count(*) from evolution_eval_result")) == 0
    engine.dispose()


def eval_result(row: EvolutionGenome, cycle: Cycle, **changes: object) -> EvolutionEvalResult:
    columns: dict[str, object] = {
        "tenant_id": DEFAULT_TENANT,
        "genome_id": row.id,
        "cycle_id": cycle.id,
        "question_id": uuid4(),
        "phase": "search",
        "query": "q",
        "response": "r",
        "judge_score": 7.0,
        "criteria": {},
        "judge_reasoning": "",
        "judge_raw": "",
        "latency_ms": 1.0,
        "answer_key": "k",
    }
    return EvolutionEvalResult(**{**columns, **changes})


async def test_more_tasks_than_connections_wait_for_one_and_are_told_when_none_comes(
    database_urls: DatabaseUrls,
) -> None:
    small = Database(make_engine(database_urls.service, pool_size=1, wait_s=0.5))

    async def hold_it(seconds: float) -> None:
        async with small.transaction() as tx:
            await tx.execute(text("select 1"))
            await asyncio.sleep(seconds)

    await asyncio.gather(hold_it(0.1), hold_it(0.1))
    with pytest.raises(Unavailable, match="in use"):
        await asyncio.gather(hold_it(2), hold_it(0))
    await small.close()
