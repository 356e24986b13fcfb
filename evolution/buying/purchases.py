"""Buying answers and verdicts: looked up first, stored whole before they are used."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from pydantic import TypeAdapter
from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.calls import PaidScope, Tab
from evolution.buying.ledgers import Line, book_lab
from evolution.buying.outage import Outage
from evolution.buying.paid import hash_key, paying_for
from evolution.parts import CycleParts
from judge.port import Exam
from judge.verdict import Judgement, Unscored, Verdict
from kit.errors import ProviderBusy, ProviderError, ProviderRefused
from models.contract import Answer, Chunk, Reference
from models.genome import GenomeSet
from models.tables import PaidAnswer, PaidVerdict, Question, table_of
from pipeline.run import PIPELINE_VERSION
from pipeline.state import State

_JUDGEMENT: TypeAdapter[Verdict | Unscored] = TypeAdapter(Judgement)

# Made once: to build a statement takes as long as to send it.
_ANSWER, _VERDICT = table_of(PaidAnswer), table_of(PaidVerdict)
_FIND_ANSWER = select(_ANSWER).where(_ANSWER.c.key == bindparam("key"))
_STORE_ANSWER = insert(_ANSWER).on_conflict_do_nothing().returning(*_ANSWER.c)
_FIND_VERDICT = select(_VERDICT.c.verdict).where(_VERDICT.c.key == bindparam("key"))
_STORE_VERDICT = insert(_VERDICT).on_conflict_do_nothing().returning(_VERDICT.c.key)

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A question under a genome set, and the name under which its answer is found again."""

    key: str
    question: str
    genomes: GenomeSet


@dataclass(frozen=True)
class PaidFor:
    """A stored answer with the fragments it was made from."""

    key: str
    answer: Answer
    chunks: tuple[Chunk, ...]
    latency_ms: float
    """How long it took, waiting for a turn at the models not counted; 0 where that is not known."""
    tokens: int = 0
    micros: int = 0
    """What the models that made it cost, in millionths of the currency of the prices."""


@dataclass(frozen=True)
class Judged:
    """A judgement, None where the answer failed, and whether it is a verdict in the store."""

    judgement: Verdict | Unscored | None
    verdict: Literal["bought", "found", "none"]


Keep = Callable[[AsyncSession, Judged], Awaitable[T]]
"""Makes use of a judgement inside the transaction that stores its verdict, or has found it."""


