"""The frozen state that one question carries from step to step."""

from dataclasses import dataclass, replace
from uuid import UUID

from kit.metering import MeteredCall
from models.contract import Answer, RetrievalResult, Turn
from models.genome import GenomeSet, QueryType
from pipeline.ports import Scope


@dataclass(frozen=True)
class StepRecord:
    """One line of a trace: which step, how long, what it did."""

    name: str
    ms: float
    note: str = ""


@dataclass(frozen=True)
class State:
    trace_id: UUID
    scope: Scope
    question: str
    language: str
    genomes: GenomeSet
    history: tuple[Turn, ...] = ()
    query_type: QueryType = "factual_lookup"
    retrieval: RetrievalResult | None = None
    answer: Answer | None = None
    from_cache: bool = False
    admitted: bool = False
    note: str = ""
    """What the last step wants the trace to say."""
    steps: tuple[StepRecord, ...] = ()
    calls: tuple[MeteredCall, ...] = ()
    """The model calls that the run made, for the books."""

    def noted(self, note: str, **changes: object) -> "State":
        """The same state after a step: its changes, and one line for the trace."""
        return replace(self, note=note, **changes)  # type: ignore[arg-type]
