"""What an answer leaves behind: its trace and its ledger entries, in one durable append."""

from dataclasses import asdict
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncSession

from models.tables import LedgerEntry, Trace
from pipeline.state import State

Origin = Literal["live", "playground", "lab"]


async def record_answer(tx: AsyncSession, state: State, origin: Origin) -> None:
    """Write trace and ledger of a finished run, in the caller's transaction.

    Only `live` traces may ever become questions or evidence.
    """
    assert state.answer is not None
    tx.add(
        Trace(
            id=state.trace_id,
            tenant_id=state.scope.tenant_id,
            origin=origin,
            profile=state.scope.profile,
            question=state.question,
            answer=state.answer.model_dump(mode="json"),
            genomes=dict(state.genomes.names()),
            query_type=state.query_type,
            from_cache=state.from_cache,
            steps=[asdict(step) for step in state.steps],
        )
    )
    if state.retrieval is not None:
        tx.add(_retrieval(state))
    tx.add_all(_generation(state))
    await tx.flush()


def _retrieval(state: State) -> LedgerEntry:
    assert state.retrieval is not None
    usage = state.retrieval.usage
    return LedgerEntry(
        tenant_id=state.scope.tenant_id,
        ledger="retrieval",
        purpose="search",
        provider=usage.provider,
        model="",
        unit="queries",
        units=usage.billable_units,
        trace_id=state.trace_id,
    )


def _generation(state: State) -> list[LedgerEntry]:
    """One entry for each model call that the run made."""
    return [
        LedgerEntry(
            tenant_id=state.scope.tenant_id,
            ledger="generation",
            purpose="answer",
            provider=call.provider,
            model=call.model,
            unit="tokens",
            units=call.usage.total,
            trace_id=state.trace_id,
        )
        for call in state.calls
    ]
