"""What a judge says of one answer: four criteria and their mean, or unscored with a reason."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from models.contract import Frozen

Criterion = Literal["completeness", "precision", "sources", "concision"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
Score = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class CriterionVerdict(Frozen):
    """Evidence first, then a short reason, then the score: 0-10."""

    evidence: tuple[str, ...] = ()
    reason: str
    score: Score


class Verdict(Frozen):
    """A scored answer. The mean is computed here, never by a model."""

    kind: Literal["scored"] = "scored"
    criteria: dict[Criterion, CriterionVerdict] = Field(min_length=len(CRITERIA))
    raw: str = ""
    dropped_fragments: tuple[str, ...] = ()
    """Chunks that the judge did not see, as they did not fit into its context."""
    judge: str
    """Name and version of who judged: part of every verdict's key."""

    @property
    def score(self) -> float:
        """Mean of the four criteria, 0-10."""
        return sum(c.score for c in self.criteria.values()) / len(self.criteria)

    @property
    def reasoning(self) -> str:
        return "; ".join(f"{name}: {c.reason}" for name, c in self.criteria.items())


class Unscored(Frozen):
    """An answer that could not be judged: never a zero, never silently absent."""

    kind: Literal["unscored"] = "unscored"
    reason: str
    raw: str = ""
    dropped_fragments: tuple[str, ...] = ()
    judge: str


Judgement = Annotated[Verdict | Unscored, Field(discriminator="kind")]
