"""How the lab speaks in a terminal: colours, bars, one red line when something cannot be done."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from kit.errors import GenomaError
from kit.log import configure_logging

T = TypeVar("T")
Report = Callable[[str, int, int], None]
"""(what, done, total)"""

# Lines are broken for a reader at a terminal, and never for a program at the end of a pipe.
out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command; what cannot be done is one sentence and exit code 1."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # told to end, the terminal closed: like Ctrl-C
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    # A person is told that something is tried again; at the end of a pipe one sentence is enough.
    configure_logging(logging.INFO if sys.stderr.isatty() else logging.ERROR)
    try:
        return asyncio.run(work)
    except GenomaError as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("stopped; what was done until now is kept", code=130)


def fail(sentence: str, code: int = 1) -> NoReturn:
    """Say why, in red, and end."""
    err.print(Text.assemble(("genoma:", "bold red"), " ", sentence), soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def bars() -> Iterator[Report]:
    """Show a bar for each kind of work that reports; plain lines where nobody watches."""
    if not sys.stderr.isatty():
        yield _quiet()
        return
    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True) as progress:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what)
            progress.update(tasks[what], completed=done, total=total)

        yield report


def _quiet() -> Report:
    """Say a kind of work once, when it is complete."""

    def report(what: str, done: int, total: int) -> None:
        if done == total:
            err.print(f"{what}: {total}")

    return report
