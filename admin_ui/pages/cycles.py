"""Cycles: the list with the form that starts one, and one cycle while it runs and after."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from admin_ui.accounts import record
from admin_ui.charts import draw_interval, draw_race
from admin_ui.deps import OwnForm, Parts, SignedIn, text
from admin_ui.reading import cycles
from admin_ui.reading.genomes import list_domains
from admin_ui.reading.paging import parse_cursor
from admin_ui.templating import get_pages, load_frame
from evolution.buying.limits import spending
from evolution.wishes import ask_to_stop
from kit.errors import BadInput, Conflict, NotFound
from models.genome import LAYERS

router = APIRouter()
MAX_NUMBER = 1_000_000


@router.get("/admin/cycles")
async def show_cycles(request: Request, parts: Parts, person: SignedIn) -> Response:
    return await _list_page(request, parts, {}, "", 200)


@router.post("/admin/cycles")
async def start_cycle(request: Request, parts: Parts, person: SignedIn, form: OwnForm) -> Response:
    """Queue a cycle and go to its page; what cannot be is said beside the form."""
    layer, domain = text(form, "layer"), text(form, "domain").strip()
    try:
        budget = _read_number(form, "budget", "the budget")
        mutations = _read_number(form, "max_mutations", "the number of mutations")
        cycle_id = await parts.start_cycle(layer, domain, budget, mutations, person.name)
    except (BadInput, NotFound, Conflict) as error:
        typed = {key: text(form, key) for key in form}
        status = 409 if isinstance(error, Conflict) else 422
        return await _list_page(request, parts, typed, str(error), status)
    async with parts.db.transaction() as tx:
        record(tx, person.name, "start cycle", f"{domain}/{layer} {cycle_id}")
    return RedirectResponse(f"/admin/cycles/{cycle_id}", 303)


@router.get("/admin/cycles/{cycle_id}")
async def show_cycle(
    request: Request, cycle_id: UUID, parts: Parts, person: SignedIn, seen: str = ""
) -> Response:
    """Show a cycle. A poll gets only the part that lives, or 204 where nothing changed."""
    return await _cycle_page(request, parts, cycle_id, seen)


@router.post("/admin/cycles/{cycle_id}/{action}")
async def act_on_cycle(
    request: Request,
    cycle_id: UUID,
    action: Literal["pause", "resume", "cancel"],
    parts: Parts,
    person: SignedIn,
    form: OwnForm,
) -> Response:
    """Pause, resume or cancel a cycle and go back to its page; what cannot be is said there."""
    try:
        if action == "resume":
            await parts.resume_cycle(cycle_id)
        else:
            async with parts.db.transaction(parts.tenant) as tx:
                await ask_to_stop(tx, cycle_id, action)
    except Conflict as error:
        return await _cycle_page(request, parts, cycle_id, problem=str(error), status=409)
    async with parts.db.transaction() as tx:
        record(tx, person.name, f"{action} cycle", str(cycle_id))
    return RedirectResponse(f"/admin/cycles/{cycle_id}", 303)


async def _cycle_page(
    request: Request,
    parts: Parts,
    cycle_id: UUID,
    seen: str = "",
    problem: str = "",
    status: int = 200,
) -> Response:
    is_poll = "hx-request" in request.headers
    async with parts.db.transaction(parts.tenant) as tx:
        cycle = await cycles.load_cycle(tx, cycle_id)
        frame = None if is_poll else await load_frame(tx, parts)
    if is_poll and seen == cycle.seen:
        return Response(status_code=204)
    proof = cycle.result.proof if cycle.result else None
    return get_pages(request).render(
        request,
        "cycle.html",
        status=status,
        block="live" if is_poll else None,
        frame=frame,
        problem=problem,
        active="cycles",
        cycle=cycle,
        outcome=cycles.outcome(cycle.row, cycle.verdict),
        race=draw_race([r.progress for r in cycle.runners]),
        interval=draw_interval(proof) if proof else None,
        spending=spending(cycle.row, parts.clock.now()),
    )


async def _list_page(
    request: Request, parts: Parts, typed: dict[str, str], error: str, status: int
) -> Response:
    cursor = parse_cursor(request.query_params.get("after", ""))
    async with parts.db.transaction(parts.tenant) as tx:
        page = await cycles.load_cycles(tx, cursor)
        verdicts = await cycles.load_verdicts(tx, page.rows)
        domains = await list_domains(tx)
        frame = await load_frame(tx, parts)
    return get_pages(request).render(
        request,
        "cycles.html",
        status=status,
        frame=frame,
        active="cycles",
        page=page,
        verdicts=verdicts,
        layers=LAYERS,
        domains=domains,
        typed=typed,
        error=error,
        outcome=cycles.outcome,
        sentence=cycles.sentence,
        parts=parts,
    )


def _read_number(form: FormData, name: str, label: str) -> int | None:
    """Read a whole number; an empty field means the default. Raises BadInput."""
    value = text(form, name).strip()
    if not value:
        return None
    if not (value.isascii() and value.isdigit()) or not 0 < int(value[:9]) <= MAX_NUMBER:
        raise BadInput(f"{label} is a whole number from 1 to {MAX_NUMBER:,}, not {value[:40]!r}")
    return int(value)
