"""A model's JSON, read strictly: either what was asked for, or UnreadableReply with the reason."""

import json
import re
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from kit.chat import ChatReply
from kit.errors import UnreadableReply

MAX_BYTES = 200_000
MAX_DEPTH = 32

_ModelT = TypeVar("_ModelT", bound=BaseModel)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[\w+-]*\s*(?=[{\[])")
_JSON_LIKE = re.compile(r"[{}\[\]]|`{3}|~{3}")


def read_model(reply: ChatReply, model: type[_ModelT]) -> _ModelT:
    """Read a reply as one object of `model`, with pydantic's strict rules.

    Nothing is converted: a number in a string, `true` for a number, a value out of range or
    an unknown field (where the model forbids them) raises UnreadableReply.
    """
    value = read_json(reply.text, reply.finish_reason)
    try:
        # Strict rules for JSON, not for Python: an array is a tuple, a string may be an enum.
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise UnreadableReply(
            f"the reply does not fit {model.__name__}: {_first(error)}"
        ) from error


def read_json(text: str, finish_reason: str) -> object:
    """Read the one JSON value of a reply; only a code fence around it is taken off.

    Prose may surround a fenced block, but no other bracket or fence. Raises UnreadableReply
    where the reply was cut off, is empty, larger than 200 kB, nested deeper than 32 levels,
    holds more than one value, NaN, Infinity or a repeated key, or is no JSON object or array.
    """
    if finish_reason != "stop":
        raise UnreadableReply(f"the reply was not finished (finish_reason={finish_reason})")
    # Four bytes is the most that a character takes: no long text is encoded just to be measured.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise UnreadableReply(f"the reply is larger than {MAX_BYTES // 1000} kB")
    clean = text.removeprefix("\ufeff").strip()
    if not clean:
        raise UnreadableReply("the reply is empty")
    if clean[0] not in "{[":
        return _unfence(clean)
    value, end = _decode(clean, 0)
    if end != len(clean):
        raise UnreadableReply("the reply goes on after its JSON")
    return value


def _unfence(text: str) -> object:
    """Read the JSON in the only fence of `text`.

    The JSON itself tells where it ends, so that backticks inside a string are no fence.
    """
    opening = _FENCE.search(text)
    if opening is None:
        raise UnreadableReply("the reply is not JSON")
    value, end = _decode(text, opening.end())
    closing = re.compile(r"\s*" + opening[1]).match(text, end)
    if closing is None:
        raise UnreadableReply("the reply holds a code fence that is not closed after its JSON")
    if _JSON_LIKE.search(text[: opening.start()] + text[closing.end() :]):
        raise UnreadableReply("the reply holds more than one thing that could be its JSON")
    return value


def _decode(text: str, start: int) -> tuple[object, int]:
    """Give the JSON value that begins at `start`, and where it ends."""
    _check_depth(text[start:])
    try:
        value, end = _DECODER.raw_decode(text, start)
        # Once around: 1e999 is read as infinity, and half a surrogate pair as a character.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:
        raise UnreadableReply(f"the reply is not valid JSON: {error}") from error
    return value, end


def _check_depth(text: str) -> None:
    """Refuse absurd nesting before a recursive parser meets it."""
    depth, in_string, escaped = 0, False, False
    for sign in text:
        if in_string:
            in_string = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            in_string = True
        elif sign in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise UnreadableReply(f"the reply is nested deeper than {MAX_DEPTH} levels")
        elif sign in "}]":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: parsers differ in which of its values they believe."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableReply("the reply repeats a key within one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise UnreadableReply(f"the reply holds {name}, which is not a number")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the whole"
    return f"{where}: {first['msg']}"


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)
