"""An answer cut for reading: its text between citations, and its steps on one time line."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from models.contract import Answer
from pipeline.state import StepRecord

_CITATION = re.compile(r"\[(\d{1,3})\]")


class AnswerPiece(NamedTuple):
    """Running text, or the number of a source that the answer names."""

    text: str
    number: int | None = None


class StepBar(NamedTuple):
    """A step with its place on the time line, in per cent."""

    step: StepRecord
    start: float
    width: float


def cut_at_citations(answer: Answer) -> tuple[AnswerPiece, ...]:
    """Split the text at each `[n]` that names a source of the answer; other brackets are text."""
    known = {source.number for source in answer.sources}
    pieces: list[AnswerPiece] = []
    end = 0
    for match in _CITATION.finditer(answer.answer):
        if int(match[1]) in known:
            pieces.append(AnswerPiece(answer.answer[end : match.start()]))
            pieces.append(AnswerPiece(match[0], int(match[1])))
            end = match.end()
    pieces.append(AnswerPiece(answer.answer[end:]))
    return tuple(piece for piece in pieces if piece.text)


def timeline(steps: Sequence[StepRecord]) -> tuple[StepBar, ...]:
    """Lay the steps end to end; each keeps a sliver, however short it was."""
    total = sum(step.ms for step in steps) or 1.0
    bars, start = [], 0.0
    for step in steps:
        width = 100 * step.ms / total
        bars.append(StepBar(step, round(min(start, 99.0), 2), round(max(width, 0.6), 2)))
        start += width
    return tuple(bars)
