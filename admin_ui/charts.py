"""The geometry of the pictures. All positions are per cent of the picture's width or height:
drawn without a view box, they fit every width and leave texts and dots at their own size."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evolution.shapes import CandidateProgress, Proof

Side = Literal["worse", "same", "better"]


@dataclass(frozen=True)
class Interval:
    """A gain with its interval on an axis that holds zero."""

    zero: float
    low: float
    high: float
    gain: float
    start: float
    """The value at the left end of the axis; `end` at the right."""
    end: float

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    y: float
    height: float
    side: Side
    title: str


@dataclass(frozen=True)
class Histogram:
    bars: tuple[Bar, ...]
    zero: float
    start: float
    end: float
    top: int
    """Questions in the highest bar."""


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    state: str
    name: str
    title: str


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Race:
    """Candidates by how far they went (x) and their difference to the incumbent (y)."""

    dots: tuple[Dot, ...]
    zero: float
    columns: tuple[Tick, ...]
    rows: tuple[Tick, ...]


def draw_interval(proof: Proof) -> Interval:
    """Place the interval and the gain of a proof."""
    values = [v for v in (proof.low, proof.high, proof.gain, 0.0) if math.isfinite(v)]
    room = max(0.1, 0.15 * (max(values) - min(values)))
    start, end = min(values) - room, max(values) + room

    def place(value: float) -> float:
        return _percent((min(max(value, start), end) - start) / (end - start))

    return Interval(place(0), place(proof.low), place(proof.high), place(proof.gain), start, end)


def draw_histogram(deltas: Sequence[float], bin_width: float = 0.5) -> Histogram | None:
    """Count differences in bins of half a point, centred on zero; None where there are none."""
    if not deltas:
        return None
    bins = Counter(round(delta / bin_width) for delta in deltas)
    first, last = min(*bins, -2), max(*bins, 2)
    count, top = last - first + 1, max(bins.values())
    bars = tuple(
        Bar(
            x=_percent((index - first) / count),
            width=_percent(1 / count),
            y=_percent(1 - bins[index] / top),
            height=_percent(bins[index] / top),
            side=_side(index),
            title=f"{bins[index]} at {index * bin_width:+.1f}".replace("-", "\u2212"),
        )
        for index in sorted(bins)
    )
    zero = _percent((0.5 - first) / count)
    return Histogram(bars, zero, first * bin_width, last * bin_width, top)


def draw_race(candidates: Sequence[CandidateProgress]) -> Race | None:
    """Place each candidate that has a difference; None while there is none."""
    shown = [c for c in candidates if c.delta is not None and c.state != "incumbent"]
    if not shown:
        return None
    columns = sorted({c.answered for c in shown})
    reach = max(0.25, *(abs(c.delta or 0.0) for c in shown))
    height = reach * 1.15
    dots = [dot for column in columns for dot in _column(shown, column, columns, height)]
    step = _step(reach)
    levels = [n * step for n in range(-int(reach / step), int(reach / step) + 1)]
    rows = tuple(Tick(_level(value, height), f"{value:+.1f}") for value in levels)
    ticks = tuple(Tick(_spot(c, columns), str(c)) for c in columns)
    return Race(tuple(dots), 50.0, ticks, rows)


def _column(
    shown: list[CandidateProgress], column: int, columns: list[int], height: float
) -> list[Dot]:
    """Dots of one number of questions, fanned out sideways so that none hides another."""
    group = sorted((c for c in shown if c.answered == column), key=lambda c: c.delta or 0.0)
    spread = min(3.2, 26.0 / (len(group) * len(columns)))
    middle = (len(group) - 1) / 2
    return [
        Dot(
            x=round(_spot(column, columns) + (index - middle) * spread, 2),
            y=_level(c.delta or 0.0, height),
            state=c.state,
            name=c.name,
            title=f"{c.name}: {c.delta:+.2f} after {column} questions, {c.state}",
        )
        for index, c in enumerate(group)
    ]


def _spot(column: int, columns: list[int]) -> float:
    return round(10 + 84 * (columns.index(column) + 0.5) / len(columns), 2)


def _level(value: float, height: float) -> float:
    return round(50 - 50 * value / height, 2)


def _step(reach: float) -> float:
    return next((step for step in (0.1, 0.2, 0.5, 1.0, 2.0) if reach / step < 3), 5.0)


def _side(index: int) -> Side:
    return "same" if index == 0 else "better" if index > 0 else "worse"


def _percent(share: float) -> float:
    return round(100 * share, 2)
