"""The first page: what needs somebody, what serves, what happened last and what comes next."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from admin_ui.deps import Parts, SignedIn
from admin_ui.reading import cycles
from admin_ui.reading.approvals import load_waiting
from admin_ui.reading.genomes import load_serving
from admin_ui.templating import get_pages, load_frame

router = APIRouter()


@router.get("/admin")
async def show_home(request: Request, parts: Parts, person: SignedIn) -> Response:
    async with parts.db.transaction(parts.tenant) as tx:
        waiting = await load_waiting(tx, parts.models())
        frame = await load_frame(tx, parts)
        serving = await load_serving(tx)
        unfinished = await cycles.load_unfinished(tx)
        last = await cycles.load_last(tx)
        verdicts = await cycles.load_verdicts(tx, [last] if last else [])
    return get_pages(request).render(
        request,
        "home.html",
        frame=frame,
        active="home",
        waiting=waiting,
        serving=serving,
        unfinished=unfinished,
        last=last,
        verdict=verdicts.get(last.id) if last else None,
        outcome=cycles.outcome,
        sentence=cycles.sentence,
        next_nightly=parts.next_nightly(),
    )
