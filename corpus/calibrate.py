"""Where a corpus ends: the similarity under which its questions are better not answered."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID, uuid4

from sqlalchemy import select, update

from corpus.ingest import Progress
from kit.db import Database
from models.tables import Corpus, Question
from pipeline.ports import RetrievalQuery, Retriever, Scope

LEAST_QUESTIONS = 5
"""Of each kind; with fewer a threshold would be chance."""
NEEDLESS_REFUSAL = 0.35
"""What refusing an answerable question costs, where inventing an answer costs 1: the built-in
judge gives 2.5 of 10 for the one and 0 for the other, where about 6 and 10 were to be had."""
FRAGMENTS = 8
"""As many as an answer is usually read from."""
AT_ONCE = 4
"""Questions looked up at a time: an embedding endpoint is waited for together."""


@dataclass(frozen=True)
class Calibration:
    """A threshold, and how well it parts the questions it was found on."""

    threshold: float
    refused: float
    """Share of the answerable questions that it refuses."""
    invented: float
    """Share of the unanswerable questions that it lets through."""
    answerable: int
    unanswerable: int


async def calibrate(
    db: Database, retriever: Retriever, scope: Scope, report: Progress
) -> Calibration | None:
    """Set the corpus' `abstain_below` from its imported questions; give what was found.

    The measure is the one that readers use: the highest similarity among the fragments. What
    came from traffic had been let through by a threshold, and tells nothing of it. Where
    there are not enough questions of both kinds, or no vectors yet, nothing is set and the
    result is None.
    """
    async with db.transaction(scope.tenant_id) as tx:
        questions = list(
            await tx.scalars(
                select(Question)
                .filter_by(corpus_id=scope.corpus_id, origin="imported")
                .order_by(Question.created_at, Question.id)
            )
        )
    kinds = [question.answerable for question in questions]
    if min(kinds.count(True), kinds.count(False)) < LEAST_QUESTIONS:
        return None
    found: dict[bool, list[float]] = {True: [], False: []}
    for start in range(0, len(questions), AT_ONCE):
        some = questions[start : start + AT_ONCE]
        for question, best in zip(some, await _look_up(retriever, scope, some), strict=True):
            if best is not None:
                found[question.answerable].append(best)
        report(start + len(some), len(questions))
    result = best_threshold(found[True], found[False])
    if result is not None:
        await _keep(db, scope.tenant_id, scope.corpus_id, result.threshold)
    return result


async def _look_up(
    retriever: Retriever, scope: Scope, questions: Sequence[Question]
) -> list[float | None]:
    """Look all of them up at the same time; where one fails, the others are waited for first."""
    asked = (_best_similarity(retriever, scope, question) for question in questions)
    found: list[float | None] = []
    for best in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(best, BaseException):
            raise best
        found.append(best)
    return found


async def _best_similarity(retriever: Retriever, scope: Scope, question: Question) -> float | None:
    query = RetrievalQuery(uuid4(), question.text, question.language, FRAGMENTS)
    result = await retriever.retrieve(scope, query)
    return max((c.similarity for c in result.chunks if c.similarity is not None), default=None)


async def _keep(db: Database, tenant: UUID, corpus_id: UUID, threshold: float) -> None:
    async with db.transaction(tenant) as tx:
        await tx.execute(
            update(Corpus).where(Corpus.id == corpus_id).values(abstain_below=threshold)
        )


def best_threshold(
    answerable: Sequence[float], unanswerable: Sequence[float]
) -> Calibration | None:
    """Find the threshold that costs least on these questions; the lowest of equals.

    An unanswerable question that is answered costs 1, an answerable one that is refused costs
    NEEDLESS_REFUSAL. Thresholds lie half-way between two neighbouring similarities. None where
    a kind has fewer than LEAST_QUESTIONS.
    """
    if min(len(answerable), len(unanswerable)) < LEAST_QUESTIONS:
        return None
    values = sorted({*answerable, *unanswerable})
    middles = [(low + high) / 2 for low, high in pairwise(values)]

    def shares(threshold: float) -> tuple[float, float]:
        refused = sum(value < threshold for value in answerable)
        invented = sum(value >= threshold for value in unanswerable)
        return refused / len(answerable), invented / len(unanswerable)

    def cost(threshold: float) -> float:
        refused, invented = shares(threshold)
        return NEEDLESS_REFUSAL * refused * len(answerable) + invented * len(unanswerable)

    best = min([values[0], *middles], key=lambda threshold: (cost(threshold), threshold))
    refused, invented = shares(best)
    return Calibration(round(best, 4), refused, invented, len(answerable), len(unanswerable))
