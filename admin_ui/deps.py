"""What the pages are given: the parts of the lab, and who is asking."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request
from starlette.datastructures import FormData

from admin_ui.accounts import Person, find_person
from admin_ui.static_files import StaticFiles, load_static_files
from kit.clock import Clock, SystemClock
from kit.db import Database
from pipeline.state import State

Ask = Callable[[str, str], Awaitable[State]]
"""(question, profile) -> the state after the last step. Raises kit.errors.GenomaError."""
StartCycle = Callable[[str, str, int | None, int | None, str], Awaitable[UUID]]
"""(layer, domain, budget, max_mutations, actor) -> id of the queued cycle. Raises BadInput."""
ResumeCycle = Callable[[UUID], Awaitable[None]]
"""Lets a paused or failed cycle go on. Raises Conflict, NotFound."""


@dataclass(frozen=True)
class AdminParts:
    """Everything the pages need of the lab, handed in once."""

    db: Database
    tenant: UUID
    ask: Ask
    start_cycle: StartCycle
    resume_cycle: ResumeCycle
    models: Callable[[], dict[str, str]]
    """Role -> name of the model in use, as an approval binds them."""
    next_nightly: Callable[[], datetime | None]
    clock: Clock = field(default_factory=SystemClock)
    zone: tzinfo = UTC
    """The zone in which times are shown; its name stands beside them."""
    static: StaticFiles = field(default_factory=load_static_files)
    cycle_budget: int = 600
    max_mutations: int = 500
    least_budget: int = 288


class SignInNeeded(Exception):
    """The page is for admins, and nobody is signed in."""


class ForeignForm(Exception):
    """A form without the token of the session that sends it."""


def cookie_name(request: Request, name: str) -> str:
    """Give the name of a cookie: bound to host and TLS wherever TLS is used."""
    return f"__Host-{name}" if request.url.scheme == "https" else name


def get_parts(request: Request) -> AdminParts:
    parts: AdminParts = request.app.state.parts
    return parts


Parts = Annotated[AdminParts, Depends(get_parts)]


async def get_person(request: Request, parts: Parts) -> Person | None:
    token = request.cookies.get(cookie_name(request, "genoma_session"))
    if not token:
        return None
    async with parts.db.transaction() as tx:
        return await find_person(tx, parts.clock, token)


MaybeSignedIn = Annotated[Person | None, Depends(get_person)]


async def require_person(request: Request, person: MaybeSignedIn) -> Person:
    """Give who is signed in, also to the error pages. Raises SignInNeeded."""
    if person is None:
        raise SignInNeeded
    request.state.person = person
    return person


SignedIn = Annotated[Person, Depends(require_person)]


async def require_form(request: Request, person: SignedIn) -> FormData:
    """Read a form of the session's own. Raises ForeignForm where its token is another's."""
    form = await request.form()
    check_token(text(form, "csrf") or request.headers.get("x-csrf-token", ""), person.csrf_token)
    return form


OwnForm = Annotated[FormData, Depends(require_form)]


def check_token(given: str, expected: str) -> None:
    """Raise ForeignForm unless both are the same token."""
    if not expected or not secrets.compare_digest(given.encode(), expected.encode()):
        raise ForeignForm


def text(form: FormData, name: str) -> str:
    """Read a text field; what is absent, or is a file, is empty."""
    value = form.get(name)
    return value.replace("\x00", "") if isinstance(value, str) else ""
