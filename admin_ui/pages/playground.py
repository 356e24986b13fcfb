"""The playground: ask as a client would, and see how the answer came about."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from admin_ui.answers import cut_at_citations, timeline
from admin_ui.deps import OwnForm, Parts, SignedIn, text
from admin_ui.reading.genomes import list_profiles
from admin_ui.templating import get_pages, load_frame
from kit.errors import BadInput, GenomaError, NotFound, ProviderError, TooLong
from models.contract import MAX_QUESTION_CHARS
from pipeline.state import State

router = APIRouter()


@router.get("/admin/playground")
async def show_playground(request: Request, parts: Parts, person: SignedIn) -> Response:
    return await _page(request, parts, "", request.query_params.get("profile", ""))


@router.post("/admin/playground")
async def ask_question(request: Request, parts: Parts, person: SignedIn, form: OwnForm) -> Response:
    """Answer one question under a profile, with the genomes that serve now."""
    question, profile = text(form, "question"), text(form, "profile")
    try:
        _check(question)
        state = await parts.ask(question, profile)
    except GenomaError as error:
        return await _page(request, parts, question, profile, error=error)
    return await _page(request, parts, question, profile, state=state)


def _check(question: str) -> None:
    if not question.strip():
        raise BadInput("write a question")
    if len(question) > MAX_QUESTION_CHARS:
        raise TooLong(
            f"a question has at most {MAX_QUESTION_CHARS:,} characters, this one {len(question):,}"
        )


async def _page(
    request: Request,
    parts: Parts,
    question: str,
    profile: str,
    *,
    state: State | None = None,
    error: GenomaError | None = None,
) -> Response:
    async with parts.db.transaction(parts.tenant) as tx:
        profiles = await list_profiles(tx)
        frame = await load_frame(tx, parts)
    answer = state.answer if state else None
    return get_pages(request).render(
        request,
        "playground.html",
        status=_status(error),
        frame=frame,
        active="playground",
        profiles=profiles,
        profile=profile,
        question=question[: 2 * MAX_QUESTION_CHARS],
        state=state,
        answer=answer,
        pieces=cut_at_citations(answer) if answer else (),
        steps=timeline(state.steps) if state else (),
        chunks={c.chunk_id: c for c in state.retrieval.chunks} if state and state.retrieval else {},
        error=str(error) if error else "",
    )


def _status(error: GenomaError | None) -> int:
    kinds = ((TooLong, 413), (BadInput, 422), (NotFound, 422), (ProviderError, 502))
    if error is None:
        return 200
    return next((status for kind, status in kinds if isinstance(error, kind)), 409)
