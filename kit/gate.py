"""The port through which a call asks whether it may go to its endpoint now."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from kit.chat import ChatModel, ChatReply, ChatRequest
from kit.embedding import Embedder, Vectors

_T = TypeVar("_T")


class Gate(Protocol):
    """Stands before an endpoint. `run` awaits `call()` when it may be made, perhaps again."""

    async def run(self, call: Callable[[], Awaitable[_T]]) -> _T: ...


class OpenGate:
    """Lets every call through at once."""

    async def run(self, call: Callable[[], Awaitable[_T]]) -> _T:
        return await call()


class GatedChat:
    """A ChatModel whose calls go through a gate."""

    def __init__(self, inner: ChatModel, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def provider(self) -> str:
        return self._inner.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        return await self._gate.run(lambda: self._inner.chat(request))


class GatedEmbedder:
    """An Embedder whose calls go through a gate."""

    def __init__(self, inner: Embedder, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    @property
    def name(self) -> str:
        return self._inner.name

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._gate.run(lambda: self._inner.embed_queries(texts))

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self._gate.run(lambda: self._inner.embed_passages(texts))
