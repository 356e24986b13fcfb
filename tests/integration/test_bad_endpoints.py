"""Every way an endpoint fails becomes one error of ours, in one sentence without the key."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.chat import ChatReply, ChatRequest, Message
from kit.errors import (
    Misconfigured,
    ProviderBusy,
    ProviderError,
    ProviderRefused,
    ProviderUnreachable,
)
from kit.openai_llm import EMBEDDING_BATCH, OpenAIChat, OpenAIEmbedder
from kit.retry import Retrying
from tests.support.openai_server import ModelServer

KEY = "the-key-nobody-may-read"
ASK = ChatRequest((Message("user", "Question: is it well?"),), 60)

FAILURES: dict[str, tuple[type[ProviderError], str]] = {
    "refused": (ProviderRefused, "answered HTTP 401: the key is refused"),
    "forbidden": (ProviderRefused, "answered HTTP 403: Country not supported"),
    "unknown": (ProviderRefused, "answered HTTP 404: The model does not exist"),
    "bad-request": (ProviderRefused, "answered HTTP 400: messages: too many"),
    "quota": (ProviderRefused, "answered HTTP 429: Quota exceeded"),
    "busy": (ProviderBusy, "answered HTTP 429: Slow down"),
    "broken": (ProviderUnreachable, "answered HTTP 500: Internal error"),
    "html-502": (ProviderUnreachable, "answered HTTP 502"),
    "html": (ProviderUnreachable, "sent something that is not JSON"),
    "cut": (ProviderUnreachable, "sent something that is not JSON"),
    "deep": (ProviderUnreachable, "sent something that is not JSON"),
    "empty": (ProviderUnreachable, "sent an empty reply"),
    "error-in-200": (ProviderUnreachable, "sent an error instead of a reply: upstream failed"),
    "no-choices": (ProviderUnreachable, "sent a reply without what was asked for"),
    "null": (ProviderUnreachable, "sent a reply without what was asked for"),
    "hang": (ProviderUnreachable, "did not answer within 0.3 s"),
    "drip": (ProviderUnreachable, "did not answer within 0.3 s"),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    with ModelServer(tmp_path / "calls.jsonl") as running:
        yield running


async def chat(url: str, model: str, timeout_s: float = 10) -> ChatReply:
    endpoint = OpenAIChat(url, KEY, model, timeout_s)
    try:
        return await endpoint.chat(ASK)
    finally:
        await endpoint.close()


@pytest.mark.parametrize(("model", "expected"), FAILURES.items(), ids=FAILURES.keys())
async def test_a_failure_says_what_and_where(
    server: ModelServer, model: str, expected: tuple[type[ProviderError], str]
) -> None:
    timeout_s = 0.3 if model in ("hang", "drip") else 10
    with pytest.raises(expected[0]) as caught:
        await chat(server.url, model, timeout_s)
    where = f"the model {model!r} at 127.0.0.1:{server.port} "
    assert str(caught.value) == where + expected[1]
    assert type(caught.value) is expected[0]
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("model", "seconds"), [("busy", 7), ("busy-ms", 1.5), ("overloaded", 3), ("broken", None)]
)
async def test_the_wait_that_was_asked_for_is_kept(
    server: ModelServer, model: str, seconds: float | None
) -> None:
    with pytest.raises(ProviderError) as caught:
        await chat(server.url, model)
    assert caught.value.retry_after_s == seconds


async def test_a_key_that_the_endpoint_repeats_is_blotted_out(server: ModelServer) -> None:
    with pytest.raises(ProviderRefused) as caught:
        await chat(server.url, "echoes-key")
    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)


async def test_nobody_at_the_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ProviderUnreachable, match=f"127.0.0.1:{port} cannot be reached: "):
        await chat(f"http://127.0.0.1:{port}/v1", "any")


async def test_a_truncated_reply_is_told_from_a_whole_one(server: ModelServer) -> None:
    assert (await chat(server.url, "truncated")).finish_reason == "length"
    assert (await chat(server.url, "ok")).finish_reason == "stop"


async def test_busy_twice_then_well_is_three_equal_calls(server: ModelServer) -> None:
    endpoint = OpenAIChat(server.url, KEY, "busy-2", 10)
    reply = await Retrying(endpoint, attempts=3, max_wait_s=1, first_wait_s=0.001).chat(ASK)
    await endpoint.close()
    assert reply.finish_reason == "stop"
    assert len(server.calls) == 3
    assert len({call.sha256 for call in server.calls}) == 1


async def test_what_a_model_calls_unsupported_is_left_out_from_then_on(server: ModelServer) -> None:
    endpoint = OpenAIChat(server.url, KEY, "picky", 10)
    for _ in range(2):
        assert (await endpoint.chat(ASK)).finish_reason == "stop"
    await endpoint.close()
    sent = [set(call.body) - {"model", "messages"} for call in server.calls]
    assert sent == [
        {"max_tokens", "temperature"},
        {"max_completion_tokens", "temperature"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]


async def test_a_cancelled_call_leaves_the_endpoint_usable(server: ModelServer) -> None:
    endpoint = OpenAIChat(server.url, KEY, "slow-200", 10)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await endpoint.chat(ASK)
    assert (await endpoint.chat(ASK)).finish_reason == "stop"
    await endpoint.close()


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://host/v1", "http://", "http://[::1", "http://a b"]
)
def test_what_is_no_address_is_found_before_any_call(url: str) -> None:
    with pytest.raises(Misconfigured, match="is not a URL like"):
        OpenAIChat(url, KEY, "any")


@pytest.mark.parametrize("key", ["ключ", "two\nlines"])
def test_a_key_that_no_header_can_carry_is_found_before_any_call(key: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        OpenAIChat("http://127.0.0.1:1/v1", key, "any")
    assert key not in str(caught.value)


@pytest.mark.parametrize("model", ["refused", "busy", "broken", "html", "empty", "no-choices"])
async def test_an_embedder_fails_in_the_same_words(server: ModelServer, model: str) -> None:
    embedder = OpenAIEmbedder(server.url, KEY, model)
    with pytest.raises(ProviderError, match=f"the model '{model}' at 127.0.0.1:{server.port} "):
        await embedder.embed_queries(["text"])
    await embedder.close()


async def test_many_texts_keep_their_order_over_several_calls(server: ModelServer) -> None:
    embedder = OpenAIEmbedder(server.url, KEY, "ok")
    texts = [f"text number {n}" for n in range(EMBEDDING_BATCH + 3)]
    together = await embedder.embed_passages(texts)
    last = await embedder.embed_passages(texts[-1:])
    await embedder.close()
    assert together[-1] == pytest.approx(last[0], abs=1e-6)
    assert [len(call.body["input"]) for call in server.calls] == [EMBEDDING_BATCH, 3, 1]
