"""Migrations lead up, down and up again, and make exactly what the models say."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text

from kit.db import psycopg_url
from kit.embedded_postgres import EmbeddedPostgres
from lab.database import alembic_config, create_database, upgrade
from models.tables import Base

QUEUE = "procrastinate_"


@pytest.fixture
def owner(server: EmbeddedPostgres) -> Iterator[Engine]:
    """An empty database, as its owner."""
    name = f"m_{uuid4().hex}"
    create_database(server.url("postgres"), name)
    engine = create_engine(psycopg_url(server.url(name)))
    yield engine
    engine.dispose()
    admin = create_engine(psycopg_url(server.url("postgres")), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"drop database {name} with (force)"))
    admin.dispose()


def run(engine: Engine, direction: str, revision: str) -> None:
    with engine.begin() as connection:
        config: Config = alembic_config(connection)
        getattr(command, direction)(config, revision)


def is_ours(obj: object, name: str | None, kind: str, *_: object) -> bool:
    return not (kind == "table" and name is not None and name.startswith(QUEUE))


def tables(connection: Connection) -> set[str]:
    return {name for name in inspect(connection).get_table_names() if not name.startswith(QUEUE)}


def count_left(connection: Connection) -> int:
    """Functions, types and triggers of ours or the queue's."""
    found = connection.scalar(
        text(
            "select (select count(*) from pg_proc where pronamespace = 'public'::regnamespace "
            "and (proname like 'genoma%' or proname like 'procrastinate%')) "
            "+ (select count(*) from pg_type where typnamespace = 'public'::regnamespace "
            "and typname like 'procrastinate%')"
        )
    )
    assert isinstance(found, int)
    return found


def test_up_down_and_up_again_leaves_nothing_behind_and_everything_there(owner: Engine) -> None:
    run(owner, "upgrade", "head")
    with owner.connect() as connection:
        first = tables(connection)
    run(owner, "downgrade", "base")
    with owner.connect() as connection:
        assert tables(connection) == {"alembic_version"}
        assert count_left(connection) == 0
    run(owner, "upgrade", "head")
    with owner.connect() as connection:
        assert tables(connection) == first == {*Base.metadata.tables, "alembic_version"}


# alembic cannot compare the expressions of the vector indexes; that they are there, it can.
@pytest.mark.filterwarnings("ignore:Expression #1")
def test_models_and_migrations_agree(owner: Engine) -> None:
    run(owner, "upgrade", "head")
    with owner.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": is_ours})
        assert compare_metadata(context, Base.metadata) == []


def test_every_migration_has_one_successor_and_a_way_back(owner: Engine) -> None:
    with owner.connect() as connection:
        script = ScriptDirectory.from_config(alembic_config(connection))
    assert len(script.get_heads()) == 1
    for revision in script.walk_revisions():
        assert callable(revision.module.downgrade)


def test_migrating_again_changes_nothing(owner: Engine) -> None:
    url = owner.url.render_as_string(hide_password=False)
    upgrade(url, "genoma_app")
    with owner.begin() as connection:
        connection.execute(text("insert into setup_link values ('kept', now(), now(), null)"))
    upgrade(url, "genoma_app")
    with owner.connect() as connection:
        assert connection.scalar(text("select token_hash from setup_link")) == "kept"
