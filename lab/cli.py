"""The command line: `genoma --help`."""

import typer

from lab.commands import admin, cycles, documents, genomes, processes

app = typer.Typer(
    name="genoma",
    help="A genetic-evolution lab for RAG pipelines.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

processes.add_to(app)
documents.add_to(app)
cycles.add_to(app)
genomes.add_to(app)
admin.add_to(app)


def main() -> None:
    """Entry point of the console script."""
    app()
