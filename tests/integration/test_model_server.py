"""The test server itself: it plays every role, and its log outlives what it is asked by."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evolution.breeding.components import component_of, components_of
from evolution.breeding.evidence import Evidence
from evolution.breeding.proposals import propose
from judge.llm_judge import LlmJudge
from judge.port import Exam
from judge.verdict import Verdict
from kit.chat import ChatRequest, Message
from kit.openai_llm import OpenAIChat
from kit.structured import read_json
from models.contract import Answer, Chunk, Reference
from models.defaults import DEFAULT_GENOMES
from models.diff import changed_genes
from models.genome import LAYERS, Layer
from tests.support.openai_server import ModelServer, model_process, read_log

PROMPT = (
    "Fragments:\n[1] A cycle is one run.\n[2] The incumbent serves now. It rains.\n\n"
    "Question: Who serves now?"
)
NOTHING_SEEN = Evidence(failures=(), dialogues=(), tried=())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    with ModelServer(tmp_path / "calls.jsonl") as running:
        yield running


def ask(text: str, title: str = "", **properties: object) -> ChatRequest:
    schema = {"title": title, "type": "object", "properties": properties} if title else None
    return ChatRequest((Message("user", text),), 500, 0.0, schema)


async def test_the_reader_quotes_the_sentence_that_answers(server: ModelServer) -> None:
    endpoint = OpenAIChat(server.url, None, "ok")
    reply = await endpoint.chat(ask(PROMPT, "answer", answer={"type": "string"}))
    assert read_json(reply.text, "stop") == {"answer": "The incumbent serves now. [2]"}
    await endpoint.close()


def exam(answer: str, reference: Reference) -> Exam:
    chunk = Chunk(
        chunk_id="c", source_id="s", title="Serving", url_or_internal_ref="s", text="It serves."
    )
    return Exam("Who serves?", "en", Answer(answer=answer), (chunk,), reference)


@pytest.mark.parametrize(
    ("answer", "reference", "score"),
    [
        ("The incumbent serves now.", Reference(answer="the incumbent serves now"), 10),
        ("The incumbent, for ever.", Reference(answer="the incumbent serves now"), 5),
        ("Bread needs salt.", Reference(answer="the incumbent serves now"), 0),
        ("Nothing is known.", Reference(answerable=False), 10),
        ("The incumbent [1].", Reference(answerable=False), 0),
        ("Somebody serves.", Reference(), 5),
    ],
)
async def test_the_judge_counts_the_words_of_the_reference(
    server: ModelServer, answer: str, reference: Reference, score: float
) -> None:
    endpoint = OpenAIChat(server.url, None, "ok")
    verdict = await LlmJudge(endpoint).judge(exam(answer, reference))
    assert isinstance(verdict, Verdict)
    assert verdict.score == score
    await endpoint.close()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do I start it?", "how_to"),
        ("¿Por qué no arranca?", "explanation"),
        ("Как это работает?", "how_to"),
        ("When was it built?", "factual_lookup"),
    ],
)
async def test_the_router_goes_by_keywords(
    server: ModelServer, question: str, expected: str
) -> None:
    endpoint = OpenAIChat(server.url, None, "ok")
    kinds = {"enum": ["factual_lookup", "explanation", "how_to", "bsl_help"]}
    reply = await endpoint.chat(ask(f"Question: {question}", "query_type", query_type=kinds))
    assert read_json(reply.text, "stop") == {"query_type": expected}
    await endpoint.close()


@pytest.mark.parametrize("layer", LAYERS)
async def test_the_mutator_proposes_valid_genomes_of_every_layer(
    server: ModelServer, layer: Layer
) -> None:
    endpoint = OpenAIChat(server.url, None, "ok")
    incumbent = DEFAULT_GENOMES[layer]
    variants = [await propose(endpoint, incumbent, NOTHING_SEEN, n) for n in range(1, 5)]
    assert all(genome != incumbent for genome, _notes in variants)
    assert len({genome.model_dump_json() for genome, _notes in variants}) == 4
    await endpoint.close()


@pytest.mark.parametrize("layer", LAYERS)
async def test_the_mutator_edits_each_component_in_turn(server: ModelServer, layer: Layer) -> None:
    endpoint = OpenAIChat(server.url, None, "ok")
    incumbent = DEFAULT_GENOMES[layer]
    for number, part in enumerate(components_of(incumbent, frozenset()), start=1):
        genome, _ = await propose(endpoint, incumbent, NOTHING_SEEN, number, "component")
        changed = {component_of(c.path, incumbent) for c in changed_genes(incumbent, genome)}
        assert changed == {part}
    await endpoint.close()


async def test_a_handler_may_be_exchanged_while_it_runs(server: ModelServer) -> None:
    endpoint = OpenAIChat(server.url, None, "ok")
    server.handlers["verdict"] = lambda call: f"{call.model} says no"
    reply = await endpoint.chat(ask("?", "verdict"))
    assert reply.text == "ok says no"
    await endpoint.close()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[str]:
    with model_process(tmp_path / "calls.jsonl") as url:
        yield url


async def test_a_server_outside_logs_every_call(outside: str, tmp_path: Path) -> None:
    endpoint = OpenAIChat(outside, None, "ok")
    for text in ("first", "second", "first"):
        await endpoint.chat(ask(text))
    await endpoint.close()
    calls = read_log(tmp_path / "calls.jsonl")
    assert [call.body["messages"][0]["content"] for call in calls] == ["first", "second", "first"]
    assert len({call.sha256 for call in calls}) == 2
