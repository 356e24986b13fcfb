"""Which sentences of the given fragments answer a question best, and whether any does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kit.overlap import Weights, bag_of
from kit.sentences import Unit, split_units
from models.contract import Chunk

COVERED_FROM = 0.2
"""Without vectors: the weighted share of the question that one fragment must hold."""
QUOTABLE = ("sentence", "item", "row", "code")
CODE_WEIGHT = 0.5
"""A block of code is an example more often than an answer, and may repeat the very question."""


@dataclass(frozen=True)
class Quote:
    """One sentence of fragment `number` (from 1), verbatim, and how well it fits."""

    number: int
    place: tuple[str, int, int, int]
    """Where it stands: document, byte, fragment and sentence. Orders quotes as documents do."""
    kind: str
    text: str
    score: float


@dataclass(frozen=True)
class _Fragment:
    number: int
    chunk: Chunk
    units: tuple[Unit, ...]
    bags: tuple[frozenset[str], ...]
    head: frozenset[str]


def find_quotes(question: str, language: str, chunks: Sequence[Chunk]) -> list[Quote]:
    """Give the sentences of `chunks`, best first; what stands there twice is given once.

    A sentence scores by the weighted stems that it shares with the question, a part of what
    its neighbours and headings share, its fragment's rank, and its place in the fragment.
    """
    languages = _languages(language, chunks)
    wanted = bag_of(question, languages)
    fragments = [_read(n, chunk, languages) for n, chunk in enumerate(chunks, start=1)]
    weights = Weights(bag for fragment in fragments for bag in fragment.bags)
    quotes = [q for fragment in fragments for q in _score(fragment, wanted, weights)]
    quotes.sort(key=lambda quote: (-quote.score, quote.number, quote.place))
    return list({_plain(quote.text): quote for quote in reversed(quotes)}.values())[::-1]


def is_covered(question: str, language: str, chunks: Sequence[Chunk]) -> bool:
    """Tell by words alone whether some fragment speaks of what is asked."""
    languages = _languages(language, chunks)
    wanted = bag_of(question, languages)
    fragments = [_read(n, chunk, languages) for n, chunk in enumerate(chunks, start=1)]
    weights = Weights(bag for fragment in fragments for bag in fragment.bags)
    shares = (weights.share(wanted, f.head.union(*f.bags)) for f in fragments)
    return max(shares, default=0.0) >= COVERED_FROM


def _languages(language: str, chunks: Iterable[Chunk]) -> tuple[str, ...]:
    return tuple(sorted({language, *(chunk.language for chunk in chunks)}))


def _read(number: int, chunk: Chunk, languages: tuple[str, ...]) -> _Fragment:
    units = split_units(chunk.text, chunk.language)
    head = bag_of(" ".join((chunk.title, *chunk.heading_path)), languages)
    return _Fragment(number, chunk, units, tuple(bag_of(u.text, languages) for u in units), head)


def _score(fragment: _Fragment, wanted: frozenset[str], weights: Weights) -> list[Quote]:
    shares = [weights.share(wanted, bag) for bag in fragment.bags]
    base = 0.3 * weights.share(wanted, fragment.head) + 0.2 / fragment.number
    return [
        Quote(
            fragment.number,
            _place(fragment, at),
            unit.kind,
            unit.text,
            base + _own(shares, at) * (CODE_WEIGHT if unit.kind == "code" else 1.0),
        )
        for at, unit in enumerate(fragment.units)
        if unit.kind in QUOTABLE
    ]


def _own(shares: Sequence[float], at: int) -> float:
    before = shares[at - 1] if at else 0.0
    after = shares[at + 1] if at + 1 < len(shares) else 0.0
    return shares[at] + 0.4 * before + 0.2 * after + 0.05 / (at + 1)


def _place(fragment: _Fragment, at: int) -> tuple[str, int, int, int]:
    offsets = fragment.chunk.offsets
    start = offsets.byte_start if offsets.byte_start is not None else fragment.number
    return (fragment.chunk.source_id, start, fragment.number, at)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
