"""The built-in reader: it needs no model, quotes the best sentences verbatim and can refuse."""

import re
from collections.abc import Sequence
from itertools import pairwise
from textwrap import indent

from kit.embedding import Embedder
from kit.marks import escape_marks
from kit.refusals import refusal_in
from models.contract import Answer, Chunk, Citation
from models.genome import RoutingProfile
from pipeline.citations import cite
from pipeline.meaning import MeaningReranker
from pipeline.ports import Reading
from pipeline.quotes import Quote, find_quotes, is_covered

CHARS_PER_TOKEN = 4
MOST_QUOTES = {"concise": 1, "adaptive": 3, "comprehensive": 8}
KEEP_FROM = {"concise": 0.0, "adaptive": 0.65, "comprehensive": 0.35}
"""The share of the best quote's score that a further quote must reach, by verbosity."""
_FENCES = ("```", "~~~")
_FINISHED = re.compile(r"[.!?…。！？؟।۔][\"'»”’)\]*_`]*(?: \[\d+\])?$")
"""A text that ends as a sentence does, with or without its mark."""
KEY_POINTS = 3
KEY_POINT_CHARS = 160


class ExtractiveReader:
    """Answers with the sentences that fit the question best, each with its fragment's number.

    With an embedder the best sentences by words are put in order by meaning as well. The same
    reading always gives the same answer. Every gene that is no prompt's text is obeyed.
    """

    name = "built-in extractive reader"
    inert_genes = frozenset({"postprocess.system_prompt*", "routing.profiles.*.system_prompt*"})

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._reranker = MeaningReranker(embedder) if embedder else None

    async def read(self, reading: Reading) -> Answer:
        """Quote, or refuse where no fragment comes near the question."""
        if not _is_answerable(reading):
            return self._refuse(reading)
        quotes = find_quotes(reading.question, reading.language, reading.chunks)
        if not quotes:
            return self._refuse(reading)
        if self._reranker is not None:
            quotes = await self._reranker.rerank(reading.question, quotes)
        return self._quote(reading, _choose(quotes, reading.genomes.postprocess.verbosity))

    def _refuse(self, reading: Reading) -> Answer:
        return Answer(answer=refusal_in(reading.language), abstained=True, reader=self.name)

    def _quote(self, reading: Reading, chosen: Sequence[Quote]) -> Answer:
        profile = reading.genomes.routing.profiles[reading.query_type]
        policy = reading.genomes.postprocess.citation_policy
        fitting = _fit(chosen, reading.genomes.postprocess.max_tokens, policy, profile)
        best_is_there = chosen[0] in fitting
        return Answer(
            answer=_write(fitting, policy, profile),
            key_points=tuple(_shorten(q.text) for q in fitting[:KEY_POINTS]),
            sources=_sources(fitting, reading.chunks),
            warnings=tuple(_warnings(fitting, reading)),
            supportedness=1.0 if fitting else 0.0,
            finish_reason="stop" if best_is_there else "length",
            reader=self.name,
        )


def _is_answerable(reading: Reading) -> bool:
    known = [c.similarity for c in reading.chunks if c.similarity is not None]
    if known:
        return max(known) >= reading.abstain_below
    return is_covered(reading.question, reading.language, reading.chunks)


def _choose(quotes: Sequence[Quote], verbosity: str) -> list[Quote]:
    """The best quotes, best first: as many as the gene `verbosity` allows."""
    least = quotes[0].score * KEEP_FROM[verbosity]
    return [quote for quote in quotes if quote.score >= least][: MOST_QUOTES[verbosity]]


def _fit(
    chosen: Sequence[Quote], max_tokens: int, policy: str, profile: RoutingProfile
) -> list[Quote]:
    """Drop whole sentences, the worst first, until the written answer fits into `max_tokens`."""
    kept: list[Quote] = []
    for quote in chosen:
        written = _write([*kept, quote], policy, profile)
        if len(written) <= max_tokens * CHARS_PER_TOKEN:
            kept.append(quote)
    return kept


def _write(quotes: Sequence[Quote], policy: str, profile: RoutingProfile) -> str:
    ordered = _in_order(quotes, profile.format)
    marks = _marks(ordered, policy)
    texts = [_marked(quote, mark) for quote, mark in zip(ordered, marks, strict=True)]
    if profile.format == "prose":
        return _join_prose(texts)
    heads = [f"{at}. " if profile.format == "steps" else "- " for at in range(1, len(texts) + 1)]
    return "\n".join(map(_list_item, heads, texts))


def _marked(quote: Quote, number: int | None) -> str:
    """The quote and its mark; after a code block only a line of its own is outside of it.

    A `[2]` of the document's own is escaped, or it would be taken for a citation.
    """
    text = escape_marks(quote.text)
    if number is None:
        return text
    return f"{text}\n\n[{number}]" if quote.kind == "code" else f"{text} [{number}]"


def _list_item(head: str, text: str) -> str:
    return indent(text, " " * len(head)).replace(" " * len(head), head, 1)


def _in_order(quotes: Sequence[Quote], form: str) -> list[Quote]:
    """Steps stand as in the documents; else the best fragment leads, each in its own order."""
    if form == "steps":
        return sorted(quotes, key=lambda quote: quote.place)
    rank = {quote.number: at for at, quote in reversed(list(enumerate(quotes)))}
    return sorted(quotes, key=lambda quote: (rank[quote.number], quote.place))


def _marks(ordered: Sequence[Quote], policy: str) -> list[int | None]:
    """For each quote the number that stands behind it, or None."""
    if policy == "sources_only":
        return [None] * len(ordered)
    numbers: list[int | None] = [quote.number for quote in ordered]
    if policy == "inline":
        for at, (quote, following) in enumerate(pairwise(ordered)):
            numbers[at] = None if quote.number == following.number else numbers[at]
    return numbers


def _join_prose(texts: Sequence[str]) -> str:
    """Finished sentences share a paragraph; code and what has no full stop stand by themselves."""
    written = ""
    for text in texts:
        if written:
            is_open = text.startswith(_FENCES) or not _FINISHED.search(written)
            written += "\n\n" if is_open else " "
        written += text
    return written


def _sources(quotes: Sequence[Quote], chunks: Sequence[Chunk]) -> tuple[Citation, ...]:
    numbers = dict.fromkeys(quote.number for quote in quotes)
    return tuple(cite(number, chunks[number - 1]) for number in numbers)


def _shorten(text: str) -> str:
    line = text.replace("\n", " ")
    if len(line) <= KEY_POINT_CHARS:
        return line
    return line[: KEY_POINT_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _warnings(quotes: Sequence[Quote], reading: Reading) -> list[str]:
    cited = [reading.chunks[quote.number - 1] for quote in quotes]
    warnings = []
    if not quotes:
        warnings.append("No whole sentence fits into max_tokens.")
    if any(chunk.language != reading.language for chunk in cited):
        warnings.append("Some sources are in another language than the question.")
    if len(reading.chunks) == 1:
        warnings.append("Only one fragment was found to answer from.")
    return warnings
