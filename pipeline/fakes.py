"""Fakes of product quality: parts of a pipeline that give what they were told, and remember."""

from collections.abc import Sequence

from kit.errors import ProviderError
from models.contract import Answer, Chunk, RetrievalResult, RetrievalUsage
from models.genome import QueryType, RoutingGenome
from pipeline.ports import Reading, RetrievalQuery, Scope


class CannedRetriever:
    """A Retriever that finds the first `limit` of its chunks, whatever is asked."""

    def __init__(self, chunks: Sequence[Chunk] = ()) -> None:
        self._chunks = tuple(chunks)
        self.queries: list[RetrievalQuery] = []
        """Every query so far, in order."""

    async def retrieve(self, scope: Scope, query: RetrievalQuery) -> RetrievalResult:
        self.queries.append(query)
        found = self._chunks[: query.limit]
        usage = RetrievalUsage(
            provider="canned", query_count=1, result_count=len(found), billable_units=1
        )
        return RetrievalResult(
            trace_id=query.trace_id,
            tenant_id=scope.tenant_id,
            corpus=scope.corpus,
            chunks=found,
            usage=usage,
        )


class CannedClassifier:
    """A Classifier to which every question is of one type."""

    name = "canned classifier"
    inert_genes: frozenset[str] = frozenset()

    def __init__(self, query_type: QueryType = "factual_lookup") -> None:
        self._query_type = query_type

    async def classify(self, question: str, genome: RoutingGenome) -> QueryType:
        return self._query_type


class CannedReader:
    """A Reader that gives one answer, or raises one error, whatever it reads."""

    name = "canned reader"
    inert_genes: frozenset[str] = frozenset()

    def __init__(self, says: Answer | ProviderError) -> None:
        self.says = says
        self.readings: list[Reading] = []
        """All that it was given to read so far, in order."""

    async def read(self, reading: Reading) -> Answer:
        self.readings.append(reading)
        if isinstance(self.says, ProviderError):
            raise self.says
        return self.says
