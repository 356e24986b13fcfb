"""The admin UI as one ASGI application."""

from fastapi import FastAPI
from starlette.types import ASGIApp

from admin_ui.deps import AdminParts
from admin_ui.errors import add_error_pages
from admin_ui.pages import approvals, cycles, files, genomes, home, people, playground
from admin_ui.security import Guard
from admin_ui.templating import Pages


def make_admin(parts: AdminParts) -> ASGIApp:
    """Make the pages under `/admin`. Their paths are whole: mount the result at the root,
    behind every other route (`app.mount("/", make_admin(parts))`)."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.parts = parts
    app.state.pages = Pages(parts)
    for module in (files, people, home, cycles, approvals, genomes, playground):
        app.include_router(module.router)
    add_error_pages(app)
    return Guard(app)
