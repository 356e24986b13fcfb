"""Genomes: what serves where, since when, and the way back."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from admin_ui.deps import OwnForm, Parts, SignedIn, text
from admin_ui.reading.genomes import load_serving
from admin_ui.templating import get_pages, load_frame
from evolution.decide import MIN_REASON_CHARS, roll_back
from kit.errors import BadInput, Conflict

router = APIRouter()


@router.get("/admin/genomes")
async def show_genomes(request: Request, parts: Parts, person: SignedIn) -> Response:
    return await _page(request, parts)


@router.post("/admin/genomes/rollback")
async def roll_genome_back(
    request: Request, parts: Parts, person: SignedIn, form: OwnForm
) -> Response:
    """Let the genome that served before serve again."""
    domain, layer, reason = (text(form, key) for key in ("domain", "layer", "reason"))
    try:
        await roll_back(parts.db, domain, layer, actor=person.name, reason=reason)
    except (BadInput, Conflict) as error:
        return await _page(request, parts, f"{domain}/{layer}", reason, error)
    return RedirectResponse(f"/admin/genomes#{domain}-{layer}", 303)


async def _page(
    request: Request,
    parts: Parts,
    place: str = "",
    reason: str = "",
    error: BadInput | Conflict | None = None,
) -> Response:
    """All that serves; beside `place` what was typed there and what stood against it."""
    async with parts.db.transaction(parts.tenant) as tx:
        serving = await load_serving(tx)
        frame = await load_frame(tx, parts)
    return get_pages(request).render(
        request,
        "genomes.html",
        status=200 if error is None else 409 if isinstance(error, Conflict) else 422,
        frame=frame,
        active="genomes",
        serving=serving,
        failed_place=place,
        reason=reason,
        error=str(error) if error else "",
        min_reason=MIN_REASON_CHARS,
    )
