"""Questions out of real traffic: what clients of the live pipeline asked, each wording once."""

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Text, cast, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from corpus.clusters import find_clusters
from corpus.questions import QuestionRecord, lock_questions, question_row, record_of
from kit.language import detect_language
from kit.refusals import is_refusal
from models.tables import Profile, Question, Trace
from models.tables.base import utc_now
from pipeline.ask import CONVERSATION
from pipeline.keyword_classifier import find_type
from pipeline.personal import is_personal
from pipeline.wording import fold

WINDOW = timedelta(days=30)
"""So far back is looked at first; afterwards to the newest question that was taken."""
MAX_LOOKED_AT = 2_000
"""Traces a time; of more than that, these are a uniform sample."""
MAX_CHARS = 1_000
"""A longer text is a pasted page and no question to compare genomes on."""


async def take_traffic(tx: AsyncSession, tenant: UUID, corpus_id: UUID) -> int:
    """Put what was asked of a corpus lately beside its imported questions; give how many are new.

    Only live traces count, never those of the playground or the lab. A question like one that
    is there already brings nothing, so that each taken one is a cluster of its own. There is no
    reference to it: the live answer is the incumbent's, and must not become its own measure.
    """
    known = await lock_questions(tx, corpus_id)
    said = Trace.answer["answer"].as_string()
    asked = await tx.execute(
        select(Trace.question, said)
        .where(*_usable(corpus_id, known))
        .order_by(func.md5(cast(Trace.id, Text)))
        .limit(MAX_LOOKED_AT)
    )
    # In a thread: thousands of texts are a second's work, and this may be the web process.
    new = await asyncio.to_thread(_unlike, known, [(text, answer) for text, answer in asked])
    rows = [question_row(tenant, corpus_id, each, each.external_id) for each in new]
    if rows:
        await tx.execute(insert(Question), rows)
    return len(rows)


def _usable(corpus_id: UUID, known: Sequence[Question]) -> list[ColumnElement[bool]]:
    """Live, alone understandable, of this corpus, new, and with an answer.

    Where live said nothing, nobody knows whether there was something to say: either way of
    judging such a question would be a guess.
    """
    taken = [row.created_at for row in known if row.origin == "traffic"]
    served = select(Profile.name).filter_by(corpus_id=corpus_id)
    return [
        Trace.origin == "live",
        Trace.profile.in_(served),
        Trace.created_at > max(taken, default=utc_now() - WINDOW),
        func.length(Trace.question) <= MAX_CHARS,
        Trace.answer["abstained"].as_boolean().is_(False),
        Trace.answer["finish_reason"].as_string() != "error",
        ~Trace.steps.contains([{"name": CONVERSATION}]),
    ]


def _unlike(known: Sequence[Question], asked: Sequence[tuple[str, str]]) -> list[QuestionRecord]:
    """Give those of (question, answer) that are like no other: the first of their cluster."""
    wordings = {
        _name(text): text
        for text, answer in reversed(asked)
        if not (is_personal(text) or is_refusal(answer))
    }
    for row in known:
        wordings.pop(row.external_id, None)
    fresh = [_record(name, text) for name, text in sorted(wordings.items())]
    if not fresh:
        return []
    clusters = find_clusters([*map(record_of, known), *fresh])[len(known) :]
    return [r for r, cluster in zip(fresh, clusters, strict=True) if cluster == r.external_id]


def _name(text: str) -> str:
    """Equal wordings have one name, so that each is there once."""
    return f"traffic-{hashlib.sha256(fold(text).encode()).hexdigest()[:16]}"


def _record(name: str, text: str) -> QuestionRecord:
    return QuestionRecord(
        external_id=name,
        text=text,
        language=detect_language(text),
        reference_answer=None,
        source_ids=(),
        answerable=True,
        metadata={},
        query_type=find_type(text),
        origin="traffic",
    )
