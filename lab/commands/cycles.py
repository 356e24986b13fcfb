"""`genoma cycle`: run one and watch it, pause, cancel, go on with one, list them, look at one."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from lab.terminal import out, run

if TYPE_CHECKING:
    from evolution.wishes import Wish

cycle_app = typer.Typer(help="Cycles of evolution.", no_args_is_help=True)

CycleId = Annotated[str, typer.Argument(help="The cycle's id, or how it begins.")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(cycle_app, name="cycle")


@cycle_app.command("run")
def run_cycle(
    layer: Annotated[str, typer.Option(help="postprocess, routing or cache_policy.")],
    domain: Annotated[str, typer.Option(help="Whose genome evolves.")] = "default",
    budget: Annotated[
        int | None, typer.Option(help="Judged answers to spend.", show_default="600")
    ] = None,
    max_mutations: Annotated[int, typer.Option(help="Candidates at the most.")] = 500,
    seed: Annotated[
        int | None, typer.Option(help="Makes the draws repeatable.", show_default="random")
    ] = None,
    calls: Annotated[int | None, typer.Option(help="Model calls at the most.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Tokens at the most.")] = None,
    money: Annotated[
        float | None, typer.Option(help="Money at the most, in the currency of GENOMA_PRICES.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes at the most.")] = None,
) -> None:
    """Run one cycle here and watch it. Killed, it goes on with `genoma cycle resume`.

    A limit that is not given is as the settings have it (GENOMA_CYCLE_TOKENS and so on).
    """
    limits = {"calls": calls, "tokens": tokens, "money": money, "minutes": minutes}
    run(_run_new(layer, domain, budget, max_mutations, seed, limits))


@cycle_app.command("resume")
def resume(cycle: CycleId) -> None:
    """Go on here with a cycle that was paused, was killed or failed: nothing is paid twice."""
    run(_resume(cycle))


@cycle_app.command("pause")
def pause(cycle: CycleId) -> None:
    """Pause a cycle before its next answer; what is paid stays. `resume` goes on with it."""
    run(_stop(cycle, "pause"))


@cycle_app.command("cancel")
def cancel(cycle: CycleId) -> None:
    """End a cycle without a result, for good; what is paid serves later cycles."""
    run(_stop(cycle, "cancel"))


@cycle_app.command("list")
def list_cycles() -> None:
    """List the newest cycles."""
    run(_list())


@cycle_app.command("show")
def show(cycle: CycleId) -> None:
    """Show how a cycle stands or how it ended, on what numbers, and what it has spent."""
    run(_show(cycle))


async def _run_new(
    layer: str,
    domain: str,
    budget: int | None,
    max_mutations: int,
    seed: int | None,
    asked: dict[str, Any],
) -> None:
    from evolution.plan import CycleOrder, create_cycle, preview
    from lab.commands.opening import opened
    from lab.limits import called_models, make_limits
    from lab.watching import run_watched
    from models.tables import DEFAULT_TENANT

    async with opened() as lab:
        paid = lab.settings.cycle_budget if budget is None else budget
        limits = make_limits(lab.settings, **asked)
        called = called_models(lab.settings, lab.bare_chat)
        order = CycleOrder(layer, domain, paid, max_mutations, seed, limits=limits, called=called)
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            words = await preview(tx, order)
            cycle_id = await create_cycle(tx, DEFAULT_TENANT, order)
        out.print(words)
        assert cycle_id is not None
        await run_watched(lab, DEFAULT_TENANT, cycle_id)


async def _resume(prefix: str) -> None:
    from evolution.store import find_cycle
    from evolution.wishes import let_go_on
    from lab.commands.opening import opened
    from lab.watching import print_result, run_watched
    from models.tables import DEFAULT_TENANT

    async with opened() as lab:
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            cycle = await find_cycle(tx, prefix)
            if cycle.status != "done":
                await let_go_on(tx, cycle.id)
        if cycle.status == "done":
            print_result(cycle)
        else:
            await run_watched(lab, DEFAULT_TENANT, cycle.id)


async def _stop(prefix: str, wish: "Wish") -> None:
    from evolution.store import find_cycle
    from evolution.wishes import ask_to_stop
    from lab.commands.opening import opened
    from models.tables import DEFAULT_TENANT

    async with opened() as lab, lab.db.transaction(DEFAULT_TENANT) as tx:
        cycle = await find_cycle(tx, prefix)
        status = await ask_to_stop(tx, cycle.id, wish)
    now = "will stop before its next answer" if status == "running" else f"is {status}"
    out.print(f"Cycle {str(cycle.id)[:8]} {now}.")


async def _list() -> None:
    from sqlalchemy import select

    from lab.commands.opening import opened
    from models.tables import DEFAULT_TENANT, Cycle

    newest = select(Cycle).order_by(Cycle.created_at.desc(), Cycle.id).limit(20)
    table = Table("cycle", "domain", "layer", "status", "spent", "result", box=None)
    async with opened() as lab, lab.db.transaction(DEFAULT_TENANT) as tx:
        for c in await tx.scalars(newest):
            words = c.error or (c.result or {}).get("sentence", "")
            spent = f"{c.spent}/{c.budget}"
            table.add_row(str(c.id)[:8], c.domain, c.layer, c.status, spent, words)
    out.print(table)


async def _show(prefix: str) -> None:
    from evolution.buying.ledgers import load_lost
    from evolution.shapes import CycleProgress
    from evolution.store import find_cycle
    from lab.commands.opening import opened
    from lab.watching import load_waits, print_result, progress_table, spending_picture
    from models.tables import DEFAULT_TENANT, LAB_TENANT

    async with opened() as lab:
        async with lab.db.transaction(DEFAULT_TENANT) as tx:
            cycle = await find_cycle(tx, prefix)
            waits = await load_waits(tx) if cycle.status == "running" else []
        async with lab.db.transaction(LAB_TENANT) as tx:
            lost = await load_lost(tx, cycle.id)
        now = lab.clock.now()
    out.print(f"Cycle {cycle.id}: {cycle.layer}, domain {cycle.domain}, {cycle.status}")
    for line in waits:
        out.print(line)
    out.print(progress_table(CycleProgress.model_validate(cycle.progress)))
    out.print()
    out.print(spending_picture(cycle, lost, now))
    print_result(cycle)
