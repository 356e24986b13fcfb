"""Many judgements in one line: the mean is never said without how many it stands on."""

from collections.abc import Iterable
from dataclasses import dataclass

from judge.verdict import Unscored, Verdict


@dataclass(frozen=True)
class Summary:
    """`mean` is over the scored alone, and None where nothing was scored: never NaN, never 0."""

    mean: float | None
    scored: int
    unscored: int

    @property
    def total(self) -> int:
        return self.scored + self.unscored

    @property
    def coverage(self) -> float:
        """The share that was scored, 0-1; of nothing, nothing is missing."""
        return self.scored / self.total if self.total else 1.0

    def __str__(self) -> str:
        if self.mean is None:
            return f"not scored (0 of {self.total} judged)"
        return f"{self.mean:.2f} over {self.scored} judged of {self.total} ({self.coverage:.0%})"


def summarise(judgements: Iterable[Verdict | Unscored]) -> Summary:
    """Give mean and coverage. A failed answer is a verdict of 0; a failed judging is none."""
    scores: list[float] = []
    unscored = 0
    for judgement in judgements:
        if isinstance(judgement, Verdict):
            scores.append(judgement.score)
        else:
            unscored += 1
    mean = sum(scores) / len(scores) if scores else None
    return Summary(mean=mean, scored=len(scores), unscored=unscored)


def are_comparable(one: Summary, other: Summary, least_coverage: float = 0.8) -> bool:
    """Tell whether two means may be held against each other: both stand on enough verdicts."""
    return min(one.coverage, other.coverage) >= least_coverage and None not in (
        one.mean,
        other.mean,
    )
