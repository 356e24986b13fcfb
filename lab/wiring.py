"""The composition root: settings in, running parts out. Every object is made here, once."""

import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID, uuid4

from accounts.capacity import Capacity
from evolution.buying.paid import PaidChat
from evolution.buying.session import SEARCH_LIMIT, DirectToolSession
from evolution.parts import CycleParts
from judge.builtin_judge import BuiltinJudge
from judge.llm_judge import LlmJudge
from judge.port import Judge
from kit.chat import ChatModel
from kit.clock import Clock, SystemClock
from kit.db import Database, make_engine, make_signal_engine
from kit.embedding import Embedder
from kit.gate import Gate
from kit.language import detect_language
from kit.prices import price_of
from kit.settings import Settings
from lab.database import DatabaseUrls, open_database
from lab.models import ChatModels, lab_chat, live_chat, make_chat_models, make_embedders
from models.contract import Chunk, Turn
from models.genome import GenomeSet
from models.tables import Cycle, Profile
from pipeline.active import ActiveGenomes
from pipeline.ask import ask
from pipeline.assemble import Ports, assemble
from pipeline.cache import MemoryAnswerCache, PostgresAnswerCache
from pipeline.extractive_reader import ExtractiveReader
from pipeline.keyword_classifier import KeywordClassifier
from pipeline.llm_classifier import LlmClassifier
from pipeline.llm_reader import LlmReader
from pipeline.ports import RetrievalQuery, Scope
from pipeline.postgres_retriever import PostgresRetriever
from pipeline.scope import load_scope
from pipeline.state import State
from pipeline.traces import Origin, record_answer


@dataclass(frozen=True)
class Lab:
    """What every process of the lab has in common."""

    settings: Settings
    urls: DatabaseUrls
    db: Database
    clock: Clock
    bare_chat: ChatModels
    chat: ChatModels
    """As live traffic calls them: at once."""
    embedder: Embedder
    leased_embedder: Embedder
    """As cycles call it."""
    capacity: Capacity
    active: ActiveGenomes

    async def close(self) -> None:
        await self.capacity.close()
        await self.db.close()


def open_lab(settings: Settings) -> Lab:
    """Open the database and make what all processes need. Raises Misconfigured."""
    bare = make_chat_models(settings)
    urls = open_database(settings)
    capacity = make_capacity(settings, urls.service)
    embedders = make_embedders(settings, capacity)
    return Lab(
        settings,
        urls,
        Database(make_engine(urls.service)),
        SystemClock(),
        bare_chat=bare,
        chat=live_chat(bare, capacity),
        embedder=embedders.live,
        leased_embedder=embedders.lab,
        capacity=capacity,
        active=ActiveGenomes(),
    )


def make_capacity(settings: Settings, url: str) -> Capacity:
    """Make this process's gates to its model endpoints, under a name that no other process has."""
    host = socket.gethostname().encode("ascii", "replace").decode()[:30]
    holder = f"{host}:{os.getpid()}:{secrets.token_hex(4)}"
    return Capacity(make_signal_engine(url, holder), holder, settings.concurrency)


def make_ports(lab: Lab, chat: ChatModels, *, cached: bool) -> Ports:
    """Make the parts of a pipeline; where no model is named, the built-in part serves."""
    return Ports(
        retriever=PostgresRetriever(lab.db, lab.embedder),
        classifier=LlmClassifier(chat.router) if chat.router else KeywordClassifier(),
        reader=LlmReader(chat.reader) if chat.reader else ExtractiveReader(lab.embedder),
        embedder=lab.embedder.name,
        cache=PostgresAnswerCache(lab.db, lab.clock) if cached else None,
    )


def make_judge(lab: Lab, model: ChatModel | None) -> Judge:
    return LlmJudge(model) if model else BuiltinJudge(lab.embedder)


def model_names(lab: Lab) -> dict[str, str]:
    """Role -> who plays it, as plans and approvals are bound to it."""
    names = make_ports(lab, lab.chat, cached=False).models
    judge = make_judge(lab, lab.chat.judge).version
    mutator = lab.chat.mutator.name if lab.chat.mutator else "built-in typed operators"
    return {**names, "judge": judge, "mutator": mutator}


class Asker:
    """Answers live questions under the active genomes, and records what happened."""

    def __init__(self, lab: Lab, *, origin: Origin) -> None:
        self._lab = lab
        self._origin = origin
        # What a playground answers must never become evidence: it has no cache to write into.
        self._steps = assemble(make_ports(lab, lab.chat, cached=origin == "live"))

    async def ask(
        self, tenant: UUID, profile: str, question: str, history: Sequence[Turn] = ()
    ) -> State:
        """Answer and commit trace and ledger. Raises NotFound, BadInput, ProviderError."""
        snapshot = self._lab.active.snapshot
        async with self._lab.db.transaction(tenant) as tx:
            scope = await load_scope(tx, tenant, profile)
        genomes = snapshot.genomes_for(scope.domain)
        state = await ask(question, history, scope, genomes, self._steps)
        async with self._lab.db.transaction(tenant) as tx:
            await record_answer(tx, state, self._origin)
        return state


async def make_cycle_parts(lab: Lab, db: Database, tenant: UUID, cycle_id: UUID) -> CycleParts:
    """Make the parts of one cycle: the same pipeline as live, its model calls paid and stored.

    `db` is the database of whoever holds the cycle: what is written through another is refused.
    """
    async with db.transaction(tenant) as tx:
        cycle = await tx.get_one(Cycle, cycle_id)
        profile = await tx.get_one(Profile, cycle.profile_id)
        scope = await load_scope(tx, tenant, profile.name)
    lab = replace(lab, embedder=lab.leased_embedder)
    chat = lab_chat(lab.bare_chat, lab.capacity, partial(_paid, lab, db))
    ports = make_ports(lab, chat, cached=False)
    steps = assemble(ports)

    async def answer(question: str, genomes: GenomeSet) -> State:
        return await ask(question, (), scope, genomes, steps)

    async def search(question: str) -> tuple[Chunk, ...]:
        return await _search(ports, scope, question)

    return CycleParts(
        db=db,
        clock=lab.clock,
        tenant=tenant,
        scope=scope,
        answer=answer,
        judge=make_judge(lab, chat.judge),
        mutator=chat.mutator,
        session=DirectToolSession(search, answer),
        private_cache=lambda: MemoryAnswerCache(lab.clock),
        inert_genes=ports.inert_genes,
        models=model_names(lab),
        concurrency=lab.settings.concurrency,
    )


def _paid(lab: Lab, db: Database, model: ChatModel, gate: Gate) -> PaidChat:
    return PaidChat(model, db, price_of(lab.settings.prices, model), gate)


async def _search(ports: Ports, scope: Scope, question: str) -> tuple[Chunk, ...]:
    query = RetrievalQuery(uuid4(), question, detect_language(question), SEARCH_LIMIT)
    return (await ports.retriever.retrieve(scope, query)).chunks
