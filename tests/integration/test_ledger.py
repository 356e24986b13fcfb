"""What an answer leaves behind: its trace and its lines in the books, all or nothing."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.exc import DBAPIError

from kit.chat import Usage
from kit.db import Database
from kit.metering import MeteredCall
from models.contract import RetrievalResult, RetrievalUsage
from models.tables import DEFAULT_TENANT, LAB_TENANT, LedgerEntry, Trace
from pipeline.state import State, StepRecord
from pipeline.traces import Origin, record_answer
from tests.support.pipelines import CLOSES, HOURS, QUESTION, make_state


def answered() -> State:
    """A finished run with one search and two calls of models."""
    state = make_state(answer=CLOSES, steps=(StepRecord("postprocess", 12.5, "done"),))
    found = RetrievalResult(
        trace_id=state.trace_id,
        tenant_id=DEFAULT_TENANT,
        corpus="library",
        chunks=(HOURS,),
        usage=RetrievalUsage(provider="postgres", query_count=1, billable_units=1),
    )
    calls = (
        MeteredCall("openai", "router-1", Usage(90, 5)),
        MeteredCall("openai", "reader-1", Usage(700, 60)),
    )
    return replace(state, retrieval=found, calls=calls)


async def record(db: Database, state: State, origin: Origin = "live") -> None:
    async with db.transaction(DEFAULT_TENANT) as tx:
        await record_answer(tx, state, origin)


async def load_books(db: Database) -> list[LedgerEntry]:
    async with db.transaction(DEFAULT_TENANT) as tx:
        return list(await tx.scalars(select(LedgerEntry).order_by(LedgerEntry.units)))


async def test_search_and_each_call_of_a_model_are_booked_under_the_trace(db: Database) -> None:
    state = answered()
    await record(db, state)
    books = await load_books(db)
    assert [(e.ledger, e.purpose, e.model, e.unit, e.units) for e in books] == [
        ("retrieval", "search", "", "queries", 1),
        ("generation", "answer", "router-1", "tokens", 95),
        ("generation", "answer", "reader-1", "tokens", 760),
    ]
    assert {(e.trace_id, e.tenant_id, e.outcome) for e in books} == {
        (state.trace_id, DEFAULT_TENANT, "settled")
    }


async def test_the_trace_holds_what_happened(db: Database) -> None:
    state = answered()
    await record(db, state, "playground")
    async with db.transaction(DEFAULT_TENANT) as tx:
        trace = await tx.get_one(Trace, state.trace_id)
    assert (trace.origin, trace.profile, trace.question) == ("playground", "default", QUESTION)
    assert trace.genomes == state.genomes.names()
    assert trace.steps == [{"name": "postprocess", "ms": 12.5, "note": "done"}]
    assert trace.answer["answer"] == CLOSES.answer


async def test_an_answer_from_the_cache_costs_nothing(db: Database) -> None:
    await record(db, make_state(answer=CLOSES, from_cache=True))
    assert await load_books(db) == []


async def test_the_books_of_one_tenant_are_closed_to_another(db: Database) -> None:
    await record(db, answered())
    async with db.transaction(LAB_TENANT) as tx:
        assert (await tx.scalars(select(LedgerEntry))).all() == []
        assert (await tx.scalars(select(Trace))).all() == []


async def test_a_line_of_the_books_is_never_changed_or_taken_out(db: Database) -> None:
    await record(db, answered())
    for statement in (update(LedgerEntry).values(units=0), delete(LedgerEntry)):
        with pytest.raises(DBAPIError, match="permission denied"):
            async with db.transaction(DEFAULT_TENANT) as tx:
                await tx.execute(statement)
    assert len(await load_books(db)) == 3


async def test_trace_and_books_are_written_together_or_not_at_all(db: Database) -> None:
    state = answered()
    broken = replace(state, calls=(MeteredCall("openai", "m", Usage(2**40, 1)),))
    with pytest.raises((DBAPIError, ValueError)):
        await record(db, broken)
    assert await load_books(db) == []
    async with db.transaction(DEFAULT_TENANT) as tx:
        assert await tx.get(Trace, state.trace_id) is None
        assert await tx.get(Trace, uuid4()) is None
