"""What was paid for is stored, whole, before it is used, and never bought again."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from kit.chat import ChatModel, ChatReply, ChatRequest, Usage
from kit.db import Database, set_tenant
from kit.errors import ProviderError, ProviderUnreachable
from models.tables import LAB_TENANT, LedgerEntry, PaidCall


@dataclass(frozen=True)
class PaidScope:
    """What the model calls of the current task are paid for: an answer, a verdict, a mutation."""

    tenant: UUID
    cycle_id: UUID
    key: str
    purpose: str
    trace_id: UUID | None = None


_scope: ContextVar[PaidScope] = ContextVar("paid_scope")


@contextmanager
def paying_for(scope: PaidScope) -> Iterator[None]:
    """Let every call of a PaidChat inside be looked up and stored under `scope`."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


def hash_key(*parts: Any) -> str:
    """SHA-256 over JSON-able parts: the name under which something paid is found again."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class PaidChat:
    """A ChatModel of the lab: each call is written down before it is made and when it is done."""

    def __init__(self, inner: ChatModel, db: Database) -> None:
        self._inner = inner
        self._db = db

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def provider(self) -> str:
        return self._inner.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Give the stored reply of the same call in the same scope, or make the call.

        Raises LookupError outside of `paying_for`: the lab makes no call that nobody books.
        """
        scope = _scope.get()
        key = hash_key(scope.key, self.name, dataclasses.asdict(request))
        async with self._db.transaction(scope.tenant) as tx:
            stored = await tx.scalar(select(PaidCall.reply).filter_by(key=key, state="done"))
            if stored is None:
                await tx.execute(_started(key, scope, self.name))
        if stored is not None:
            return _load_reply(stored)
        try:
            reply = await self._inner.chat(request)
        except ProviderUnreachable:
            raise  # it may have been billed: it is booked as lost in flight
        except ProviderError:
            await self._forget(key, scope)
            raise
        await self._complete(key, scope, reply)
        return reply

    async def _forget(self, key: str, scope: PaidScope) -> None:
        """A call that the provider refused bought nothing: it was not lost in flight."""
        async with self._db.transaction(scope.tenant) as tx:
            await tx.execute(delete(PaidCall).filter_by(key=key))

    async def _complete(self, key: str, scope: PaidScope, reply: ChatReply) -> None:
        async with self._db.transaction(scope.tenant) as tx:
            done = {"state": "done", "reply": dataclasses.asdict(reply)}
            await tx.execute(update(PaidCall).filter_by(key=key).values(**done))
            await book_generation(tx, scope, self, reply)


async def book_generation(
    tx: AsyncSession, scope: PaidScope, model: ChatModel, reply: ChatReply
) -> None:
    """Book a call's tokens under the tenant `lab`, in the transaction that stores its reply."""
    await book_lab(
        tx,
        scope.tenant,
        LedgerEntry(
            tenant_id=LAB_TENANT,
            ledger="generation",
            purpose=scope.purpose,
            provider=model.provider,
            model=reply.model,
            unit="tokens",
            units=reply.usage.total,
            trace_id=scope.trace_id,
            cycle_id=scope.cycle_id,
        ),
    )


async def book_lab(tx: AsyncSession, tenant: UUID, *entries: LedgerEntry) -> None:
    """Write `entries` into the lab's books inside a transaction that works for `tenant`."""
    await tx.flush()
    await set_tenant(tx, LAB_TENANT)
    tx.add_all(entries)
    await tx.flush()
    await set_tenant(tx, tenant)


async def book_lost(tx: AsyncSession, tenant: UUID, cycle_id: UUID) -> int:
    """Book the calls that were in flight when the cycle was killed; give their number."""
    lost = await tx.execute(
        update(PaidCall)
        .filter_by(cycle_id=cycle_id, state="in_flight")
        .values(state="lost_in_flight")
        .returning(PaidCall.role, PaidCall.model)
    )
    entries = [
        LedgerEntry(
            tenant_id=LAB_TENANT,
            ledger="generation",
            outcome="lost_in_flight",
            purpose=role,
            provider="unknown",
            model=model,
            unit="tokens",
            units=0,
            cycle_id=cycle_id,
        )
        for role, model in lost.all()
    ]
    await book_lab(tx, tenant, *entries)
    return len(entries)


def _started(key: str, scope: PaidScope, model: str) -> Any:
    """Write the call down as in flight; one that was lost or failed is in flight again."""
    row = {
        "tenant_id": scope.tenant,
        "key": key,
        "cycle_id": scope.cycle_id,
        "role": scope.purpose,
        "model": model,
        "state": "in_flight",
    }
    again = {"state": "in_flight"}
    return insert(PaidCall).values(row).on_conflict_do_update(index_elements=["key"], set_=again)


def _load_reply(stored: dict[str, Any]) -> ChatReply:
    return ChatReply(**{**stored, "usage": Usage(**stored["usage"])})
