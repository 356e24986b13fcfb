"""Shared ground of all tests: a real embedded server, one fresh migrated database per test."""

import os
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
from hypothesis import settings
from sqlalchemy import create_engine, text

from kit.db import Database, make_engine, psycopg_url
from kit.embedded_postgres import EmbeddedPostgres
from kit.log import configure_logging
from lab.database import SERVICE_LOGIN, DatabaseUrls, create_database, upgrade
from tests.support.folders import short_folder

# Machines that are shared stall now and then: a slow example is no failure.
settings.register_profile("usual", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=2_000)
settings.load_profile("usual")


@pytest.fixture(autouse=True)
def no_real_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a model or a lab of the machine it runs on: all is handed in."""
    for name in list(os.environ):
        if name.startswith(("GENOMA_", "OPENAI_")) and not name.startswith("GENOMA_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def plain_logs() -> None:
    """Log as a process of the lab does: a traceback drawn with all its locals takes seconds."""
    configure_logging()


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """One server for the session, in a folder that no other test run cleans away."""
    with short_folder("genoma-test-") as folder:
        started = EmbeddedPostgres(folder / "data")
        create_database(started.url("postgres"), "genoma_template")
        upgrade(started.url("genoma_template"), SERVICE_LOGIN)
        _hurry(started)
        yield started
        started.stop()


def _hurry(server: EmbeddedPostgres) -> None:
    """No test pulls the plug of this server: it need not wait for the disk."""
    with create_engine(psycopg_url(server.url("postgres"))).begin() as connection:
        connection.execute(text(f"alter role {SERVICE_LOGIN} set synchronous_commit = off"))


@pytest.fixture
def database_urls(server: EmbeddedPostgres) -> Iterator[DatabaseUrls]:
    """A database of its own, copied from the migrated template."""
    name = f"t_{uuid4().hex}"
    admin = create_engine(psycopg_url(server.url("postgres")), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"create database {name} template genoma_template"))
    yield DatabaseUrls(server.url(name, SERVICE_LOGIN), server.url(name), server)
    with admin.connect() as connection:
        connection.execute(text(f"drop database {name} with (force)"))
    admin.dispose()


@pytest.fixture
async def db(database_urls: DatabaseUrls) -> AsyncIterator[Database]:
    database = Database(make_engine(database_urls.service))
    yield database
    await database.close()
