"""`genoma key`, `genoma admin`: keys for clients, links for admins."""

from typing import Annotated

import typer

from lab.terminal import out, run

key_app = typer.Typer(help="API keys.", no_args_is_help=True)
admin_app = typer.Typer(help="Admins.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    app.add_typer(key_app, name="key")
    app.add_typer(admin_app, name="admin")


@key_app.command("create")
def create(
    tenant: Annotated[str, typer.Option(help="Whose key it is.")] = "default",
) -> None:
    """Make an API key. It is shown this once."""
    run(_create(tenant))


@key_app.command("revoke")
def revoke(
    prefix: Annotated[str, typer.Argument(help="How the key begins.", show_default=False)],
) -> None:
    """Revoke a key, at once and for good."""
    run(_revoke(prefix))


@admin_app.command("link")
def link() -> None:
    """Make a one-time link, valid 24 hours, with which an admin account is created."""
    run(_link())


async def _create(tenant: str) -> None:
    from accounts.keys import create_key, find_tenant
    from lab.commands.opening import opened

    async with opened() as lab, lab.db.transaction() as tx:
        key = await create_key(tx, await find_tenant(tx, tenant))
    out.print(key, markup=False)


async def _revoke(prefix: str) -> None:
    from accounts.keys import revoke_key
    from lab.commands.opening import opened

    async with opened() as lab, lab.db.transaction() as tx:
        kept = await revoke_key(tx, prefix, lab.clock)
    out.print(f"The key {kept}… is revoked.", markup=False)


async def _link() -> None:
    from lab.commands.opening import opened
    from lab.firststart import new_setup_link

    async with opened() as lab:
        path = await new_setup_link(lab, always=True)
        out.print(f"http://{lab.settings.host}:{lab.settings.port}{path}", markup=False)
