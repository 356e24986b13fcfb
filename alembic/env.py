"""Run the migrations on the connection that `lab.database` hands in, or on GENOMA_MIGRATION_URL."""

from typing import Any

import pgvector.sqlalchemy
from alembic import context
from sqlalchemy import Connection, create_engine

from kit.db import psycopg_url
from kit.errors import Misconfigured
from kit.settings import load_settings
from models.tables import Base


def is_ours(obj: Any, name: str | None, kind: str, reflected: bool, compare_to: Any) -> bool:
    """Leave the job queue's own tables alone: its package brings and migrates them."""
    return not (kind == "table" and name is not None and name.startswith("procrastinate_"))


def render_item(kind: str, obj: Any, autogen_context: Any) -> str | bool:
    if kind == "type" and isinstance(obj, pgvector.sqlalchemy.Vector):
        autogen_context.imports.add("import pgvector.sqlalchemy")
        return "pgvector.sqlalchemy.Vector()"
    return False


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        include_object=is_ours,
        render_item=render_item,
    )
    with context.begin_transaction():
        context.run_migrations()


def connect_and_migrate() -> None:
    url = load_settings().migration_url
    if url is None:
        raise Misconfigured("set GENOMA_MIGRATION_URL, or use `genoma db upgrade`")
    with create_engine(psycopg_url(url.get_secret_value())).connect() as connection:
        migrate(connection)


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    connect_and_migrate()
