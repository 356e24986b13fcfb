"""Who is asked again, how often, and after how long."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from kit.chat import ChatRequest, Message
from kit.embedding import Vectors
from kit.errors import ProviderBusy, ProviderError, ProviderRefused, ProviderUnreachable
from kit.fakes import ScriptedChat
from kit.retry import Retrying, RetryingEmbedder

ASK = ChatRequest((Message("user", "?"),), 50)
TINY = 0.001


def patient(inner: ScriptedChat, attempts: int = 3, max_wait_s: float = 1) -> Retrying:
    return Retrying(inner, attempts, max_wait_s, first_wait_s=TINY)


@pytest.mark.parametrize("error", [ProviderBusy("busy", TINY), ProviderUnreachable("gone")])
async def test_a_passing_failure_is_asked_again(error: ProviderError) -> None:
    inner = ScriptedChat([error, error, "at last"])
    reply = await patient(inner).chat(ASK)
    assert (reply.text, inner.calls) == ("at last", 3)


async def test_every_attempt_asks_the_same() -> None:
    inner = ScriptedChat([ProviderUnreachable("gone"), "well"])
    await patient(inner).chat(ASK)
    assert inner.requests == [ASK, ASK]


async def test_a_refusal_is_never_asked_again() -> None:
    inner = ScriptedChat([ProviderRefused("bad key"), "not reached"])
    with pytest.raises(ProviderRefused, match="bad key"):
        await patient(inner).chat(ASK)
    assert inner.calls == 1


async def test_after_the_last_attempt_its_own_error_comes_through() -> None:
    errors = [ProviderUnreachable(f"failure {n}") for n in range(1, 5)]
    inner = ScriptedChat(errors)
    with pytest.raises(ProviderUnreachable, match="failure 3"):
        await patient(inner, attempts=3).chat(ASK)
    assert inner.calls == 3


async def test_a_busy_endpoint_is_given_the_time_it_asks_for() -> None:
    inner = ScriptedChat([ProviderBusy("busy", 0.08), "well"])
    started = asyncio.get_running_loop().time()
    await patient(inner).chat(ASK)
    assert asyncio.get_running_loop().time() - started >= 0.08


async def test_no_endpoint_makes_us_wait_longer_than_the_cap() -> None:
    inner = ScriptedChat([ProviderBusy("busy", 3600), "well"])
    async with asyncio.timeout(30):
        reply = await patient(inner, max_wait_s=TINY).chat(ASK)
    assert reply.text == "well"


async def test_names_are_those_of_the_model_within() -> None:
    model = patient(ScriptedChat([], name="small"))
    assert (model.name, model.provider) == ("small", "scripted")


class FlakyEmbedder:
    """Out of reach once, then there."""

    name = "flaky"

    def __init__(self) -> None:
        self.calls = 0

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        if self.calls == 1:
            raise ProviderUnreachable("gone")
        return np.ones((len(texts), 1), dtype=np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_queries(texts)


@pytest.mark.parametrize("method", ["embed_queries", "embed_passages"])
async def test_embedders_are_asked_again_too(method: str) -> None:
    inner = FlakyEmbedder()
    embedder = RetryingEmbedder(inner, 2, 1, first_wait_s=TINY)
    assert len(await getattr(embedder, method)(["a", "b"])) == 2
    assert (embedder.name, inner.calls) == ("flaky", 2)
