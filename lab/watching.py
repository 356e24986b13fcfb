"""A cycle as one watches it in a terminal: phase, bar, candidates, and how it ended."""

import asyncio
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from sqlalchemy.ext.asyncio import AsyncSession

from accounts.endpoints import load_closed
from evolution.buying.hands import Desks
from evolution.buying.ledgers import Lost
from evolution.buying.limits import spending
from evolution.shapes import CandidateProgress, CycleProgress, CycleResult
from evolution.store import load_cycle
from kit.errors import Stopped, Unavailable
from lab.jobs import make_jobs
from lab.running import run_held
from lab.terminal import err, out
from lab.wiring import Lab
from models.tables import Cycle

LOOK_EVERY_S = 0.5
_STYLES = {"incumbent": "bold", "racing": "cyan", "dropped": "dim", "finalist": "bold green"}


async def run_watched(lab: Lab, tenant: UUID, cycle_id: UUID) -> None:
    """Run a cycle in this process and show it live. Raises what the cycle raises."""
    try:
        await _run_and_show(lab, tenant, cycle_id)
    except Stopped as stopped:
        how = "go on with `genoma cycle resume`" if stopped.wish == "pause" else "for good"
        out.print(f"Cycle {str(cycle_id)[:8]} was stopped: {how}.")
        return
    cycle = await _load(lab, tenant, cycle_id)
    out.print(progress_table(CycleProgress.model_validate(cycle.progress)))
    print_result(cycle)


async def _run_and_show(lab: Lab, tenant: UUID, cycle_id: UUID) -> None:
    desks = Desks()
    jobs = make_jobs(lab, desks)
    async with jobs.open_async():
        running = asyncio.create_task(run_held(lab, jobs, desks, tenant, cycle_id))
        try:
            with Live(console=err, refresh_per_second=4, transient=True) as live:
                while not running.done():
                    await asyncio.wait({running}, timeout=LOOK_EVERY_S)
                    with suppress(Unavailable):  # for a while, perhaps
                        live.update(await _load_picture(lab, tenant, cycle_id))
        finally:
            running.cancel()
            await asyncio.wait({running})
        await running


def print_result(cycle: Cycle) -> None:
    """Print the sentence and the numbers of a cycle that ended, or why it failed."""
    if cycle.error:
        out.print(Text(f"Failed: {cycle.error}", style="red"))
    if cycle.result is None:
        return
    result = CycleResult.model_validate(cycle.result)
    out.print(Text(f"\n{result.sentence}", style="bold"))
    if result.proof:
        p = result.proof
        out.print(
            f"{p.better} better, {p.same} same, {p.worse} worse, {p.missing} missing; "
            f"{p.incumbent_mean:.2f} → {p.candidate_mean:.2f} of 10; "
            f"look {p.look} of {len(p.looks)}"
        )
        if result.search_gain is not None:
            out.print(f"gain in the search {result.search_gain:+.2f}, in the proof {p.gain:+.2f}")
    for line in filter(None, (result.session, result.alert)):
        out.print(Text(line))
    for refusal in result.refused:
        out.print(Text(f"refused ({refusal.operator}): {refusal.reason}", style="yellow"))
    saved = f"; {result.saved_answers} answers saved by the cache" if result.saved_answers else ""
    out.print(
        f"[dim]Cycle {str(cycle.id)[:8]}: {result.tried} tried, {cycle.spent} of {cycle.budget} "
        f"judged answers, {result.seconds:.0f} s{saved}[/]"
    )
    if result.outcome == "promoted":
        out.print("An approval waits: open /admin/approvals")


def progress_table(progress: CycleProgress) -> Table:
    """One line a genome: who it is, what changed, and how it stands."""
    table = Table("genome", "state", "answered", "mean", "Δ", box=None, pad_edge=False)
    table.add_column("change", overflow="fold")
    for candidate in sorted(progress.candidates, key=_place):
        style = _STYLES[candidate.state]
        table.add_row(*_cells(candidate), style=style)
    return table


def spending_picture(cycle: Cycle, lost: Lost, now: datetime) -> RenderableType:
    """One line a unit: what was spent, of how much; then the calls that were lost in flight."""
    table = Table("spent", "", "limit", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    for unit in spending(cycle, now):
        table.add_row(unit.noun, unit.spent, unit.limit or "–")
    words = f"calls lost in flight: {lost.calls}; counted as spent, with {lost.tokens:,} tokens"
    return Group(table, *([Text(words, style="yellow")] if lost.calls else []))


def _cells(c: CandidateProgress) -> tuple[str, ...]:
    mean = "–" if c.mean is None else f"{c.mean:.2f}"
    delta = "" if c.delta is None else f"{c.delta:+.2f}"
    missing = c.answered - c.scored
    answered = f"{c.answered}" + (f" ({missing} unscored)" if missing else "")
    return c.name, c.state, answered, mean, delta, c.note


def _place(c: CandidateProgress) -> tuple[int, int, float]:
    first = ("incumbent", "finalist", "racing", "dropped").index(c.state)
    return first, -c.answered, -(c.delta or 0.0)


async def _load_picture(lab: Lab, tenant: UUID, cycle_id: UUID) -> RenderableType:
    async with lab.db.transaction(tenant) as tx:
        cycle = await load_cycle(tx, cycle_id)
        waits = await load_waits(tx)
    progress = CycleProgress.model_validate(cycle.progress)
    return Group(*_head(cycle, progress), *waits, progress_table(progress))


async def load_waits(tx: AsyncSession) -> list[Text]:
    """One line for each model endpoint that the lab stays away from, and why."""
    closed = await load_closed(tx)
    return [Text(f"waiting {e.seconds:.0f} s more: {e.reason}", style="yellow") for e in closed]


def _head(cycle: Cycle, progress: CycleProgress) -> tuple[RenderableType, RenderableType]:
    head = Text.assemble(
        (f"{cycle.layer} ", "bold"),
        f"in {cycle.domain}: {progress.phase}, {cycle.spent} of {cycle.budget} judged answers",
        (f", {progress.unscored} unscored" if progress.unscored else "", "yellow"),
        (f", {progress.failed} failed" if progress.failed else "", "red"),
    )
    return head, ProgressBar(total=max(1, cycle.budget), completed=cycle.spent, width=60)


async def _load(lab: Lab, tenant: UUID, cycle_id: UUID) -> Cycle:
    async with lab.db.transaction(tenant) as tx:
        return await load_cycle(tx, cycle_id)
