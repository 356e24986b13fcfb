"""What the model calls of one task cost: collected where they are made, booked where it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from kit.chat import ChatModel, ChatReply, ChatRequest, Usage


@dataclass(frozen=True)
class MeteredCall:
    provider: str
    model: str
    usage: Usage


_calls: ContextVar[list[MeteredCall] | None] = ContextVar("metered_calls", default=None)


@contextmanager
def metering() -> Iterator[list[MeteredCall]]:
    """Collect the calls that Metered models make inside, in this task and those it starts."""
    calls: list[MeteredCall] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


class Metered:
    """A ChatModel whose calls are collected by the `metering` around them, if there is one."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def provider(self) -> str:
        return self._inner.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await self._inner.chat(request)
        calls = _calls.get()
        if calls is not None:
            calls.append(MeteredCall(self.provider, reply.model, reply.usage))
        return reply
