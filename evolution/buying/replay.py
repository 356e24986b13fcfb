"""Evaluate a cache policy: replay a stream of questions through a private cache.

A policy changes no answer when it is given; it decides which answers are kept for the next
asker. So the stream asks each question, later asks it again in other words, and in between
changes documents. What is *served* is judged; what the cache *saves* earns a bonus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.evaluate import Contender, Evaluator, OnScored, Trial
from evolution.buying.paid import hash_key
from evolution.buying.purchases import Judged, PaidFor, exam_of
from evolution.buying.results import Outcome, Phase, Scored, Shelf, keep_result, outcome_of
from evolution.parts import CycleParts, Unit
from models.genome import CachePolicyGenome, GenomeSet
from models.tables import Cycle, Question
from pipeline.ports import AnswerCache, CacheKey
from pipeline.steps.admit import may_keep

SAVED_ANSWER_WORTH = 0.5
"""Points of 10 that a served hit is worth more than a fresh answer of the same score."""

LAG = 3
"""Questions between asking and asking again in other words."""

CHANGE_EVERY = 4
"""Of every fourth question the source changes before it is asked again: it must miss."""

_PARAPHRASE = {
    "en": "Please tell me: {}",
    "es": "Por favor, dime: {}",
    "ru": "Скажи, пожалуйста: {}",
}


@dataclass(frozen=True)
class Event:
    """One moment of the stream: `question` is asked as `text`, after `changed` has changed."""

    question: Question
    text: str
    changed: str | None = None


@dataclass(frozen=True)
class Served:
    paid: PaidFor
    judged: Judged
    from_cache: bool


def make_stream(questions: Sequence[Question]) -> list[Event]:
    """Order the events: each question, and LAG questions later its paraphrase."""
    firsts = [(float(i), Event(q, q.text)) for i, q in enumerate(questions)]
    seconds = [(i + LAG + 0.5, _again(i, q)) for i, q in enumerate(questions)]
    return [event for _, event in sorted([*firsts, *seconds], key=lambda item: item[0])]


def _again(i: int, question: Question) -> Event:
    text = _PARAPHRASE.get(question.language, _PARAPHRASE["en"]).replace("{}", question.text)
    changes = i % CHANGE_EVERY == CHANGE_EVERY - 1 and question.source_ids
    return Event(question, text, question.source_ids[0] if changes else None)


class ReplayEvaluator(Evaluator):
    """An Evaluator for the layer `cache_policy`; a question's score is the mean of its events."""

    def cut(
        self, todo: Sequence[Trial], trials: Sequence[Trial], phase: Phase
    ) -> Iterator[tuple[Unit, Trial]]:
        """A stream is replayed whole: one unit for each genome that lacks a result."""
        for (contender, missing), (_, questions) in zip(todo, trials, strict=True):
            if missing:
                ids = tuple(q.id for q in questions)
                yield Unit(contender.genome_id, ids, phase), (contender, questions)

    async def eval_unit(
        self, contender: Contender, questions: Sequence[Question], phase: Phase
    ) -> list[Scored]:
        """Replay the stream of `questions` for one contender, through a cache of its own."""
        served = await self._serve(contender, questions, self.replicate(phase))
        shelf = Shelf(self.parts.tenant, self.cycle_id, contender.genome_id, phase)
        async with self.parts.db.transaction(self.parts.tenant) as tx:
            kept = [await keep_result(tx, shelf, q, _mean_outcome(served[q.id])) for q in questions]
        return [scored for scored, _ in kept]

    async def _serve(
        self, contender: Contender, questions: Sequence[Question], replicate: str
    ) -> dict[UUID, list[Served]]:
        """Fresh answers are bought ahead, side by side; the stream itself runs in order."""
        stream = make_stream(questions)
        genomes = _without_policy(contender.genomes)
        asked = [self.purchases.ask(event.text, genomes, replicate) for event in stream]
        fresh = await self.run_all(map(self.purchases.answer, asked))
        cache = self.parts.private_cache()
        policy = contender.genomes.cache_policy
        given = [await self._pass(cache, policy, e, f) for e, f in zip(stream, fresh, strict=True)]
        judged = await self.run_all(
            self._judge(event, paid, replicate)
            for event, (paid, _) in zip(stream, given, strict=True)
        )
        served: dict[UUID, list[Served]] = {q.id: [] for q in questions}
        for event, (paid, hit), verdict in zip(stream, given, judged, strict=True):
            served[event.question.id].append(Served(paid, verdict, hit))
        return served

    async def _pass(
        self, cache: AnswerCache, policy: CachePolicyGenome, event: Event, fresh: PaidFor
    ) -> tuple[PaidFor, bool]:
        """Let one event pass through the cache; give what is served and whether it was a hit."""
        scope = self.parts.scope
        key = CacheKey(scope.tenant_id, scope.corpus_id, "replay")
        if event.changed:
            await cache.forget_source(scope.tenant_id, scope.corpus_id, event.changed)
        hit = await cache.find(key, event.text)
        if hit is not None:
            return replace(fresh, answer=hit, latency_ms=0.0, tokens=0, micros=0), True
        if may_keep(policy, event.text, fresh.answer):
            await cache.keep(key, event.text, (), fresh.answer)
        return fresh, False

    async def _judge(self, event: Event, paid: PaidFor, replicate: str) -> Judged:
        async with self.reserved() as reservation:

            async def keep(tx: AsyncSession, judged: Judged) -> Judged:
                if judged.verdict != "found":
                    await reservation.settle(tx)
                return judged

            exam = exam_of(event.question, event.text, paid)
            return await self.purchases.judge(exam, replicate, keep)


def make_evaluator(parts: CycleParts, cycle: Cycle, on_scored: OnScored) -> Evaluator:
    """Make the evaluator of a cycle's layer."""
    kind = ReplayEvaluator if cycle.layer == "cache_policy" else Evaluator
    return kind(parts, cycle.id, on_scored)


def _without_policy(genomes: GenomeSet) -> GenomeSet:
    """A fresh answer is the same under every policy: it is bought once for all of them."""
    return genomes.with_genome(NEUTRAL_POLICY)


NEUTRAL_POLICY = CachePolicyGenome(
    min_supportedness=0.0,
    require_sources=False,
    min_sources_count=0,
    block_if_warnings=False,
    confidence_key_points_min=0,
)


def _mean_outcome(served: Sequence[Served]) -> Outcome:
    """One eval result of all events of a question: the mean, or unscored if any is."""
    outcomes = [outcome_of(s.paid, s.judged) for s in served]
    hits = sum(s.from_cache for s in served)
    last = outcomes[-1]
    scores = [o.judge_score for o in outcomes if o.judge_score is not None]
    complete = len(scores) == len(outcomes)
    missing = next((o.unscored_reason for o in outcomes if o.unscored_reason), None)
    return replace(
        last,
        answer_key=hash_key(*(o.answer_key for o in outcomes)),
        judge_score=sum(scores) / len(scores) if complete else None,
        unscored_reason=None if complete else missing,
        judge_reasoning=f"{hits} of {len(served)} served from the cache; {last.judge_reasoning}",
        bonus=SAVED_ANSWER_WORTH * hits / len(served),
        latency_ms=sum(o.latency_ms for o in outcomes) / len(outcomes),
        tokens=round(sum(o.tokens for o in outcomes) / len(outcomes)),
        micros=round(sum(o.micros for o in outcomes) / len(outcomes)),
    )
