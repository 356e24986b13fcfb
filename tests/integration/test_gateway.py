"""The API as its clients meet it: the openai SDK, over HTTP, on a real database."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import httpx2
import openai
import pytest
import uvicorn
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from sqlalchemy import select, text

from accounts.keys import create_key, revoke_key
from accounts.profiles import create_profile
from gateway.app import make_gateway
from gateway.deps import GatewayParts
from gateway.envelope import MAX_BODY_BYTES
from kit.chat import Usage
from kit.clock import SystemClock
from kit.db import Database
from kit.errors import (
    BudgetExhausted,
    Misconfigured,
    ProviderBusy,
    ProviderRefused,
    ProviderUnreachable,
)
from kit.metering import MeteredCall
from models.contract import Turn
from models.defaults import DEFAULT_SET
from models.tables import DEFAULT_TENANT, LAB_TENANT, Corpus, LedgerEntry, Trace
from pipeline.active import ActiveGenomes
from pipeline.ask import ask
from pipeline.assemble import Ports, assemble
from pipeline.cache import PostgresAnswerCache
from pipeline.fakes import CannedClassifier, CannedReader, CannedRetriever
from pipeline.scope import load_scope
from pipeline.state import State
from pipeline.traces import record_answer
from tests.support.pipelines import CLOSES, FINES, HOURS, QUESTION


@dataclass
class Service:
    """A pipeline of canned parts behind the gateway, and what clients need to reach it."""

    db: Database
    reader: CannedReader = field(default_factory=lambda: CannedReader(CLOSES))
    active: ActiveGenomes = field(default_factory=ActiveGenomes)
    fails: Exception | None = None
    calls: tuple[MeteredCall, ...] = ()
    url: str = ""
    key: str = ""
    lab_key: str = ""

    def __post_init__(self) -> None:
        cache = PostgresAnswerCache(self.db, SystemClock())
        retriever = CannedRetriever([HOURS, FINES])
        ports = Ports(retriever, CannedClassifier(), self.reader, "none", cache)
        self._steps = assemble(ports)

    async def ask(
        self, tenant: UUID, profile: str, question: str, history: Sequence[Turn]
    ) -> State:
        if self.fails:
            raise self.fails
        async with self.db.transaction(tenant) as tx:
            scope = await load_scope(tx, tenant, profile)
        genomes = self.active.snapshot.genomes_for(scope.domain)
        state = await ask(question, history, scope, genomes, self._steps)
        state = replace(state, calls=(*state.calls, *self.calls))
        async with self.db.transaction(tenant) as tx:
            await record_answer(tx, state, "live")
        return state

    def client(self, key: str = "") -> AsyncOpenAI:
        return AsyncOpenAI(base_url=self.url, api_key=key or self.key, max_retries=0)

    async def complete(self, question: Any = QUESTION, **fields: Any) -> ChatCompletion:
        fields = {"model": "genoma", "messages": [user(question)]} | fields
        async with self.client() as client:
            completion: ChatCompletion = await client.chat.completions.create(**fields)
            return completion

    async def refused(self, question: Any = QUESTION, **fields: Any) -> openai.APIStatusError:
        """Ask for what must fail; what every failure has in common is checked here."""
        with pytest.raises(openai.APIStatusError) as caught:
            await self.complete(question, **fields)
        error = caught.value
        assert error.response.json()["error"].keys() == {"message", "type", "param", "code"}
        assert str(error.request_id).startswith("req_")
        assert "Traceback" not in error.response.text
        return error

    async def post(self, content: bytes, **headers: str) -> httpx2.Response:
        """Send bytes that the SDK would not."""
        all_headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        async with httpx2.AsyncClient() as client:
            return await client.post(
                f"{self.url}/chat/completions", content=content, headers=all_headers | headers
            )


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@pytest.fixture
async def service(db: Database) -> AsyncIterator[Service]:
    made = Service(db)
    async with db.transaction() as tx:
        made.key = await create_key(tx, DEFAULT_TENANT)
        made.lab_key = await create_key(tx, LAB_TENANT)
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name="library")
        tx.add(corpus)
        await tx.flush()
        for name in ("default", "tutorial"):
            await create_profile(tx, DEFAULT_TENANT, name, corpus.id)
    async with serving(made) as made.url:
        yield made


@asynccontextmanager
async def serving(service: Service) -> AsyncIterator[str]:
    """Serve the gateway on a free port of loopback."""
    app = make_gateway(GatewayParts(service.db, service.ask))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="critical"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = asyncio.create_task(server.serve(sockets=[listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        await running


async def test_a_stock_client_gets_the_answer_with_its_sources(service: Service) -> None:
    completion = await service.complete()
    choice = completion.choices[0]
    assert (choice.message.content, choice.finish_reason) == (CLOSES.answer, "stop")
    assert (completion.object, completion.model) == ("chat.completion", "genoma")
    assert completion.usage is not None
    assert completion.usage.total_tokens == 0
    extra = completion.model_extra or {}
    assert [c["source_id"] for c in extra["citations"]] == ["hours"]
    assert extra["citations"][0]["offsets"].keys() >= {"page", "byte_start", "token_end"}


async def test_an_annotation_points_at_its_mark_in_the_text(service: Service) -> None:
    message = (await service.complete()).choices[0].message
    (annotation,) = message.annotations or []
    cited = annotation.url_citation
    assert cited.url == "https://library.example/hours"
    assert str(message.content)[cited.start_index : cited.end_index] == "[1]"


async def test_a_source_without_an_address_is_a_citation_and_no_annotation(
    service: Service,
) -> None:
    inner = CLOSES.sources[0].model_copy(update={"url_or_internal_ref": "hours.md"})
    service.reader.says = CLOSES.model_copy(update={"sources": (inner,)})
    completion = await service.complete()
    assert completion.choices[0].message.annotations == []
    assert (completion.model_extra or {})["citations"][0]["url_or_internal_ref"] == "hours.md"


async def test_an_answer_names_its_genomes_reader_and_trace(service: Service) -> None:
    told = ((await service.complete()).model_extra or {})["genoma"]
    assert told["genomes"] == DEFAULT_SET.names()
    assert (told["reader"], told["from_cache"], told["abstained"]) == (
        "canned reader", False, False,
    )  # fmt: skip
    async with service.db.transaction(DEFAULT_TENANT) as tx:
        trace = await tx.get_one(Trace, UUID(told["trace_id"]))
        books = (await tx.scalars(select(LedgerEntry.ledger))).all()
    assert (trace.origin, trace.question, books) == ("live", QUESTION, ["retrieval"])


async def test_the_same_question_again_comes_from_the_cache(service: Service) -> None:
    await service.complete()
    again = await service.complete("Please tell me: when does the library close?")
    assert (again.model_extra or {})["genoma"]["from_cache"] is True
    assert len(service.reader.readings) == 1


async def test_a_cut_answer_says_so_and_is_not_kept(service: Service) -> None:
    service.reader.says = CLOSES.model_copy(update={"finish_reason": "length"})
    assert (await service.complete()).choices[0].finish_reason == "length"
    service.reader.says = CLOSES
    whole = await service.complete()
    assert whole.choices[0].finish_reason == "stop"
    assert (whole.model_extra or {})["genoma"]["from_cache"] is False


async def test_earlier_turns_are_history_and_text_parts_are_text(service: Service) -> None:
    parts = [{"type": "text", "text": "When does"}, {"type": "text", "text": "it close?"}]
    assistant = {"role": "assistant", "content": "It is a library."}
    await service.complete(messages=[user("What is it?"), assistant, user(parts)])
    reading = service.reader.readings[0]
    assert reading.question == "When does\nit close?"
    assert [(t.role, t.content) for t in reading.history] == [
        ("user", "What is it?"),
        ("assistant", "It is a library."),
    ]


async def test_a_system_message_has_no_effect_and_the_answer_says_so(service: Service) -> None:
    plain = await service.complete()
    system = {"role": "system", "content": "Answer in verse."}
    completion = await service.complete(messages=[system, user(QUESTION)])
    told = (completion.model_extra or {})["genoma"]
    assert completion.choices[0].message.content == plain.choices[0].message.content
    assert "System messages have no effect" in told["warnings"][-1]
    assert told["from_cache"] is True


async def test_models_are_the_profiles_of_the_tenant(service: Service) -> None:
    async with service.client() as client, service.client(service.lab_key) as lab:
        names = [model.id async for model in client.models.list()]
        assert [model.id async for model in lab.models.list()] == []
    assert names == ["genoma", "genoma/tutorial"]
    assert (await service.complete(model="genoma/tutorial")).model == "genoma/tutorial"


async def test_an_unknown_model_is_not_found(service: Service, subtests: pytest.Subtests) -> None:
    long = "genoma/" + "x" * 100_000
    for model in ("gpt-5", "genoma/nowhere", "genoma/", "genoma/a\0b", "", long):
        with subtests.test(model):
            error = await service.refused(model=model)
            assert (error.status_code, error.code) == (404, "model_not_found")


async def test_another_tenants_profile_is_as_unknown_as_any(service: Service) -> None:
    service.key = service.lab_key
    missing = await service.refused(model="genoma/tutorial")
    assert missing.status_code == 404
    assert "none yet" in missing.message


async def test_a_wrong_key_is_refused(service: Service) -> None:
    service.key = "gen_wrong"
    error = await service.refused()
    assert (error.status_code, error.code) == (401, "invalid_api_key")


async def test_a_revoked_key_is_refused_at_once(service: Service) -> None:
    await service.complete()
    async with service.db.transaction() as tx:
        await revoke_key(tx, service.key, SystemClock())
    assert (await service.refused()).status_code == 401


async def test_a_request_without_a_key_is_refused(
    service: Service, subtests: pytest.Subtests
) -> None:
    body = b'{"model": "genoma", "messages": [{"role": "user", "content": "Hi"}]}'
    for header in ("", "Basic abc", "Bearer", "bearer x y"):
        with subtests.test(header):
            response = await service.post(body, authorization=header)
            assert response.status_code == 401
            assert response.headers["x-request-id"].startswith("req_")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"stream": True}, "streaming is not supported"),
    ({"n": 2}, "n: "),
    ({"extra_body": {"tenant_id": str(LAB_TENANT)}}, "'tenant_id' is not allowed"),
    ({"extra_body": {"tenant": "lab"}}, "'tenant' is not allowed"),
    ({"messages": []}, "messages: "),
    ({"messages": [{"role": "assistant", "content": "Hi"}]}, "the last message"),
    ({"messages": [user("Hi")] * 201}, "messages: "),
    ({"messages": [user("Hi"), {"role": "system", "content": "x"}]}, "the last message"),
    ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages.0.role: "),
    ({"messages": [user([{"type": "image_url", "image_url": {"url": "x"}}])]},
     "messages.0.content.0.type: Input should be 'text'"),
    ({"messages": [user("")]}, "the question is empty"),
    ({"messages": [user(" \n ")]}, "the question is empty"),
    ({"messages": [user(None)]}, "the question is empty"),
]  # fmt: skip


async def test_a_request_that_cannot_be_answered_says_why(
    service: Service, subtests: pytest.Subtests
) -> None:
    for fields, says in REFUSED:
        with subtests.test(says):
            error = await service.refused(**fields)
            assert (error.status_code, error.type) == (400, "invalid_request_error")
            assert says in error.message


async def test_a_question_that_is_too_long_is_refused(service: Service) -> None:
    for length in (8_001, 100_000):
        error = await service.refused("x" * length)
        assert error.status_code == 413
        assert f"{length:,}" in error.message
    assert service.reader.readings == []


async def test_a_body_without_end_is_not_read_to_its_end(service: Service) -> None:
    response = await service.post(b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413
    assert f"{MAX_BODY_BYTES:,} bytes" in response.json()["error"]["message"]
    assert response.headers["x-request-id"].startswith("req_")


async def test_a_body_that_is_no_request_is_a_bad_request(
    service: Service, subtests: pytest.Subtests
) -> None:
    odd_model = b'{"model": "genoma/\\ud800", "messages": [{"role": "user", "content": "Hi"}]}'
    for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, odd_model):
        with subtests.test(str(body[:10])):
            response = await service.post(body)
            assert response.status_code in (400, 404)
            assert response.json()["error"]["type"] == "invalid_request_error"


async def test_a_failure_inside_keeps_its_cause_to_itself(
    service: Service, subtests: pytest.Subtests
) -> None:
    for failure, status, code in (
        (ProviderUnreachable("inner.example answered HTTP 500"), 502, "upstream_error"),
        (ProviderRefused("inner.example refused the key"), 502, "upstream_error"),
        (Misconfigured("inner.example is not set"), 500, "internal_error"),
        (RuntimeError("inner.example"), 500, "internal_error"),
    ):
        with subtests.test(repr(failure)):
            service.fails = failure
            error = await service.refused()
            assert (error.status_code, error.code) == (status, code)
            assert "inner.example" not in error.response.text
            assert str(error.request_id) in error.message


async def test_a_busy_model_says_when_to_come_again(service: Service) -> None:
    service.fails = ProviderBusy("busy", retry_after_s=7.0)
    error = await service.refused()
    assert (error.status_code, error.response.headers["retry-after"]) == (429, "7")


async def test_a_spent_budget_is_not_worth_another_try(service: Service) -> None:
    service.fails = BudgetExhausted("the budget of this month is spent")
    error = await service.refused()
    assert (error.status_code, error.code) == (429, "insufficient_quota")
    assert error.response.headers["x-should-retry"] == "false"


async def test_a_path_that_is_not_there_has_the_same_shape_of_error(service: Service) -> None:
    async with httpx2.AsyncClient() as client:
        missing = await client.get(f"{service.url}/nothing")
        wrong = await client.get(f"{service.url}/chat/completions")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")


async def test_an_answer_that_could_not_be_recorded_is_not_given(service: Service) -> None:
    async with service.db.transaction(DEFAULT_TENANT) as tx:
        before = await tx.scalar(text("select count(*) from trace"))
    service.calls = (MeteredCall("canned", "canned", Usage(2**40)),)  # no ledger holds so many
    assert (await service.refused()).status_code == 500
    async with service.db.transaction(DEFAULT_TENANT) as tx:
        assert await tx.scalar(text("select count(*) from trace")) == before
