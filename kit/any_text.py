"""What PostgreSQL cannot store in a text or in JSON is exchanged on its way in, in one place."""

import json
import re
from typing import Any

from psycopg.types.string import StrDumper, StrDumperUnknown
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from kit.utf8 import storable

_ESCAPED_NUL = re.compile(r"(\\\\)|\\u0000")


def dump_json(value: Any) -> str:
    """Write JSON that JSONB takes: NUL as U+2400, lone surrogates as `?`."""
    text = storable(json.dumps(value, ensure_ascii=False))
    return _ESCAPED_NUL.sub(lambda match: match[1] or "\u2400", text)


def take_any_text(engine: AsyncEngine) -> None:
    """Let every string parameter of `engine`'s connections be storable."""

    @event.listens_for(engine.sync_engine, "connect")
    def register(connection: Any, _record: Any) -> None:
        adapters = connection.driver_connection.adapters
        # The last one that is registered becomes the default.
        adapters.register_dumper(str, _StorableText)
        adapters.register_dumper(str, _Storable)


class _Storable(StrDumperUnknown):
    def dump(self, obj: str) -> bytes:
        return _encode(obj)


class _StorableText(StrDumper):
    def dump(self, obj: str) -> bytes:
        return _encode(obj)


def _encode(text: str) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return storable(text).encode()
    return storable(text).encode() if b"\0" in encoded else encoded
