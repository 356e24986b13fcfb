"""Any OpenAI-compatible endpoint, through the official SDK. The only module that imports it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

import httpx2
import numpy as np
import openai
from pydantic import BaseModel, ValidationError

from kit.chat import ChatReply, ChatRequest
from kit.embedding import Vectors
from kit.errors import Misconfigured, ProviderBusy, ProviderRefused, ProviderUnreachable
from kit.openai_wire import Completion, Embeddings, chat_body, chat_reply, host_of, retry_after_s
from kit.utf8 import encodable

DEFAULT_BASE_URL = "https://api.openai.com/v1"
EMBEDDING_BATCH = 64
"""Texts per call: 64 chunks of 900 characters stay far below every known limit of a request."""
MAY_BE_BILLED = (408, 502, 504, 524)
"""Answers of a proxy that gave up waiting: what is behind it may have done the work."""
_DETAIL_CHARS = 200

_ReplyT = TypeVar("_ReplyT", bound=BaseModel)


class _Raw(Protocol):
    @property
    def text(self) -> str: ...


_Create = Callable[..., Awaitable[_Raw]]


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
        return chat_reply(await self._complete(request), self.name)

    async def _complete(self, request: ChatRequest) -> Completion:
        create = self._endpoint.client.chat.completions.with_raw_response.create
        while True:
            try:
                body = chat_body(request, frozenset(self._unsupported))
                return await self._endpoint.call(create, Completion, **body)
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

    async def close(self) -> None:
        await self._endpoint.client.close()


class OpenAIEmbedder:
    """An Embedder behind `POST {base_url}/embeddings`; queries and passages are sent alike."""

    def __init__(
        self, base_url: str | None, api_key: str | None, model: str, timeout_s: float = 120
    ) -> None:
        self.name = model
        self._endpoint = _Endpoint(base_url, api_key, model, timeout_s)
        self.provider = self._endpoint.host

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
        reply = await self._endpoint.call(create, Embeddings, input=texts, encoding_format="float")
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
        self.host = host_of(url)
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
            message = f"{self._where} cannot be reached: {_root(error)}"
            raise ProviderUnreachable(message, may_be_billed=not _is_unsent(error)) from error
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
        status, wait = error.status_code, retry_after_s(error.response.headers)
        # A 401 often repeats the key, in part: it says nothing more than its number does.
        detail = "the key is refused" if status == 401 else self._detail(error.body)
        message = f"{self._where} answered HTTP {status}" + (f": {detail}" if detail else "")
        if status == 429 and error.code != "insufficient_quota":
            raise ProviderBusy(message, wait) from error
        if status < 500 and status not in (408, 409, 425):
            raise ProviderRefused(message) from error
        billed = status in MAY_BE_BILLED
        raise ProviderUnreachable(message, wait, may_be_billed=billed) from error

    def _detail(self, body: object) -> str:
        """The provider's own words on one line, without the key."""
        words = body.get("message", "") if isinstance(body, dict) else body
        if not isinstance(words, str) or "<" in words[:20]:
            return ""
        line = " ".join(encodable(words).split())[:_DETAIL_CHARS]
        return line.replace(self._key, "***") if self._key else line


def _root(error: BaseException) -> str:
    """The first cause says what happened; the SDK's own message is 'Connection error.'"""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _is_unsent(error: BaseException | None) -> bool:
    """Tell whether no connection came about: then nothing was asked, and nothing is billed."""
    while error is not None:
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return True
        error = error.__cause__
    return False
