"""Signing in and out, and the one-time link that makes an admin."""

import secrets
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from admin_ui import accounts
from admin_ui.deps import (
    MaybeSignedIn,
    OwnForm,
    Parts,
    SignedIn,
    check_token,
    cookie_name,
    text,
)
from admin_ui.templating import get_pages
from kit.errors import BadInput, NotAllowed, NotFound

router = APIRouter()
HOME = "/admin"
_SESSION, _BEFORE = "genoma_session", "genoma_login"


@router.get("/")
async def go_home() -> Response:
    return RedirectResponse(HOME, 307)


@router.get("/admin/login")
async def show_login(request: Request, parts: Parts, person: MaybeSignedIn) -> Response:
    """Ask for name and password, or go on where somebody is signed in already."""
    target = safe_target(request.query_params.get("next", ""))
    if person is not None:
        return RedirectResponse(target, 303)
    async with parts.db.transaction() as tx:
        known = await accounts.has_admins(tx)
    return _form_page(request, "login.html", target=target, name="", error="", is_new=not known)


@router.post("/admin/login")
async def log_in(request: Request, parts: Parts) -> Response:
    """Open a session under a new token; one answer for every way to be wrong."""
    form = await request.form()
    check_token(text(form, "csrf"), request.cookies.get(cookie_name(request, _BEFORE), ""))
    target, name = safe_target(text(form, "next")), text(form, "name")
    try:
        async with parts.db.transaction() as tx:
            token = await accounts.sign_in(tx, parts.clock, name, text(form, "password"))
    except NotAllowed as error:
        context = {"target": target, "name": name, "error": str(error), "is_new": False}
        return _form_page(request, "login.html", status=401, **context)
    return _welcome(request, token, target)


@router.get("/admin/setup")
async def show_setup(request: Request, parts: Parts) -> Response:
    """Show the form of a one-time link. Raises NotFound once it is spent."""
    token = request.query_params.get("token", "")
    async with parts.db.transaction() as tx:
        if not await accounts.is_link_open(tx, parts.clock, token):
            raise NotFound(accounts.LINK_GONE)
    return _form_page(request, "setup.html", token=token, name="", error="")


@router.post("/admin/setup")
async def set_up(request: Request, parts: Parts) -> Response:
    """Make the admin of a one-time link and sign them in."""
    form = await request.form()
    check_token(text(form, "csrf"), request.cookies.get(cookie_name(request, _BEFORE), ""))
    token, name = text(form, "token"), text(form, "name")
    try:
        if text(form, "password") != text(form, "again"):
            raise BadInput("the two passwords differ")
        async with parts.db.transaction() as tx:
            user = await accounts.use_setup_link(
                tx, parts.clock, token, name, text(form, "password")
            )
            session = await accounts.open_session(tx, parts.clock, user)
    except BadInput as error:
        context = {"token": token, "name": name, "error": str(error)}
        return _form_page(request, "setup.html", status=422, **context)
    return _welcome(request, session, HOME)


@router.post("/admin/logout")
async def log_out(request: Request, parts: Parts, person: SignedIn, _: OwnForm) -> Response:
    name = cookie_name(request, _SESSION)
    async with parts.db.transaction() as tx:
        await accounts.sign_out(tx, request.cookies[name], person.name)
    response = RedirectResponse("/admin/login", 303)
    _set_cookie(request, response, _SESSION, "", 0)
    return response


def safe_target(path: str) -> str:
    """Give `path` where it is a page of ours, else the home page."""
    inside = path == HOME or path.startswith(f"{HOME}/")
    return path if inside and "\\" not in path and "\n" not in path else HOME


def _form_page(request: Request, template: str, /, status: int = 200, **context: Any) -> Response:
    """A form for somebody who has no session: a cookie of its own carries its token."""
    token = request.cookies.get(cookie_name(request, _BEFORE)) or secrets.token_urlsafe(32)
    pages = get_pages(request)
    response = pages.render(request, template, status=status, csrf=token, **context)
    _set_cookie(request, response, _BEFORE, token, 3_600)
    return response


def _welcome(request: Request, token: str, target: str) -> Response:
    response = RedirectResponse(target, 303)
    lifetime_s = int(accounts.SESSION_LIFETIME.total_seconds())
    _set_cookie(request, response, _SESSION, token, lifetime_s)
    _set_cookie(request, response, _BEFORE, "", 0)
    return response


def _set_cookie(
    request: Request, response: Response, name: str, value: str, lifetime_s: int
) -> None:
    response.set_cookie(
        cookie_name(request, name),
        value,
        max_age=lifetime_s,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
