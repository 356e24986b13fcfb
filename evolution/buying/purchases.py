"""Buying answers and verdicts: looked up first, stored whole before they are used."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.calls import PaidScope, Tab
from evolution.buying.ledgers import book_lab
from evolution.buying.outage import Outage
from evolution.buying.paid import hash_key, paying_for
from evolution.parts import CycleParts
from judge.port import Exam
from judge.verdict import Judgement, Unscored, Verdict
from kit.errors import ProviderBusy, ProviderError, ProviderRefused
from models.contract import Answer, Chunk, Reference
from models.genome import GenomeSet
from models.tables import LAB_TENANT, LedgerEntry, PaidAnswer, PaidVerdict, Question
from pipeline.run import PIPELINE_VERSION
from pipeline.state import State

_JUDGEMENT: TypeAdapter[Verdict | Unscored] = TypeAdapter(Judgement)

Settle = Callable[[AsyncSession], Awaitable[None]]


@dataclass(frozen=True)
class PaidFor:
    """A stored answer with the fragments it was made from."""

    key: str
    answer: Answer
    chunks: tuple[Chunk, ...]
    latency_ms: float
    tokens: int = 0
    micros: int = 0
    """What the models that made it cost, in millionths of the currency of the prices."""


@dataclass(frozen=True)
class Judged:
    """A judgement, None where the answer failed; `stored` tells that its verdict is booked."""

    judgement: Verdict | Unscored | None
    stored: bool


class Purchases:
    """What one cycle buys. Nothing that was committed is bought twice, also after a crash."""

    def __init__(self, parts: CycleParts, cycle_id: UUID) -> None:
        self._parts = parts
        self._cycle_id = cycle_id
        self._outage = Outage()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(self, question: str, genomes: GenomeSet, replicate: str) -> PaidFor:
        """Give the answer to `question` under `genomes`. Raises ProviderError."""
        key = self._answer_key(question, genomes, replicate)
        async with self._buying(key):
            stored = await self._find_answer(key)
            if stored is not None:
                return stored
            started = time.perf_counter()
            scope = PaidScope(self._parts.tenant, self._cycle_id, key, "answer")
            with paying_for(scope):
                state = await self._parts.answer(question, genomes)
            latency_ms = (time.perf_counter() - started) * 1000
            return await self._store_answer(key, state, latency_ms, scope.tab)

    async def judge(self, exam: Exam, replicate: str, settle: Settle) -> Judged:
        """Judge a paid answer; `settle` runs in the transaction that stores the verdict.

        An answer that failed is not judged. A judging that fails is Unscored; when it is one
        of many in a row it is an outage, which raises ProviderError.
        """
        if exam.answer.finish_reason == "error":
            return Judged(None, stored=False)
        key = self._verdict_key(exam, replicate)
        async with self._buying(key):
            stored = await self._find_verdict(key)
            if stored is not None:
                return Judged(stored, stored=True)
            judgement = await self._ask_judge(key, exam)
            if isinstance(judgement, Unscored):
                return Judged(judgement, stored=False)
            return Judged(await self._store_verdict(key, judgement, settle), stored=True)

    def _buying(self, key: str) -> asyncio.Lock:
        """Let one task at a time buy under `key`: two genomes may give the same answer at once."""
        return self._locks.setdefault(key, asyncio.Lock())

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

    async def _find_answer(self, key: str) -> PaidFor | None:
        async with self._parts.db.transaction(self._parts.tenant) as tx:
            row = await tx.get(PaidAnswer, key)
        return _paid_for(row) if row else None

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
        async with self._parts.db.transaction(self._parts.tenant) as tx:
            await tx.execute(insert(PaidAnswer).values(row).on_conflict_do_nothing())
            await book_lab(tx, self._parts.tenant, self._retrieval(state))
            return _paid_for(await tx.get_one(PaidAnswer, key))

    def _retrieval(self, state: State) -> LedgerEntry:
        usage = state.retrieval.usage if state.retrieval else None
        return LedgerEntry(
            tenant_id=LAB_TENANT,
            ledger="retrieval",
            purpose="evaluate",
            provider=usage.provider if usage else "none",
            model=self._parts.models.get("embedder", ""),
            unit="queries",
            units=usage.billable_units if usage else 0,
            trace_id=state.trace_id,
            cycle_id=self._cycle_id,
        )

    async def _find_verdict(self, key: str) -> Verdict | Unscored | None:
        async with self._parts.db.transaction(self._parts.tenant) as tx:
            stored: Any = await tx.scalar(select(PaidVerdict.verdict).filter_by(key=key))
        return _JUDGEMENT.validate_python(stored) if stored else None

    async def _store_verdict(
        self, key: str, verdict: Verdict, settle: Settle
    ) -> Verdict | Unscored:
        """Store a verdict; where another process was first, its verdict counts and is paid."""
        row = {
            "tenant_id": self._parts.tenant,
            "key": key,
            "cycle_id": self._cycle_id,
            "verdict": verdict.model_dump(mode="json"),
            "raw": verdict.raw,
        }
        first = insert(PaidVerdict).values(row).on_conflict_do_nothing()
        async with self._parts.db.transaction(self._parts.tenant) as tx:
            if (await tx.execute(first.returning(PaidVerdict.key))).first() is not None:
                await settle(tx)
                return verdict
            stored = await tx.scalar(select(PaidVerdict.verdict).filter_by(key=key))
            return _JUDGEMENT.validate_python(stored)


def _paid_for(row: PaidAnswer) -> PaidFor:
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
