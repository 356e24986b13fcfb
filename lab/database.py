"""Which database the lab works on, brought to the newest schema before anyone uses it."""

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError

from kit.db import psycopg_url
from kit.embedded_postgres import EmbeddedPostgres
from kit.errors import Misconfigured
from kit.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
SERVICE_LOGIN = "genoma_app"
_MIGRATION_LOCK = 7_305_221  # any number, as long as every process takes the same


@dataclass(frozen=True)
class DatabaseUrls:
    """`service` is the login without power; `owner` migrates and is absent where not given."""

    service: str
    owner: str | None
    embedded: EmbeddedPostgres | None = None


def open_database(settings: Settings) -> DatabaseUrls:
    """Start or find the server, migrate it, and check that the service's login is powerless.

    Raises Misconfigured with one sentence where any of this cannot be.
    """
    urls = _locate(settings)
    used = urls.owner or urls.service
    try:
        if urls.owner:
            upgrade(urls.owner, service_login=make_url(psycopg_url(urls.service)).username)
        used = urls.service
        check_service_login(used)
    except DBAPIError as error:
        raise Misconfigured(_unusable(used, error)) from error
    return urls


def _locate(settings: Settings) -> DatabaseUrls:
    if settings.database_url is not None:
        owner = settings.migration_url
        return DatabaseUrls(
            settings.database_url.get_secret_value(), owner.get_secret_value() if owner else None
        )
    server = EmbeddedPostgres(settings.home / "postgres")
    create_database(server.url("postgres"), "genoma")
    return DatabaseUrls(server.url(user=SERVICE_LOGIN), server.url(), server)


def create_database(owner_url: str, name: str) -> None:
    """Create the database `name` on the server of `owner_url`, unless it is there."""
    engine = create_engine(psycopg_url(owner_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        known = text("select 1 from pg_database where datname = :name")
        if not connection.scalar(known, {"name": name}):
            connection.execute(text(f'create database "{name}"'))
    engine.dispose()


def upgrade(owner_url: str, service_login: str | None) -> None:
    """Migrate to the newest schema; of several processes one does it and the others wait.

    Raises Misconfigured, and touches nothing, where the database belongs to another program.
    """
    engine = create_engine(psycopg_url(owner_url))
    with engine.begin() as connection:
        connection.execute(text(f"select pg_advisory_xact_lock({_MIGRATION_LOCK})"))
        _check_ours(connection)
        command.upgrade(alembic_config(connection), "head")
        if service_login:
            _admit(connection, service_login)
    engine.dispose()


def _check_ours(connection: Connection) -> None:
    name = connection.engine.url.database
    known = {each.revision for each in _scripts(connection).walk_revisions()}
    found = MigrationContext.configure(connection).get_current_heads()
    if unknown := set(found) - known:
        raise Misconfigured(
            f"the database {name!r} has the schema {min(unknown)!r}, which this version of Genoma "
            "does not know"
        )
    if not found and (foreign := _tables(connection)):
        raise Misconfigured(
            f"the database {name!r} holds tables of another program ({', '.join(foreign[:3])}): "
            "give Genoma an empty one"
        )


def _tables(connection: Connection) -> list[str]:
    """List the tables of the schema that we would write into, without those of extensions."""
    found = connection.scalars(
        text(
            "select relname from pg_class c where relnamespace = current_schema()::regnamespace "
            "and relkind in ('r', 'p') and relname <> 'alembic_version' and not exists "
            "(select from pg_depend where objid = c.oid and deptype = 'e') order by relname"
        )
    )
    return list(found)


def _scripts(connection: Connection) -> ScriptDirectory:
    return ScriptDirectory.from_config(alembic_config(connection))


def alembic_config(connection: Connection) -> Config:
    config = Config(ROOT / "alembic.ini")
    config.attributes["connection"] = connection
    return config


def _admit(connection: Connection, login: str) -> None:
    """Make the service's login if there is none, and a member of the service role."""
    quoted = connection.dialect.identifier_preparer.quote(login)
    known = text("select 1 from pg_roles where rolname = :name")
    if not connection.scalar(known, {"name": login}):
        connection.execute(text(f"create role {quoted} login nosuperuser nobypassrls"))
    connection.execute(text(f"grant genoma_service to {quoted}"))


def check_service_login(service_url: str) -> None:
    """Refuse a login that could see past row-level security, or a schema that is not ours."""
    engine = create_engine(psycopg_url(service_url))
    with engine.connect() as connection:
        _check_schema(connection)
        _check_powerless(connection)
    engine.dispose()


def _check_schema(connection: Connection) -> None:
    head = _scripts(connection).get_current_head()
    try:
        found = MigrationContext.configure(connection).get_current_revision()
    except DBAPIError as error:
        raise Misconfigured(f"the schema version cannot be read: {error.orig}") from error
    if found != head:
        raise Misconfigured(
            f"the database {connection.engine.url.database!r} has schema {found or 'none'} where "
            f"{head} is needed: set GENOMA_MIGRATION_URL to its owner's URL and the same database, "
            "and start again"
        )


def _check_powerless(connection: Connection) -> None:
    powerful = connection.scalar(
        text(
            "select exists (select from pg_roles where pg_has_role(current_user, oid, 'member') "
            "and (rolsuper or rolbypassrls)) or exists (select from pg_class c "
            "where c.relname = 'cycle' and pg_has_role(current_user, c.relowner, 'member'))"
        )
    )
    if powerful:
        raise Misconfigured(
            f"GENOMA_DATABASE_URL logs in as {connection.engine.url.username!r}, which can see "
            "past row-level security: give a login that is only a member of genoma_service, and "
            "the owner's URL as GENOMA_MIGRATION_URL"
        )


def _unusable(used: str, error: DBAPIError) -> str:
    url: URL = make_url(psycopg_url(used))
    reason = str(error.orig).strip().splitlines()[0]
    return f"the database at {url.render_as_string(hide_password=True)} cannot be used: {reason}"
