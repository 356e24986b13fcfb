"""Which questions a cycle may look at, and which are kept fresh for the proof."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.budget import open_proof
from kit.errors import Conflict
from models.genome import Layer
from models.tables import Question, QuestionUse
from pipeline.keyword_classifier import find_type

SEARCH_QUESTIONS = 48
NEW_TO_SEARCH = 12
"""So many of them are new in each cycle, while the proof has fresh ones enough without them."""
MAX_CONFIRM = 120
MIN_CONFIRM = 40


@dataclass(frozen=True)
class Split:
    """Disjoint by clusters of near-duplicates; confirm questions are one a cluster."""

    search: tuple[UUID, ...]
    confirm: tuple[UUID, ...]


async def split_questions(
    tx: AsyncSession, corpus_id: UUID, domain: str, layer: Layer, seed: int
) -> Split:
    """Draw the questions of a cycle from imported sets and traffic, each type with its share.

    A cluster that was searched in this domain and layer stays with the search; one that was
    spent in a proof is never used again. A third of the pool, at most 48 questions, goes to the
    search: those known to it first, but for a dozen new ones where more are fresh than a proof
    needs. Up to 120 of the rest are fresh for the proof.
    """
    order = select(Question).filter_by(corpus_id=corpus_id).order_by(Question.external_id)
    questions = list(await tx.scalars(order))
    used = await _used_clusters(tx, questions, domain, layer)
    pool = _stratified(questions, random.Random(seed))
    known = [q for q in pool if used.get(q.cluster) == "search"]
    fresh = [q for q in pool if q.cluster not in used]
    size = min(SEARCH_QUESTIONS, len(pool) // 3)
    wanted = max(size - len(known), _spare(fresh, size))
    new, fresh = _take(fresh, wanted)
    return Split(
        search=tuple(q.id for q in [*known[: size - len(new)], *new]),
        confirm=tuple(q.id for q in _one_per_cluster(fresh)[:MAX_CONFIRM]),
    )


def _spare(fresh: Sequence[Question], size: int) -> int:
    """How many new questions the search may have without a loss to the proof."""
    return max(0, min(NEW_TO_SEARCH, size, len({q.cluster for q in fresh}) - MAX_CONFIRM))


async def book_search(
    tx: AsyncSession, tenant: UUID, cycle_id: UUID, domain: str, layer: Layer, ids: Sequence[UUID]
) -> None:
    """Write down that the search looks at `ids`; what is there already stays."""
    await tx.execute(
        insert(QuestionUse)
        .values([_use(tenant, cycle_id, domain, layer, "search", q) for q in ids])
        .on_conflict_do_nothing()
    )


async def spend_confirm(
    tx: AsyncSession, tenant: UUID, cycle_id: UUID, domain: str, layer: Layer, ids: Sequence[UUID]
) -> None:
    """Write down, once and for ever, that this cycle's proof uses up `ids`.

    Doing it again for the same cycle changes nothing. From here on the proof has what of the
    cycle's limits was kept for it. Raises Conflict where another cycle was faster.
    """
    await open_proof(tx, cycle_id)
    mine = select(QuestionUse.question_id).filter_by(cycle_id=cycle_id, role="confirm")
    if set(ids) <= set(await tx.scalars(mine)):
        return
    rows = [_use(tenant, cycle_id, domain, layer, "confirm", q) for q in ids]
    try:
        await tx.execute(insert(QuestionUse).values(rows))
    except IntegrityError as error:
        raise Conflict("another cycle has used these confirm questions meanwhile") from error


def _use(
    tenant: UUID, cycle_id: UUID, domain: str, layer: Layer, role: str, question_id: UUID
) -> dict[str, object]:
    return {
        "tenant_id": tenant,
        "cycle_id": cycle_id,
        "domain": domain,
        "layer": layer,
        "role": role,
        "question_id": question_id,
    }


async def _used_clusters(
    tx: AsyncSession, questions: Sequence[Question], domain: str, layer: Layer
) -> dict[str, str]:
    """Cluster -> role; `confirm` wins where a cluster was ever in both."""
    uses = await tx.scalars(select(QuestionUse).filter_by(domain=domain, layer=layer))
    roles = {use.question_id: use.role for use in uses}
    used: dict[str, str] = {}
    for question in questions:
        if role := roles.get(question.id):
            used[question.cluster] = "confirm" if used.get(question.cluster) == "confirm" else role
    return used


def _stratified(questions: Sequence[Question], rng: random.Random) -> list[Question]:
    """Shuffle within strata and deal from them in turn, so that every prefix is balanced.

    Each stratum begins at a random place of its own (systematic sampling), or all that are too
    small for their share of a prefix would miss the same one.
    """
    strata: dict[tuple[str, str, str, bool], list[Question]] = defaultdict(list)
    for question in questions:
        strata[_stratum(question)].append(question)
    ranked = []
    for key in sorted(strata):
        rng.shuffle(strata[key])
        size, start = len(strata[key]), rng.random()
        ranked += [((i + start) / size, key, question) for i, question in enumerate(strata[key])]
    return [question for _, _, question in sorted(ranked, key=lambda item: item[:2])]


def _stratum(question: Question) -> tuple[str, str, str, bool]:
    query_type = question.query_type or find_type(question.text)
    return question.origin, query_type, question.language, question.answerable


def _take(fresh: list[Question], count: int) -> tuple[list[Question], list[Question]]:
    """Take the first `count`; whole clusters go with them and leave the rest."""
    taken = fresh[:count]
    clusters = {question.cluster for question in taken}
    return taken, [question for question in fresh if question.cluster not in clusters]


def _one_per_cluster(questions: Sequence[Question]) -> list[Question]:
    first: dict[str, Question] = {}
    for question in questions:
        first.setdefault(question.cluster, question)
    return list(first.values())
