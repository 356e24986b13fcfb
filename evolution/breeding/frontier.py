"""The per-question frontier: who is among the best on which question, and who becomes a parent."""

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

GenomeKey = TypeVar("GenomeKey", bound=Hashable)
Scores = Mapping[GenomeKey, Mapping[Hashable, float]]
"""Genome -> question -> score, 0-10. A genome need not have answered every question."""

MIN_RESIDUALS = 10
"""Fewer scores than this beyond what the means explain, and the noise cannot be told."""

ROUNDS = 50
"""Of fitting genomes and questions in turn."""

USUAL_NOISE = 1.0
"""Standard deviation of one judged score, in points of 10, where it cannot be told."""


def best_sets(scores: Scores[GenomeKey], noise: float | None = None) -> list[frozenset[GenomeKey]]:
    """Give for each question that two or more answered those who are best on it.

    Whoever lies within one standard error (`noise`, of one score) of the best ties with it.
    None estimates the noise from the scores themselves.
    """
    reach = estimate_noise(scores) if noise is None else noise
    return [
        frozenset(who for who, score in asked.items() if score >= max(asked.values()) - reach)
        for asked in _by_question(scores)
        if len(asked) > 1
    ]


def drop_dominated(
    sets: Sequence[frozenset[GenomeKey]], worst_first: Sequence[GenomeKey]
) -> dict[GenomeKey, int]:
    """Drop who is nowhere needed: each of its questions has another one in its set, who stays.

    Gives the number of questions that each of the others wins. Weaker genomes are dropped
    first (Agrawal et al. 2025, GEPA, algorithm 2).
    """
    kept = dict.fromkeys(worst_first)
    for who in worst_first:
        mine = [best for best in sets if who in best]
        if len(kept) > 1 and all(len(best & kept.keys()) > 1 for best in mine):
            del kept[who]
    return {who: sum(who in best for best in sets) for who in kept}


def draw_parent(
    scores: Scores[GenomeKey], rng: random.Random, noise: float | None = None
) -> GenomeKey:
    """Draw a parent in proportion to the questions that it wins, dominated genomes left out.

    Where no question was answered by two, all are alike. Raises ValueError where nobody has
    a score.
    """
    known = sorted((who for who, asked in scores.items() if asked), key=lambda who: str(who))
    if not known:
        raise ValueError("no genome has a score")
    worst_first = sorted(known, key=lambda who: float(np.mean(list(scores[who].values()))))
    won = drop_dominated(best_sets(scores, noise), worst_first)
    candidates = [who for who in known if won.get(who)] or known
    return rng.choices(candidates, [won.get(who) or 1 for who in candidates])[0]


def estimate_noise(scores: Scores[GenomeKey]) -> float:
    """Estimate the standard deviation of one score around genome and question means.

    Residuals of an additive two-way layout with missing cells; its least squares are found by
    fitting genomes and questions in turn (Gauss-Seidel), in memory that grows with the scores.
    """
    cells = [(g, q, s) for g, asked in scores.items() for q, s in asked.items()]
    names = {g: i for i, g in enumerate(dict.fromkeys(g for g, _, _ in cells))}
    asked = {q: i for i, q in enumerate(dict.fromkeys(q for _, q, _ in cells))}
    free = len(cells) - len(names) - len(asked) + 1
    if free < MIN_RESIDUALS:
        return USUAL_NOISE
    left = np.array([score for _, _, score in cells])
    sides = [np.array([names[g] for g, _, _ in cells]), np.array([asked[q] for _, q, _ in cells])]
    for _ in range(ROUNDS):
        for side in sides:
            left -= (np.bincount(side, left) / np.bincount(side))[side]
    return float(np.sqrt(np.sum(left**2) / free))


def _by_question(scores: Scores[GenomeKey]) -> list[dict[GenomeKey, float]]:
    asked: dict[Hashable, dict[GenomeKey, float]] = {}
    for who, answers in scores.items():
        for question, score in answers.items():
            asked.setdefault(question, {})[who] = score
    return list(asked.values())
