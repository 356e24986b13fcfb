"""The port of every judge: what it may see, and what it gives back."""

from dataclasses import dataclass
from typing import Protocol

from judge.verdict import Unscored, Verdict
from models.contract import Answer, Chunk, Reference


@dataclass(frozen=True)
class Exam:
    """One answer to judge. No genome, no author: a judge must not know whom it judges."""

    question: str
    language: str
    answer: Answer
    chunks: tuple[Chunk, ...]
    """The fragments that the answer was made from."""
    reference: Reference


class Judge(Protocol):
    """Scores an answer. An outage raises kit.errors.ProviderError; a reply that cannot be
    read is Unscored, after one more try."""

    @property
    def version(self) -> str:
        """Changes whenever the same exam could get another verdict."""
        ...

    async def judge(self, exam: Exam) -> Verdict | Unscored: ...
