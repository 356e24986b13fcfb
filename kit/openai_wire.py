"""What goes over the wire of an OpenAI-compatible endpoint: requests written, replies read."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from kit.chat import ChatReply, ChatRequest, Usage
from kit.errors import Misconfigured
from kit.utf8 import encodable, storable

FINISH: dict[str | None, Literal["stop", "length"]] = {"stop": "stop", "length": "length"}
"""Every other reason (a content filter, a tool call) is `other`."""


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completion(BaseModel):
    """The part of a chat reply that is read."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _Embedding(BaseModel):
    index: int
    embedding: list[float] = Field(min_length=1)


class Embeddings(BaseModel):
    """The part of an embedding reply that is read."""

    data: list[_Embedding]


def chat_body(request: ChatRequest, unsupported: frozenset[str]) -> dict[str, Any]:
    """Write a request, without the model's name and what that model calls unsupported."""
    limit = "max_completion_tokens" if "max_tokens" in unsupported else "max_tokens"
    body: dict[str, Any] = {
        "messages": [
            {"role": message.role, "content": encodable(message.content)}
            for message in request.messages
        ],
        limit: request.max_tokens,
    }
    if "temperature" not in unsupported:
        body["temperature"] = request.temperature
    if request.json_schema is not None:
        body["response_format"] = _response_format(request.json_schema)
    return body


def chat_reply(completion: Completion, model: str) -> ChatReply:
    """Read what a model said."""
    choice, usage = completion.choices[0], completion.usage or _Usage()
    return ChatReply(
        text=storable(choice.message.content or ""),
        finish_reason=FINISH.get(choice.finish_reason, "other"),
        model=model,
        usage=Usage(usage.prompt_tokens, usage.completion_tokens),
    )


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """Ask for strict JSON; the schema's `title` is the name that the API wants."""
    name = schema.get("title", "reply")
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": schema},
    }


def host_of(url: str) -> str:
    """Give host and port of a base URL. Raises Misconfigured where it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        if not parts.hostname or " " in parts.hostname:
            raise ValueError("no host")
    except (ValueError, KeyError) as error:
        raise Misconfigured(
            f"the model endpoint {_without_login(url)!r} is not a URL like http://host:port/v1"
        ) from error
    return f"{parts.hostname}:{port}"


def _without_login(url: str) -> str:
    return url.rpartition("@")[2]


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read `retry-after-ms` or `retry-after` (seconds or an HTTP date), None where absent."""
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, min(float(headers[name]) / divisor, 86_400.0))
        except (KeyError, ValueError):
            continue
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None
