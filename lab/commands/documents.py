"""`genoma ingest`, `import beir`, `ask`: documents in, answers out."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lab.terminal import bars, out, run

import_app = typer.Typer(help="Bring documents and question sets in.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The folder to read.", show_default=False)]
CorpusName = Annotated[
    str | None,
    typer.Option("--corpus", help="Name of the corpus.", show_default="the folder's name"),
]


def add_to(app: typer.Typer) -> None:
    app.command()(ingest)
    app.command()(ask)
    app.command()(forget)
    app.add_typer(import_app, name="import")


def ingest(folder: Folder, corpus: CorpusName = None) -> None:
    """Take all Markdown and text files of a folder into a corpus."""
    run(_take(folder, folder.resolve().name if corpus is None else corpus, beir=False))


@import_app.command("beir")
def import_beir(folder: Folder, corpus: CorpusName = None) -> None:
    """Import documents, questions and judgements in BEIR layout.

    The folder holds corpus.jsonl, queries.jsonl and qrels/*.tsv; metadata.answer of a query
    is its reference answer.
    """
    run(_take(folder, folder.resolve().name if corpus is None else corpus, beir=True))


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.", show_default=False)],
    profile: Annotated[str, typer.Option(help="Which profile answers.")] = "default",
) -> None:
    """Ask a question and see the answer with its sources and genomes."""
    run(_ask(question, profile))


def forget(
    document: Annotated[
        str, typer.Argument(help="Its id: the path within the folder.", show_default=False)
    ],
    corpus: Annotated[str, typer.Option(help="The corpus that holds it.")],
) -> None:
    """Remove a document, with its vectors and every stored answer that it fed."""
    run(_forget(document, corpus))


async def _forget(document: str, name: str) -> None:
    from corpus.store import find_corpus, forget_document
    from lab.commands.opening import opened
    from models.tables import DEFAULT_TENANT

    async with opened() as lab, lab.db.transaction(DEFAULT_TENANT) as tx:
        await forget_document(tx, await find_corpus(tx, name), document)
    out.print(f"{document} is gone from the corpus {name}.", markup=False)


async def _take(folder: Path, name: str, *, beir: bool) -> None:
    from lab.commands.opening import opened
    from lab.library import complete_corpus, take_beir, take_folder
    from models.tables import DEFAULT_TENANT

    take = take_beir if beir else take_folder
    async with opened() as lab:
        with bars() as report:
            result = await take(lab, DEFAULT_TENANT, folder, name, report)
            await complete_corpus(lab, DEFAULT_TENANT, name, report)
    for source, reason in result.skipped:
        out.print(f"[yellow]skipped[/] {source}: {reason}", soft_wrap=True)
    for source, note in result.notes:
        out.print(f"[dim]{source}: {note}[/]", soft_wrap=True)
    out.print(
        f"Corpus [bold]{name}[/]: {result.added} added, {result.changed} changed, "
        f"{result.unchanged} unchanged, {len(result.skipped)} skipped; {result.chunks} fragments."
    )
    out.print(f'Ask it: genoma ask --profile {shlex.quote(name)} "…"', markup=False)


async def _ask(question: str, profile: str) -> None:
    from lab.commands.opening import opened
    from lab.wiring import Asker
    from models.tables import DEFAULT_TENANT

    async with opened() as lab:
        state = await Asker(lab, origin="live").ask(DEFAULT_TENANT, profile, question)
    answer = state.answer
    assert answer is not None
    out.print(f"\n{answer.answer}\n", markup=False)
    for source in answer.sources:
        place = f"[{source.number}] {source.title} — {source.url_or_internal_ref}"
        out.print(place, style="cyan", markup=False)
    for warning in answer.warnings:
        out.print(f"! {warning}", style="yellow", markup=False)
    names = ", ".join(f"{layer} {name}" for layer, name in state.genomes.names().items())
    cached = " (from the cache)" if state.from_cache else ""
    out.print(f"\nBy {answer.reader}{cached}; genomes: {names}", style="dim", markup=False)
