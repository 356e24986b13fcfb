"""Templates: one environment, escaped throughout, and what every page is given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2_fragments.fastapi import Jinja2Blocks
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from admin_ui import words
from admin_ui.deps import AdminParts
from admin_ui.reading.approvals import count_waiting
from admin_ui.worddiff import diff_words

FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Frame:
    """What stands around every page: how much waits, and which models are in use."""

    waiting: int
    models: dict[str, str]


class Pages:
    """Renders templates. One environment, made with the app."""

    def __init__(self, parts: AdminParts) -> None:
        environment = Environment(
            loader=FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(_filters(parts))
        environment.globals.update(static=parts.static.url, diff_words=diff_words)
        self._templates = Jinja2Blocks(env=environment)

    def render(
        self,
        request: Request,
        template: str,
        /,
        *,
        block: str | None = None,
        status: int = 200,
        **context: Any,
    ) -> Response:
        """Render a template, or one block of it, as the answer to `request`."""
        person = getattr(request.state, "person", None)
        full = {"person": person, "frame": None, "active": "", **context}
        return self._templates.TemplateResponse(
            request, template, full, status_code=status, block_name=block
        )


def get_pages(request: Request) -> Pages:
    pages: Pages = request.app.state.pages
    return pages


async def load_frame(tx: AsyncSession, parts: AdminParts) -> Frame:
    return Frame(await count_waiting(tx), parts.models())


def _filters(parts: AdminParts) -> dict[str, Any]:
    return {
        "ago": lambda then: words.ago(then, parts.clock.now()),
        "moment": lambda value: words.moment(value, parts.zone),
        "signed": words.signed,
        "number": words.number,
        "span": words.span,
        "plural": words.plural,
        "sentence_case": words.sentence_case,
        "gene_value": words.gene_value,
        "status_kind": words.status_kind,
        "status_word": words.status_word,
        "is_built_in": words.is_built_in,
        "model_name": words.model_name,
    }
