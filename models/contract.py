"""What every room speaks: questions, fragments, answers and where they came from."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

MAX_QUESTION_CHARS = 8_000

Language = Annotated[str, Field(min_length=2, max_length=8)]
"""An ISO 639-1 code (`en`, `es`, `ru`)."""


class Frozen(BaseModel):
    """A value: never changed after it is made, compared by content."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(Frozen):
    """One message of a conversation that came before the question."""

    role: Literal["user", "assistant"]
    content: str


class Offsets(Frozen):
    """Where a fragment stands in its document; what is not known is absent."""

    page: int | None = None
    byte_start: int | None = None
    byte_end: int | None = None
    token_start: int | None = None
    token_end: int | None = None


class Chunk(Frozen):
    """One retrieved fragment. `score` grows with relevance; its scale is the retriever's own."""

    chunk_id: str
    source_id: str
    title: str
    text: str
    url_or_internal_ref: str
    heading_path: tuple[str, ...] = ()
    language: Language = "en"
    offsets: Offsets = Offsets()
    score: float = 0.0
    similarity: float | None = None
    """Cosine of question and fragment in [-1, 1]; None where no vector was there to compare."""
    metadata: dict[str, Any] = Field(default_factory=dict)


class RetrievalUsage(Frozen):
    provider: str
    query_count: int = 0
    result_count: int = 0
    billable_units: int = 0


class RetrievalResult(Frozen):
    """The fragments found for one question, best first."""

    trace_id: UUID
    tenant_id: UUID
    corpus: str
    chunks: tuple[Chunk, ...] = ()
    usage: RetrievalUsage


class Citation(Frozen):
    """One source that an answer names with `[number]`."""

    number: int = Field(ge=1)
    source_id: str
    title: str
    url_or_internal_ref: str
    chunk_id: str
    offsets: Offsets = Offsets()
    score: float = 0.0
    retrieval_provider: str = "postgres"
    model_provider: str | None = None
    model_provider_citation_payload: dict[str, Any] | None = None


class Answer(Frozen):
    """What a question became under the contract of the `postprocess` layer."""

    answer: str
    key_points: tuple[str, ...] = ()
    sources: tuple[Citation, ...] = ()
    warnings: tuple[str, ...] = ()
    supportedness: float = Field(default=0.0, ge=0, le=1)
    """Share of the answer's sentences that a given fragment supports."""
    abstained: bool = False
    finish_reason: Literal["stop", "length", "error"] = "stop"
    reader: str = ""
    """Who wrote it: a model's name, or `built-in extractive reader`."""


class Reference(Frozen):
    """What is known of the right answer to an evaluation question."""

    answer: str | None = None
    source_ids: tuple[str, ...] = ()
    answerable: bool = True
