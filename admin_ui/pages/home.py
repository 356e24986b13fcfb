"""The first page: what needs somebody, what serves, what happened last and what comes next."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from admin_ui.deps import Parts, SignedIn
from admin_ui.reading import cycles
from admin_ui.reading.approvals import load_waiting
from admin_ui.reading.genomes import load_serving
from admin_ui.templating import Frame, get_pages

router = APIRouter()


@router.get("/admin")
async def show_home(request: Request, parts: Parts, person: SignedIn) -> Response:
    models = parts.models()
    async with parts.db.transaction(parts.tenant) as tx:
        waiting = await load_waiting(tx, models)
        serving = await load_serving(tx)
        running, last = await cycles.load_latest(tx)
    return get_pages(request).render(
        request,
        "home.html",
        frame=Frame(len(waiting), models),
        active="home",
        waiting=waiting,
        serving=serving,
        running=running,
        last=last,
        outcome=cycles.outcome,
        sentence=cycles.sentence,
        next_nightly=parts.next_nightly(),
    )
