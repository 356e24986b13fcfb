"""Any OpenAI-compatible endpoint, through the official SDK. The only module that imports it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NoReturn, Protocol, TypeVar
from urllib.parse import urlsplit

import numpy as np
import openai
from pydantic import BaseModel, Field, ValidationError

from kit.chat import ChatReply, ChatRequest, Usage
from kit.embedding import Vectors
from kit.errors import Misconfigured, ProviderBusy, ProviderRefused, ProviderUnreachable
from kit.utf8 import encodable

DEFAULT_BASE_URL = "https://api.openai.com/v1"
EMBEDDING_BATCH = 64
"""Texts per call: 64 chunks of 900 characters stay far below every known limit of a request."""
_DETAIL_CHARS = 200
_FINISH: dict[str | None, Literal["stop", "length"]] = {"stop": "stop", "length": "length"}

_ReplyT = TypeVar("_ReplyT", bound=BaseModel)


class _Raw(Protocol):
    @property
    def text(self) -> str: ...


_Create = Callable[..., Awaitable[_Raw]]


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _Embedding(BaseModel):
    index: int
    embedding: list[float] = Field(min_length=1)


class _Embeddings(BaseModel):
    data: list[_Embedding]


class OpenAIChat:
    """A ChatModel behind `POST {base_url}/chat/completions`.

    `timeout_s` bounds the whole call, an endpoint that drips bytes included. Newer models
    refuse `max_tokens` or a `temperature`: what one of them names as unsupported is left out,
    or sent under its new name, from then on.
    """

    def __init__(
        self, base_url: str | None, api_key: str | None, model: str, timeout_s: float = 120
    ) -> None:
        self.name = model
        self._endpoint = _Endpoint(base_url, api_key, model, timeout_s)
        self.provider = self._endpoint.host
        self._unsupported: set[str] = set()

    async def chat(self, request: ChatRequest) -> ChatReply:
        completion = await self._complete(request)
        choice, usage = completion.choices[0], completion.usage or _Usage()
        return ChatReply(
            text=encodable(choice.message.content or ""),
            finish_reason=_FINISH.get(choice.finish_reason, "other"),
            model=self.name,
            usage=Usage(usage.prompt_tokens, usage.completion_tokens),
        )

    async def _complete(self, request: ChatRequest) -> _Completion:
        create = self._endpoint.client.chat.completions.with_raw_response.create
        while True:
            try:
                return await self._endpoint.call(create, _Completion, **self._body(request))
            except ProviderRefused as refusal:
                if not self._learns_from(refusal.__cause__):
                    raise

    def _learns_from(self, cause: BaseException | None) -> bool:
        """Note a parameter that this model does not know; tell whether that was news."""
        name = cause.param if isinstance(cause, openai.BadRequestError) else None
        if name not in ("max_tokens", "temperature") or name in self._unsupported:
            return False
        self._unsupported.add(name)
        return True

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in self._unsupported else "max_tokens"
        body: dict[str, Any] = {
            "messages": [
                {"role": m.role, "content": encodable(m.content)} for m in request.messages
            ],
            limit: request.max_tokens,
        }
        if "temperature" not in self._unsupported:
            body["temperature"] = request.temperature
        if request.json_schema is not None:
            body["response_format"] = _response_format(request.json_schema)
        return body

    async def close(self) -> None:
        await self._endpoint.client.close()


class OpenAIEmbedder:
    """An Embedder behind `POST {base_url}/embeddings`; queries and passages are sent alike."""

    def __init__(
        self, base_url: str | None, api_key: str | None, model: str, timeout_s: float = 120
    ) -> None:
        self.name = model
        self._endpoint = _Endpoint(base_url, api_key, model, timeout_s)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(texts)

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        rows: list[list[float]] = []
        for start in range(0, len(texts), EMBEDDING_BATCH):
            rows += await self._embed_batch(texts[start : start + EMBEDDING_BATCH])
        if not rows:
            return np.zeros((0, 0), dtype=np.float32)
        if len({len(row) for row in rows}) != 1:
            self._endpoint.distrust("sent vectors of different lengths")
        return self._normalise(np.asarray(rows, dtype=np.float32))

    async def _embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        # Endpoints refuse an empty text; a blank is the nearest that they take.
        texts = [encodable(text) or " " for text in texts]
        create = self._endpoint.client.embeddings.with_raw_response.create
        reply = await self._endpoint.call(create, _Embeddings, input=texts, encoding_format="float")
        by_index = {item.index: item.embedding for item in reply.data}
        if len(reply.data) != len(texts) or by_index.keys() != set(range(len(texts))):
            self._endpoint.distrust(f"sent {len(reply.data)} vectors for {len(texts)} texts")
        return [by_index[at] for at in range(len(texts))]

    def _normalise(self, vectors: Vectors) -> Vectors:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            self._endpoint.distrust("sent a vector that has no direction")
        return np.asarray(vectors / lengths, dtype=np.float32)

    async def close(self) -> None:
        await self._endpoint.client.close()


class _Endpoint:
    """One model at one base URL: makes the call, translates whatever goes wrong."""

    def __init__(
        self, base_url: str | None, api_key: str | None, model: str, timeout_s: float
    ) -> None:
        url, self._key = base_url or DEFAULT_BASE_URL, api_key or ""
        self.host = _host(url)
        if not self._key.isascii() or not self._key.isprintable():
            raise Misconfigured(f"the API key for {self.host} holds signs that no HTTP header may")
        self._where = f"the model {model!r} at {self.host}"
        self._model, self._timeout_s = model, timeout_s
        # A local server wants no key, but the SDK wants one.
        self.client = openai.AsyncOpenAI(
            base_url=url, api_key=self._key or "none", max_retries=0, timeout=timeout_s
        )

    async def call(self, create: _Create, reply_type: type[_ReplyT], **body: Any) -> _ReplyT:
        """Post and read the reply. Raises ProviderError and nothing else."""
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await create(model=self._model, **body)
        except (TimeoutError, openai.APITimeoutError) as error:
            message = f"{self._where} did not answer within {self._timeout_s:g} s"
            raise ProviderUnreachable(message) from error
        except openai.APIStatusError as error:
            self._translate(error)
        except openai.OpenAIError as error:
            raise ProviderUnreachable(f"{self._where} cannot be reached: {_root(error)}") from error
        return self._read(raw.text, reply_type)

    def _read(self, text: str, reply_type: type[_ReplyT]) -> _ReplyT:
        if not text.strip():
            self.distrust("sent an empty reply")
        try:
            data = json.loads(text)
            if isinstance(data, dict) and data.get("error"):
                self.distrust(f"sent an error instead of a reply: {self._detail(data['error'])}")
            return reply_type.model_validate(data)
        except ValidationError as error:
            self.distrust("sent a reply without what was asked for", error)
        except (ValueError, RecursionError) as error:
            self.distrust("sent something that is not JSON", error)

    def distrust(self, what: str, cause: Exception | None = None) -> NoReturn:
        raise ProviderUnreachable(f"{self._where} {what}") from cause

    def _translate(self, error: openai.APIStatusError) -> NoReturn:
        status, wait = error.status_code, _retry_after_s(error.response.headers)
        # A 401 often repeats the key, in part: it says nothing more than its number does.
        detail = "the key is refused" if status == 401 else self._detail(error.body)
        message = f"{self._where} answered HTTP {status}" + (f": {detail}" if detail else "")
        if status == 429 and error.code != "insufficient_quota":
            raise ProviderBusy(message, wait) from error
        if status < 500 and status not in (408, 409, 425):
            raise ProviderRefused(message) from error
        raise ProviderUnreachable(message, wait) from error

    def _detail(self, body: object) -> str:
        """The provider's own words on one line, without the key."""
        words = body.get("message", "") if isinstance(body, dict) else body
        if not isinstance(words, str) or "<" in words[:20]:
            return ""
        line = " ".join(encodable(words).split())[:_DETAIL_CHARS]
        return line.replace(self._key, "***") if self._key else line


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """Ask for strict JSON; the schema's `title` is the name that the API wants."""
    name = schema.get("title", "reply")
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": schema},
    }


def _host(url: str) -> str:
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


def _retry_after_s(headers: Any) -> float | None:
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


def _root(error: BaseException) -> str:
    """The first cause says what happened; the SDK's own message is 'Connection error.'"""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__
