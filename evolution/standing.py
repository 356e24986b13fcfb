"""Where a search stands: who leads, by how much, and what is shown of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evolution.breeding.population import Member, Population, View
from evolution.shapes import CandidateProgress, Claim, FrontPoint, Refusal

SHOWN = 12
"""Candidates on the board: those that look best by now."""

State = Literal["racing", "dropped", "finalist", "incumbent"]


@dataclass(frozen=True)
class Finalist:
    """The member that the search nominates, what it is put up for, and the gain it expects."""

    member: Member
    claim: Claim
    gain: float
    error: float
    cost: float = 1.0
    """Of an answer, expected, as a share of the incumbent's."""

    @property
    def answers(self) -> int:
        return len(self.member.scores)


@dataclass(frozen=True)
class Standing:
    """What the search has come to. `best` is there even where it is not worth a proof."""

    incumbent: Member
    best: Finalist | None
    is_promising: bool
    tried: int
    answers: int
    """Judged search answers of this cycle."""
    refused: tuple[Refusal, ...]
    front: tuple[FrontPoint, ...]
    raced: bool
    """The model did not explain the data: the best was found by paired differences alone."""


def lines_of(population: Population, view: View) -> tuple[CandidateProgress, ...]:
    """Make the lines of the board: the incumbent, and the candidates that look best."""
    gains = gains_of(population.candidates, view)
    level = _mean(population.incumbent)
    lines = [line_of(m, "racing", level, gain) for m, gain in gains[:SHOWN]]
    return (line_of(population.incumbent, "incumbent", level, None), *lines)


def gains_of(members: Sequence[Member], view: View) -> list[tuple[Member, float]]:
    """Give the members with the gain that the model expects of each, best first."""
    placed = [(m, point) for m in members if (point := view.space.point_of(m.genome)) is not None]
    if not placed or not view.search.observations:
        return [(member, 0.0) for member in members]
    gain, _ = view.search.model.gain([point for _, point in placed])
    order = np.argsort(-gain, kind="stable")
    return [(placed[i][0], float(gain[i])) for i in order]


def line_of(
    member: Member, state: State, level: float | None, gain: float | None
) -> CandidateProgress:
    """Make the line of one genome.

    A candidate's mean is the incumbent's and the gain that is expected of it: its own plain
    mean would be that of the few questions it was put to.
    """
    expected = None if gain is None or level is None else level + gain
    return CandidateProgress(
        genome_id=member.row.id,
        name=member.contender.name,
        operator=member.row.operator,
        note=member.row.notes,
        state=state,
        answered=len(member.answers),
        scored=len(member.scores),
        mean=_mean(member) if state == "incumbent" else expected,
        delta=gain,
    )


def _mean(member: Member) -> float | None:
    return float(np.mean(list(member.scores.values()))) if member.scores else None
