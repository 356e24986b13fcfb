"""The order of quotes by meaning: cosine of question and sentence, beside the words they share."""

from collections.abc import Sequence
from dataclasses import replace

from kit.embedding import Embedder
from kit.vector_memory import remembering
from pipeline.quotes import Quote

RERANKED = 8
"""How many of the best quotes by words are looked at: a sentence costs some 30 ms, once."""
COSINE_WEIGHT = 8.0
"""E5's cosines lie within about 0.1 of each other, scores by words within 1 (decision 0030)."""


class MeaningReranker:
    """Reorders the first quotes. Vectors of sentences are kept, as they return with each genome."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = remembering(embedder)

    async def rerank(self, question: str, quotes: Sequence[Quote]) -> list[Quote]:
        """Give the first few of `quotes`, best first.

        The nearest of them keeps its score, the others lose by their distance to it.
        """
        head = quotes[:RERANKED]
        asked = (await self._embedder.embed_queries([question]))[0]
        cosines = await self._embedder.embed_passages([quote.text for quote in head]) @ asked
        lost = COSINE_WEIGHT * (cosines - cosines.max())
        scored = [
            replace(quote, score=quote.score + float(loss))
            for quote, loss in zip(head, lost, strict=True)
        ]
        return sorted(scored, key=lambda quote: (-quote.score, quote.number, quote.place))
