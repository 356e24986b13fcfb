"""`genoma genome list` and `lineage`, `genoma rollback`: what serves, whence, and back."""

from typing import Annotated

import typer
from rich.table import Table

from lab.terminal import out, run

genome_app = typer.Typer(help="The genomes.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    app.add_typer(genome_app, name="genome")
    app.command()(rollback)


@genome_app.command("list")
def list_genomes(
    everything: Annotated[bool, typer.Option("--all", help="Also what does not serve.")] = False,
) -> None:
    """List the active genomes of all domains and layers."""
    run(_list(everything))


@genome_app.command("lineage")
def show_lineage(
    layer: Annotated[str, typer.Option(help="postprocess, routing or cache_policy.")],
    domain: Annotated[str, typer.Option(help="Which domain.")] = "default",
) -> None:
    """Show who came from whom, how, what it gained and what became of it."""
    run(_lineage(domain, layer))


def rollback(
    layer: Annotated[str, typer.Option(help="postprocess, routing or cache_policy.")],
    reason: Annotated[str, typer.Option(help="Why, in at least 10 characters.")],
    domain: Annotated[str, typer.Option(help="Which domain.")] = "default",
) -> None:
    """Let the genome that served before the active one serve again."""
    run(_roll_back(domain, layer, reason))


async def _list(everything: bool) -> None:
    from sqlalchemy import select

    from lab.commands.opening import opened
    from models.genome import short_name
    from models.lifecycle import Status
    from models.tables import EvolutionGenome

    order = select(EvolutionGenome).order_by(
        EvolutionGenome.domain,
        EvolutionGenome.layer,
        EvolutionGenome.created_at,
        EvolutionGenome.id,
    )
    async with opened() as lab, lab.db.transaction() as tx:
        rows = await tx.scalars(order if everything else order.filter_by(status=Status.ACTIVE))
        table = Table("domain", "layer", "genome", "status", "made by", "notes", box=None)
        for row in rows:
            name = short_name(row.content_hash)
            table.add_row(row.domain, row.layer, name, row.status, row.operator, row.notes)
    out.print(table)


async def _lineage(domain: str, layer: str) -> None:
    from rich.text import Text
    from rich.tree import Tree

    from evolution.breeding.lineage import load_lineage
    from kit.errors import BadInput
    from lab.commands.opening import opened
    from models.genome import LAYERS
    from models.tables import DEFAULT_TENANT

    known = {str(each): each for each in LAYERS}
    if layer not in known:
        raise BadInput(f"there is no layer {layer!r}: it is one of {', '.join(LAYERS)}")
    async with opened() as lab, lab.db.transaction(DEFAULT_TENANT) as tx:
        lineage = await load_lineage(tx, domain, known[layer])
    tree = Tree(f"{domain}/{layer}: {len(lineage.nodes)} genomes")
    branches = {node.genome_id: Tree(Text(node.told())) for node in lineage.nodes}
    for node in lineage.nodes:
        parent = branches.get(node.parent_id, tree) if node.parent_id else tree
        parent.children.append(branches[node.genome_id])
    out.print(tree)


async def _roll_back(domain: str, layer: str, reason: str) -> None:
    from evolution.decide import roll_back
    from lab.commands.opening import opened

    async with opened() as lab:
        name = await roll_back(lab.db, domain, layer, actor="command line", reason=reason)
    out.print(f"[bold]{name}[/] serves again in domain {domain}, layer {layer}.")
