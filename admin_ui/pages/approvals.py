"""Approvals: what waits, what was proven, and the decision."""

from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from admin_ui.charts import draw_histogram, draw_interval
from admin_ui.deps import OwnForm, Parts, SignedIn, text
from admin_ui.reading.approvals import load_approval, load_approvals
from admin_ui.reading.paging import parse_cursor
from admin_ui.templating import get_pages, load_frame
from evolution.decide import MIN_REASON_CHARS, approve, reject
from kit.errors import BadInput, Conflict

router = APIRouter()
SHOWN_FIRST = 12


@router.get("/admin/approvals")
async def show_approvals(request: Request, parts: Parts, person: SignedIn) -> Response:
    cursor = parse_cursor(request.query_params.get("after", ""))
    async with parts.db.transaction(parts.tenant) as tx:
        page = await load_approvals(tx, cursor, parts.models())
        frame = await load_frame(tx, parts)
    return get_pages(request).render(
        request, "approvals.html", frame=frame, active="approvals", page=page
    )


@router.get("/admin/approvals/{approval_id}")
async def show_approval(
    request: Request, approval_id: UUID, parts: Parts, person: SignedIn
) -> Response:
    return await _page(request, parts, approval_id)


@router.post("/admin/approvals/{approval_id}/approve")
async def approve_genome(
    request: Request, approval_id: UUID, parts: Parts, person: SignedIn, form: OwnForm
) -> Response:
    """Let the promoted genome serve. What stands against it is said on the page."""
    reason = text(form, "reason")
    try:
        await approve(
            parts.db,
            parts.tenant,
            approval_id,
            actor=person.name,
            reason=reason,
            models=parts.models(),
        )
    except (BadInput, Conflict) as error:
        return await _page(request, parts, approval_id, reason, error)
    return RedirectResponse(f"/admin/approvals/{approval_id}", 303)


@router.post("/admin/approvals/{approval_id}/reject")
async def reject_genome(
    request: Request, approval_id: UUID, parts: Parts, person: SignedIn, form: OwnForm
) -> Response:
    """Turn the promoted genome down for good."""
    reason = text(form, "reason")
    try:
        await reject(parts.db, parts.tenant, approval_id, actor=person.name, reason=reason)
    except (BadInput, Conflict) as error:
        return await _page(request, parts, approval_id, reason, error)
    return RedirectResponse(f"/admin/approvals/{approval_id}", 303)


async def _page(
    request: Request,
    parts: Parts,
    approval_id: UUID,
    reason: str = "",
    error: BadInput | Conflict | None = None,
) -> Response:
    """The page as the store has it now, with what was typed and what stood against it."""
    async with parts.db.transaction(parts.tenant) as tx:
        view = await load_approval(tx, approval_id, parts.models())
        frame = await load_frame(tx, parts)
    shows_all = "all" in request.query_params
    return get_pages(request).render(
        request,
        "approval.html",
        status=200 if error is None else 409 if isinstance(error, Conflict) else 422,
        frame=frame,
        active="approvals",
        view=view,
        interval=draw_interval(view.line.proof),
        histogram=draw_histogram(view.deltas),
        comparisons=view.comparisons if shows_all else view.comparisons[:SHOWN_FIRST],
        reason=reason,
        error=str(error) if error else "",
        is_conflict=isinstance(error, Conflict),
        min_reason=MIN_REASON_CHARS,
    )
