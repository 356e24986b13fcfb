"""The one owner of retries: nothing below or above it asks a model endpoint again."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import stamina

from kit.chat import ChatModel, ChatReply, ChatRequest
from kit.embedding import Embedder, Vectors
from kit.errors import ProviderBusy, ProviderError, ProviderUnreachable

_T = TypeVar("_T")

PASSING = (ProviderBusy, ProviderUnreachable)
"""Failures that may be over at the next attempt."""


class Backoff:
    """How often and how patiently to ask again.

    A busy endpoint is given the time that it asks for, at most `max_wait_s`; else the waits
    grow as `first_wait_s` x 2^n with as much jitter. A refusal is never repeated, nor is what
    is not in `on`: of a busy endpoint the lab's leases take care.
    """

    def __init__(
        self,
        attempts: int,
        max_wait_s: float,
        first_wait_s: float = 0.5,
        on: tuple[type[ProviderError], ...] = PASSING,
    ) -> None:
        self._attempts = attempts
        self._on = on
        self._max_wait_s = max_wait_s
        self._first_wait_s = first_wait_s

    async def run(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Await `call()` until it succeeds; after the last attempt its own error comes through."""
        async for attempt in stamina.retry_context(
            on=self._decide,
            attempts=self._attempts,
            timeout=None,
            wait_initial=self._first_wait_s,
            wait_max=self._max_wait_s,
            wait_jitter=self._first_wait_s,
        ):
            with attempt:
                result = await call()
        return result

    def _decide(self, error: Exception) -> bool | float:
        """Tell stamina whether to go on, or after how many seconds."""
        if not isinstance(error, self._on):
            return False
        if error.retry_after_s is None:
            return True
        return min(error.retry_after_s, self._max_wait_s)


class Retrying:
    """A ChatModel that asks again where its endpoint is busy or out of reach."""

    def __init__(
        self,
        inner: ChatModel,
        attempts: int = 5,
        max_wait_s: float = 60,
        first_wait_s: float = 0.5,
        on: tuple[type[ProviderError], ...] = PASSING,
    ) -> None:
        self._inner = inner
        self._backoff = Backoff(attempts, max_wait_s, first_wait_s, on)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def provider(self) -> str:
        return self._inner.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        return await self._backoff.run(lambda: self._inner.chat(request))


class RetryingEmbedder:
    """An Embedder that asks again where its endpoint is busy or out of reach."""

    def __init__(
        self,
        inner: Embedder,
        attempts: int = 5,
        max_wait_s: float = 60,
        first_wait_s: float = 0.5,
        on: tuple[type[ProviderError], ...] = PASSING,
    ) -> None:
        self._inner = inner
        self._backoff = Backoff(attempts, max_wait_s, first_wait_s, on)

    @property
    def name(self) -> str:
        return self._inner.name

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._backoff.run(lambda: self._inner.embed_queries(texts))

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self._backoff.run(lambda: self._inner.embed_passages(texts))
