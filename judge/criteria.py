"""The four criteria of the built-in judge: each from measures to evidence, reason and score."""

import math
from collections.abc import Sequence

from judge.measures import Measures
from judge.verdict import CriterionVerdict
from kit.overlap import spread_length

ROOMY_CHARS = 160
"""No quoted sentence is padding because the reference was a single number."""
WITHOUT_REFERENCE_CHARS = 300
ROOM = 1.3
"""How much longer than the reference an answer may be before it costs."""
COST_OF_DOUBLE = 4.0
WORDS = 0.55
"""The weight of the words beside the meaning; a translation has no word in common."""
WRONG_SOURCES = 0.4
"""What marks are worth where none of the cited documents is known to hold the answer."""
EVIDENCE = 2
EVIDENCE_CHARS = 160


def judge_completeness(measures: Measures) -> CriterionVerdict:
    """What the answer brings of what was wanted: by words, by meaning, by numbers."""
    by_words = 0.0 if measures.is_translated else WORDS
    share = by_words * measures.recall + (1 - by_words) * measures.closeness
    if not measures.exam.reference.answer:
        share *= _mean(measures.supported)
    if measures.gold_share is not None:
        weight = 0.1 if measures.exam.reference.answer else 0.4
        share = (1 - weight) * share + weight * (measures.gold_share > 0)
    if measures.numbers_missed:
        share *= 1 - 0.6 * len(measures.numbers_missed) / len(measures.numbers_wanted)
    if measures.contradiction:
        share *= 0.5
    return _verdict(share, _completeness_reason(measures), _best(measures))


def judge_precision(measures: Measures) -> CriterionVerdict:
    """Whether each claim is backed by the fragments and to the point."""
    if not measures.exam.chunks:
        return _verdict(0, "there were no fragments, so the answer is invented", ())
    worth = [
        _worth(backed, known, near)
        for backed, known, near in zip(
            measures.supported, measures.numbers_known, measures.nearness, strict=True
        )
    ]
    share = _mean(worth)
    bare = [c.text for c, ok in zip(measures.claims, measures.supported, strict=True) if not ok]
    reason = f"{len(measures.claims) - len(bare)} of {len(measures.claims)} claims are supported"
    reason += f", {_mean(measures.nearness):.0%} near in meaning"
    if measures.contradiction:
        share *= 0.3
        reason += "; it contradicts the reference"
        bare = [measures.contradiction, *bare]
    return _verdict(share, reason, tuple(bare))


def judge_sources(measures: Measures) -> CriterionVerdict:
    """Whether the claims name fragments that were given and that hold the answer."""
    listed = measures.valid_sources
    marked = _mean(measures.covered)
    truth = _mean(measures.supported) if listed else 0.0
    if measures.gold_share is not None:
        truth = 0.7 * (measures.gold_share > 0) + 0.3 * measures.gold_share
    share = 0.2 * bool(listed) + 0.3 * marked + 0.5 * truth - 0.3 * measures.invalid_count
    if measures.gold_share == 0:
        share *= WRONG_SOURCES
    reason = f"{len(listed)} sources listed, {marked:.0%} of the claims marked"
    if measures.gold_share == 0:
        reason += ", none from a document known to hold the answer"
    if measures.invalid_count:
        reason += f", {measures.invalid_count} citations of nothing that was given"
    return _verdict(share, reason, tuple(source.title for source in listed))


def judge_concision(measures: Measures, completeness: float) -> CriterionVerdict:
    """Length against what is needed; being short is no merit where nothing was said."""
    reference = measures.exam.reference.answer
    room = max(ROOMY_CHARS, ROOM * spread_length(reference)) if reference else 0.0
    length, room = spread_length(measures.plain), room or WITHOUT_REFERENCE_CHARS
    score = 10 - COST_OF_DOUBLE * max(0.0, math.log2(max(length, 1) / room))
    score *= 1 - measures.repeated / max(len(measures.claims), 1)
    score = min(score, 2 + 1.2 * completeness)
    reason = f"{length:.0f} characters where about {room:.0f} do"
    if measures.repeated:
        reason += f", {measures.repeated} claims repeated"
    return _verdict(score / 10, reason, ())


def _worth(backed: bool, numbers_known: bool, near: float) -> float:
    """What one claim is worth, 0-1: told in other words it may still be right, but not if it
    brings a number that stands nowhere."""
    if backed:
        return 0.2 + 0.8 * near
    return (0.6 if numbers_known else 0.1) * near


def _completeness_reason(measures: Measures) -> str:
    of = "reference" if measures.exam.reference.answer else "question"
    reason = (
        f"holds {measures.recall:.0%} of the {of}'s words, meaning {measures.closeness:.0%} near"
    )
    if measures.numbers_missed:
        reason += f", misses {', '.join(sorted(measures.numbers_missed))}"
    return reason


def _best(measures: Measures) -> tuple[str, ...]:
    """The claim that comes nearest to what was wanted."""
    if not measures.telling:
        return ()
    return (measures.claims[max(measures.telling, key=lambda at: measures.nearness[at])].text,)


def _verdict(share: float, reason: str, evidence: tuple[str, ...]) -> CriterionVerdict:
    score = round(10 * min(1.0, max(0.0, share)), 2)
    quotes = tuple(text[:EVIDENCE_CHARS] for text in evidence[:EVIDENCE])
    return CriterionVerdict(evidence=quotes, reason=reason, score=score)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
