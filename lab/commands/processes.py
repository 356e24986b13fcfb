"""`genoma run`, `web`, `work`, `db`: the processes of the lab and its database."""

import typer

from lab.terminal import out, run

db = typer.Typer(help="The database.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    app.command("run")(run_lab)
    app.command("web")(run_web)
    app.command("work")(run_work)
    app.add_typer(db, name="db")


def run_lab() -> None:
    """Start everything on this machine: database, web and worker. Ctrl-C ends it."""
    from lab.supervise import supervise

    run(supervise())


def run_web() -> None:
    """Start one web process: the API and the admin pages."""
    from kit.settings import load_settings
    from lab.supervise import serve
    from lab.wiring import open_lab

    async def work() -> None:
        await serve(open_lab(load_settings()))

    run(work())


def run_work() -> None:
    """Work for the lab, on any number of machines: run cycles, share them, keep the nights."""
    from kit.log import configure_logging
    from kit.settings import load_settings
    from lab.supervise import die_with_parent
    from lab.wiring import open_lab
    from lab.worker import listen_for_the_end, work

    die_with_parent()

    async def start() -> None:
        configure_logging()
        told = listen_for_the_end()
        await work(open_lab(load_settings()), told)

    run(start())


@db.command()
def upgrade() -> None:
    """Bring the database to the newest schema."""
    _open_database()
    out.print("The database has the newest schema.")


@db.command()
def check() -> None:
    """Say whether the database can be used, and by which login."""
    login, server = _open_database()
    out.print(f"The database is ready: {server}. The service logs in as {login}, without power.")


def _open_database() -> tuple[str, str]:
    from sqlalchemy.engine import make_url

    from kit.db import psycopg_url
    from kit.settings import load_settings
    from lab.database import open_database

    async def work() -> tuple[str, str]:
        urls = open_database(load_settings())
        url = make_url(psycopg_url(urls.service))
        where = (
            "embedded PostgreSQL" if urls.embedded else f"PostgreSQL at {url.host or 'a socket'}"
        )
        return str(url.username), where

    return run(work())
