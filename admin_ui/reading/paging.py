"""Pages of a list by keyset: newest first, each row once, whatever arrives meanwhile."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Select, tuple_

from kit.errors import NotFound

PAGE_SIZE = 10
T = TypeVar("T")


@dataclass(frozen=True)
class Cursor:
    """The last row of the page before: rows after it are older, or equally old by id."""

    created_at: datetime
    id: UUID

    def __str__(self) -> str:
        return f"{self.created_at.timestamp():.6f}_{self.id}"


@dataclass(frozen=True)
class Page(Generic[T]):
    rows: tuple[T, ...]
    total: int
    older: Cursor | None
    is_first: bool


def parse_cursor(text: str) -> Cursor | None:
    """Read what `str(cursor)` wrote; empty means the first page. Raises NotFound."""
    if not text:
        return None
    stamp, _, identity = text.partition("_")
    try:
        return Cursor(datetime.fromtimestamp(float(stamp)).astimezone(), UUID(identity))
    except (ValueError, OverflowError, OSError) as error:
        raise NotFound(f"there is no page {text!r}") from error


def page_after(query: Select[Any], table: Any, cursor: Cursor | None) -> Select[Any]:
    """Order by (created_at, id), newest first, and take one row more than a page."""
    order = (table.created_at.desc(), table.id.desc())
    query = query.order_by(*order).limit(PAGE_SIZE + 1)
    return query.where(_older(table, cursor)) if cursor else query


def cut(rows: list[Any], cursor: Cursor | None, total: int) -> Page[Any]:
    """Make the page of rows read by `page_after`."""
    shown = tuple(rows[:PAGE_SIZE])
    last = shown[-1] if len(rows) > PAGE_SIZE else None
    older = Cursor(last.created_at, last.id) if last is not None else None
    return Page(shown, total, older, cursor is None)


def _older(table: Any, cursor: Cursor) -> ColumnElement[bool]:
    return tuple_(table.created_at, table.id) < tuple_(cursor.created_at, cursor.id)