class Purchases:
    """What one cycle buys. Nothing that was committed is bought twice, also after a crash."""

    def __init__(self, parts: CycleParts, cycle_id: UUID) -> None:
        self._parts = parts
        self._cycle_id = cycle_id
        self._outage = Outage()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def ask(self, question: str, genomes: GenomeSet, replicate: str) -> Asked:
        """Name what is asked for by everything that the answer depends on."""
        return Asked(self._answer_key(question, genomes, replicate), question, genomes)

    async def answer(self, asked: Asked) -> PaidFor:
        """Find an answer, or buy it. Raises ProviderError."""
        async with self._buying(asked.key):
            async with self._transaction() as tx:
                found = await self.find_answer(tx, asked)
            return found or await self.buy_answer(asked)

    async def find_answer(self, tx: AsyncSession, asked: Asked) -> PaidFor | None:
        """Give the stored answer; None where nobody has bought it."""
        row = (await tx.execute(_FIND_ANSWER, {"key": asked.key})).first()
        return _paid_for(row) if row else None

    async def buy_answer(self, asked: Asked) -> PaidFor:
        """Answer a question and store the answer. Raises ProviderError."""
        started = time.perf_counter()
        scope = PaidScope(self._parts.tenant, self._cycle_id, asked.key, "answer")
        with paying_for(scope):
            state = await self._parts.answer(asked.question, asked.genomes)
        took_s = time.perf_counter() - started - scope.tab.beside_s
        latency_ms = took_s * 1000 if scope.tab.is_timed else 0.0
        return await self._store_answer(asked.key, state, latency_ms, scope.tab)

    async def judge(self, exam: Exam, replicate: str, keep: Keep[T]) -> T:
        """Judge a paid answer; give what `keep` makes of it.

        An answer that failed is not judged. A judging that fails is Unscored; when it is one
        of many in a row it is an outage, which raises ProviderError.
        """
        if exam.answer.finish_reason == "error":
            async with self._transaction() as tx:
                return await keep(tx, Judged(None, "none"))
        key = self._verdict_key(exam, replicate)
        async with self._buying(key):
            async with self._transaction() as tx:
                found = await self._find_verdict(tx, key)
                if found is not None:
                    return await keep(tx, Judged(found, "found"))
            judgement = await self._ask_judge(key, exam)
            async with self._transaction() as tx:
                return await keep(tx, await self._store_judgement(tx, key, judgement))

    def _buying(self, key: str) -> asyncio.Lock:
        """Let one task at a time buy under `key`: two genomes may give the same answer at once."""
        return self._locks.setdefault(key, asyncio.Lock())

    def _transaction(self) -> AbstractAsyncContextManager[AsyncSession]:
        return self._parts.db.transaction(self._parts.tenant)

    async def _ask_judge(self, key: str, exam: Exam) -> Verdict | Unscored:
        try:
            with paying_for(PaidScope(self._parts.tenant, self._cycle_id, key, "judge")):
                judgement = await self._parts.judge.judge(exam)
        except (ProviderRefused, ProviderBusy):
            raise  # a busy endpoint was waited for already: its gate has lost patience
        except ProviderError as error:
            self._outage.note_failure(exam.question, error)
            return Unscored(reason=f"judge out of reach: {error}", judge=self._parts.judge.version)
        self._outage.end()
        return judgement

    def _answer_key(self, question: str, genomes: GenomeSet, replicate: str) -> str:
        """Name an answer by everything that it depends on, and by which replicate it is."""
        scope, models = self._parts.scope, self._parts.models
        return hash_key(
            genomes.fingerprint(),
            question,
            [],
            scope.profile,
            scope.settings.model_dump(mode="json"),
            str(scope.corpus_id),
            scope.corpus_version,
            scope.abstain_below,
            [models.get(role) for role in ("reader", "router", "embedder")],
            PIPELINE_VERSION,
            replicate,
        )

    def _verdict_key(self, exam: Exam, replicate: str) -> str:
        return hash_key(
            exam.answer.model_dump(mode="json"),
            [chunk.text for chunk in exam.chunks],
            exam.question,
            exam.reference.model_dump(mode="json"),
            self._parts.judge.version,
            replicate,
        )

    async def _store_answer(self, key: str, state: State, latency_ms: float, tab: Tab) -> PaidFor:
        """Store an answer whole; where another process was first, its answer counts."""
        assert state.answer is not None
        chunks = state.retrieval.chunks if state.retrieval else ()
        row = {
            "tenant_id": self._parts.tenant,
            "key": key,
            "cycle_id": self._cycle_id,
            "answer": state.answer.model_dump(mode="json"),
            "chunks": [chunk.model_dump(mode="json") for chunk in chunks],
            "latency_ms": latency_ms,
            "tokens": tab.tokens,
            "micros": tab.micros,
        }
        async with self._transaction() as tx:
            stored = (await tx.execute(_STORE_ANSWER, row)).first()
            if stored is None:
                stored = (await tx.execute(_FIND_ANSWER, {"key": key})).one()
            await book_lab(tx, self._parts.tenant, self._retrieval(state))
            return _paid_for(stored)

    def _retrieval(self, state: State) -> Line:
        usage = state.retrieval.usage if state.retrieval else None
        return Line(
            "retrieval",
            purpose="evaluate",
            model=self._parts.models.get("embedder", ""),
            units=usage.billable_units if usage else 0,
            cycle_id=self._cycle_id,
            provider=usage.provider if usage else "none",
            trace_id=state.trace_id,
        )

    async def _find_verdict(self, tx: AsyncSession, key: str) -> Verdict | Unscored | None:
        stored: Any = await tx.scalar(_FIND_VERDICT, {"key": key})
        return _JUDGEMENT.validate_python(stored) if stored else None

    async def _store_judgement(
        self, tx: AsyncSession, key: str, judgement: Verdict | Unscored
    ) -> Judged:
        """Store a verdict; where another process was first, its verdict counts and is paid."""
        if isinstance(judgement, Unscored):
            return Judged(judgement, "none")
        row = {
            "tenant_id": self._parts.tenant,
            "key": key,
            "cycle_id": self._cycle_id,
            "verdict": judgement.model_dump(mode="json"),
            "raw": judgement.raw,
        }
        if (await tx.execute(_STORE_VERDICT, row)).first() is not None:
            return Judged(judgement, "bought")
        return Judged(await self._find_verdict(tx, key), "found")


def _paid_for(row: Any) -> PaidFor:
    chunks = tuple(Chunk.model_validate(chunk) for chunk in row.chunks)
    answer = Answer.model_validate(row.answer)
    return PaidFor(row.key, answer, chunks, row.latency_ms, row.tokens, row.micros)


def exam_of(question: Question, text: str, paid: PaidFor) -> Exam:
    """Put a paid answer before the judge, as the answer to `text` (or a paraphrase)."""
    return Exam(
        question=text,
        language=question.language,
        answer=paid.answer,
        chunks=paid.chunks,
        reference=Reference(
            answer=question.reference_answer,
            source_ids=tuple(question.source_ids),
            answerable=question.answerable,
        ),
    )
