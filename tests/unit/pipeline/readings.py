"""Readings for the tests of readers: fragments of a small invented library."""

from typing import Any

from models.contract import Chunk, Turn
from models.defaults import DEFAULT_SET
from models.genome import GenomeSet, QueryType
from pipeline.ports import Reading

HOURS = (
    "The library closes at 18:00 on weekdays. On Sundays it stays closed all day. "
    "Members may use the reading room until 21:00."
)
FINES = "A late book costs 0.50 a day. The library never fines children."


def make_chunk(number: int, text: str, **changes: Any) -> Chunk:
    fields: dict[str, Any] = {
        "chunk_id": f"c{number}",
        "source_id": f"doc{number}",
        "title": f"Document {number}",
        "text": text,
        "url_or_internal_ref": f"doc{number}.md",
        "language": "en",
        "similarity": 0.9,
    }
    return Chunk(**fields | changes)


LIBRARY = (make_chunk(1, HOURS), make_chunk(2, FINES))


def make_genomes(form: str = "prose", **postprocess: Any) -> GenomeSet:
    """The default genomes with other genes of choice; `form` for every type of question."""
    profiles = {
        name: profile.model_copy(update={"format": form})
        for name, profile in DEFAULT_SET.routing.profiles.items()
    }
    return DEFAULT_SET.with_genome(
        DEFAULT_SET.routing.model_copy(update={"profiles": profiles})
    ).with_genome(DEFAULT_SET.postprocess.model_copy(update=postprocess))


def make_reading(
    question: str = "When does the library close on weekdays?",
    chunks: tuple[Chunk, ...] = LIBRARY,
    genomes: GenomeSet | None = None,
    *,
    language: str = "en",
    history: tuple[Turn, ...] = (),
    query_type: QueryType = "factual_lookup",
    abstain_below: float = 0.8,
) -> Reading:
    return Reading(
        question=question,
        language=language,
        history=history,
        chunks=chunks,
        genomes=genomes or make_genomes(),
        query_type=query_type,
        abstain_below=abstain_below,
    )
