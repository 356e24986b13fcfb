"""Errors as pages: what happened, what it means for the reader, and where to go."""

from urllib.parse import quote

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from admin_ui.deps import ForeignForm, SignInNeeded
from admin_ui.templating import get_pages
from kit.errors import NotFound, Unavailable

_log = structlog.get_logger()


def add_error_pages(app: FastAPI) -> None:
    """Give each kind of error its page."""
    app.add_exception_handler(SignInNeeded, _to_login)
    app.add_exception_handler(ForeignForm, _foreign_form)
    app.add_exception_handler(NotFound, _not_found)
    app.add_exception_handler(RequestValidationError, _not_found)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Unavailable, _unavailable)
    app.add_exception_handler(Exception, _failure)


async def _to_login(request: Request, _: Exception) -> Response:
    """Send to the login, and back afterwards; a poll sends the whole page there."""
    target = request.url.path if request.method == "GET" else "/admin"
    address = f"/admin/login?next={quote(target)}"
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"hx-redirect": address})
    return RedirectResponse(address, 303)


async def _foreign_form(request: Request, _: Exception) -> Response:
    return _page(
        request,
        403,
        "This form is out of date",
        "You signed in or out since the page was opened, so nothing was changed. "
        "Go back, reload the page and send the form again.",
    )


async def _not_found(request: Request, error: Exception) -> Response:
    sentence = str(error) if isinstance(error, NotFound) else ""
    return _page(request, 404, "Nothing here", sentence or "There is no page at this address.")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return await _not_found(request, error)
    return _page(request, error.status_code, "That did not work", str(error.detail))


async def _unavailable(request: Request, error: Exception) -> Response:
    _log.warning("page not served", path=request.url.path, reason=str(error))
    sentence = "The database is out of reach at the moment. Try again in a minute."
    return _page(request, 503, "Not now", sentence)


async def _failure(request: Request, error: Exception) -> Response:
    request_id = getattr(request.state, "request_id", "unknown")
    _log.error("page failed", request_id=request_id, path=request.url.path, exc_info=error)
    return _page(
        request,
        500,
        "Something broke",
        f"Nothing was changed by this request. The log has the details under {request_id}.",
    )


def _page(request: Request, status: int, title: str, sentence: str) -> Response:
    return get_pages(request).render(
        request, "error.html", status=status, title=title, sentence=sentence
    )
