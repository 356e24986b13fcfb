"""Whether an answer cites what it was really given, and how much of it those fragments support."""

from collections.abc import Sequence

from kit.evidence import Evidence
from kit.language import detect_language
from kit.marks import claims_in, keep_marks, marked_numbers, without_marks
from models.contract import Answer, Chunk, Citation


def check_citations(answer: Answer, chunks: Sequence[Chunk]) -> tuple[Answer, int]:
    """Hold every `[n]` and every source against the fragments given, numbered from 1.

    Give the answer with only those that exist, and how many did not. What was taken out is
    named in the warnings; numbers stay those of the fragments. A fragment that the text marks
    is a source even where the answer forgot to list it. `supportedness` is computed anew.
    """
    given = {number: cite(number, chunk) for number, chunk in enumerate(chunks, start=1)}
    marked = marked_numbers(answer.answer)
    listed = {source.number: source for source in reversed(answer.sources)}
    wrong = {n for n, source in listed.items() if not _is_given(source, given)}
    invented = sorted(wrong | {n for n in marked if n not in given})
    text = keep_marks(answer.answer, lambda number: number not in invented)
    numbers = [n for n in dict.fromkeys((*reversed(listed), *marked)) if n not in invented]
    checked = answer.model_copy(
        update={
            "answer": text,
            "sources": tuple(listed.get(n, given[n]) for n in numbers),
            "warnings": (*answer.warnings, *_warnings(invented)),
            "supportedness": 0.0 if answer.abstained else measure_support(text, chunks),
        }
    )
    return checked, len(invented)


def cite(number: int, chunk: Chunk) -> Citation:
    """Name a fragment as the source that `[number]` points to."""
    return Citation(
        number=number,
        source_id=chunk.source_id,
        title=chunk.title,
        url_or_internal_ref=chunk.url_or_internal_ref,
        chunk_id=chunk.chunk_id,
        offsets=chunk.offsets,
        score=chunk.score,
    )


def measure_support(text: str, chunks: Sequence[Chunk]) -> float:
    """Give the share of the sentences of `text` that a fragment supports, 0-1.

    A marked sentence must find support in a fragment that it names, an unmarked one in any.
    """
    language = detect_language(without_marks(text), chunks[0].language if chunks else "en")
    claims = claims_in(text, language)
    if not claims:
        return 0.0
    evidence = Evidence([(chunk.text, chunk.language) for chunk in chunks], language)
    named = [[n - 1 for n in claim.numbers if 1 <= n <= len(chunks)] for claim in claims]
    supported = [
        evidence.supports(claim.text, among or range(len(chunks)), cited=bool(among))
        for claim, among in zip(claims, named, strict=True)
    ]
    return sum(supported) / len(supported)


def _is_given(source: Citation, given: dict[int, Citation]) -> bool:
    return source.number in given and given[source.number].chunk_id == source.chunk_id


def _warnings(invented: Sequence[int]) -> list[str]:
    if not invented:
        return []
    numbers = ", ".join(f"[{n}]" for n in invented)
    return [f"Removed citations of fragments that were not given: {numbers}."]
