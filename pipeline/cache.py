"""The answer cache: a table for live use, a dictionary for an evaluation of its own."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, select, update

from kit.clock import Clock
from kit.db import Database
from models.contract import Answer, Turn
from models.tables import CachedAnswer
from pipeline.ports import CacheKey
from pipeline.wording import fold

TIME_TO_LIVE = timedelta(hours=24)


class PostgresAnswerCache:
    """Admitted answers in the store; row-level security keeps tenants apart a second time."""

    def __init__(self, db: Database, clock: Clock, time_to_live: timedelta = TIME_TO_LIVE) -> None:
        self._db = db
        self._clock = clock
        self._time_to_live = time_to_live

    async def find(self, key: CacheKey, question: str) -> Answer | None:
        """Give the newest answer to the same wording under the same key, if it is still alive."""
        async with self._db.transaction(key.tenant_id) as tx:
            row = await tx.scalar(
                select(CachedAnswer)
                .filter_by(
                    corpus_id=key.corpus_id,
                    fingerprint=key.fingerprint,
                    question_key=fold(question),
                )
                .where(CachedAnswer.expires_at > self._clock.now())
                .order_by(CachedAnswer.created_at.desc(), CachedAnswer.id)
                .limit(1)
            )
            if row is None:
                return None
            counted = {"hits": CachedAnswer.hits + 1}
            await tx.execute(update(CachedAnswer).filter_by(id=row.id).values(**counted))
        return Answer.model_validate(row.answer)

    async def keep(
        self, key: CacheKey, question: str, history: tuple[Turn, ...], answer: Answer
    ) -> None:
        """Store an admitted answer with the documents that it came from."""
        row = CachedAnswer(
            tenant_id=key.tenant_id,
            corpus_id=key.corpus_id,
            fingerprint=key.fingerprint,
            question_key=fold(question),
            question=question,
            history=[turn.model_dump() for turn in history],
            answer=answer.model_dump(mode="json"),
            source_ids=sorted({source.source_id for source in answer.sources}),
            expires_at=self._clock.now() + self._time_to_live,
        )
        async with self._db.transaction(key.tenant_id) as tx:
            tx.add(row)

    async def forget_source(self, tenant_id: UUID, corpus_id: UUID, source_id: str) -> int:
        """Drop every entry that the document fed; give their number."""
        fed = delete(CachedAnswer).where(
            CachedAnswer.corpus_id == corpus_id, CachedAnswer.source_ids.contains([source_id])
        )
        async with self._db.transaction(tenant_id) as tx:
            gone = await tx.execute(fed.returning(CachedAnswer.id))
            return len(gone.all())


@dataclass(frozen=True)
class _Entry:
    answer: Answer
    expires_at: datetime


class MemoryAnswerCache:
    """The same in a dictionary: private to one evaluation, gone with it."""

    def __init__(self, clock: Clock, time_to_live: timedelta = TIME_TO_LIVE) -> None:
        self._clock = clock
        self._time_to_live = time_to_live
        self._entries: dict[tuple[CacheKey, str], _Entry] = {}

    async def find(self, key: CacheKey, question: str) -> Answer | None:
        entry = self._entries.get((key, fold(question)))
        return entry.answer if entry and entry.expires_at > self._clock.now() else None

    async def keep(
        self, key: CacheKey, question: str, history: tuple[Turn, ...], answer: Answer
    ) -> None:
        expires_at = self._clock.now() + self._time_to_live
        self._entries[key, fold(question)] = _Entry(answer, expires_at)

    async def forget_source(self, tenant_id: UUID, corpus_id: UUID, source_id: str) -> int:
        fed = [
            place
            for place, entry in self._entries.items()
            if (place[0].tenant_id, place[0].corpus_id) == (tenant_id, corpus_id)
            and source_id in {source.source_id for source in entry.answer.sources}
        ]
        for place in fed:
            del self._entries[place]
        return len(fed)
