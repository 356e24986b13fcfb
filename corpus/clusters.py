"""Which questions are near-duplicates: a cluster is never split between search and proof."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Protocol

from kit.stemming import terms
from pipeline.wording import fold

LEAST_OVERLAP = 0.6
"""Jaccard similarity of stems from which two questions on one document are one (measured on
paraphrases and on different questions about the same page; decision 0014)."""


class Clustered(Protocol):
    """What is asked of a question to place it."""

    @property
    def external_id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def source_ids(self) -> tuple[str, ...]: ...
    @property
    def parallel_id(self) -> str | None: ...


def find_clusters(questions: Sequence[Clustered]) -> list[str]:
    """Give the cluster of each question, named after the first question in it.

    Two questions share one if their dataset says so (`parallel_id`), if their wording is
    the same (`pipeline.wording`), or if they ask one document in nearly the same words. Who names
    no document may ask any: it is compared with all.
    """
    parent = list(range(len(questions)))
    for group in _same_groups(questions):
        for at in group[1:]:
            _join(parent, group[0], at)
    for first, second in _similar_pairs(questions):
        _join(parent, first, second)
    return [questions[_root(parent, at)].external_id for at in range(len(questions))]


def _same_groups(questions: Sequence[Clustered]) -> Iterable[list[int]]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, question in enumerate(questions):
        if question.parallel_id is not None:
            groups["parallel", question.parallel_id].append(at)
        groups["text", " ".join(terms(fold(question.text), ()))].append(at)
    return groups.values()


def _similar_pairs(questions: Sequence[Clustered]) -> Iterable[tuple[int, int]]:
    sources = [frozenset(q.source_ids) for q in questions]
    stems = [frozenset(terms(fold(q.text), [q.language])) for q in questions]
    for first, second in _close_pairs(stems):
        ours, theirs = sources[first], sources[second]
        if (ours & theirs) or not ours or not theirs:
            yield first, second


def _close_pairs(stems: Sequence[frozenset[str]]) -> Iterable[tuple[int, int]]:
    """Give the pairs with enough common stems, without a look at most of the others.

    Two sets of which 60 % is common share one of the few rarest stems of each (prefix
    filtering: Bayardo, Ma and Srikant 2007).
    """
    counts = Counter(stem for each in stems for stem in each)
    met: dict[str, list[int]] = defaultdict(list)
    for at, each in enumerate(stems):
        rarest_first = sorted(each, key=lambda stem: (counts[stem], stem))
        telling = rarest_first[: len(each) - ceil(LEAST_OVERLAP * len(each)) + 1]
        for other in {other for stem in telling for other in met[stem]}:
            if _jaccard(stems[other], each) >= LEAST_OVERLAP:
                yield other, at
        for stem in telling:
            met[stem].append(at)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def _root(parent: list[int], at: int) -> int:
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


def _join(parent: list[int], first: int, second: int) -> None:
    """Join two clusters; the earlier question names both."""
    low, high = sorted((_root(parent, first), _root(parent, second)))
    parent[high] = low
