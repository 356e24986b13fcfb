"""What a pipeline needs from outside: each port is small, and has a fake that is tested like it."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from models.contract import Answer, Chunk, RetrievalResult, Turn
from models.genome import GenomeSet, QueryType, RoutingGenome
from models.profile import ProfileSettings


@dataclass(frozen=True)
class Scope:
    """Whose question it is and what it may be answered from; fixed for one request."""

    tenant_id: UUID
    profile: str
    domain: str
    corpus_id: UUID
    corpus: str
    corpus_version: int
    settings: ProfileSettings
    abstain_below: float
    """Calibrated similarity under which a question is not answered from this corpus."""


@dataclass(frozen=True)
class RetrievalQuery:
    trace_id: UUID
    text: str
    language: str
    limit: int


class Retriever(Protocol):
    """Finds fragments. An empty allow-list or a filter without a match finds nothing."""

    async def retrieve(self, scope: Scope, query: RetrievalQuery) -> RetrievalResult: ...


class Classifier(Protocol):
    """Tells which type of question it is, as the `routing` genome has it."""

    @property
    def name(self) -> str: ...

    @property
    def inert_genes(self) -> frozenset[str]:
        """Genes that cannot change what this classifier says, as `layer.path` patterns."""
        ...

    async def classify(self, question: str, genome: RoutingGenome) -> QueryType: ...


@dataclass(frozen=True)
class Reading:
    """All that a reader sees: the question, the fragments, and the genomes to obey."""

    question: str
    language: str
    history: tuple[Turn, ...]
    chunks: tuple[Chunk, ...]
    genomes: GenomeSet
    query_type: QueryType
    abstain_below: float


class Reader(Protocol):
    """Writes the answer under the contract of the `postprocess` genome.

    Raises kit.errors.ProviderError where its model fails. `citations` in the answer number
    the fragments from 1 in the order given; what a reader cites is checked afterwards.
    """

    @property
    def name(self) -> str:
        """A model's name, or `built-in extractive reader`."""
        ...

    @property
    def inert_genes(self) -> frozenset[str]:
        """Genes that cannot change what this reader writes, as `layer.path` (`routing.format`)."""
        ...

    async def read(self, reading: Reading) -> Answer: ...


@dataclass(frozen=True)
class CacheKey:
    """Everything that an answer depends on, besides the words of the question."""

    tenant_id: UUID
    corpus_id: UUID
    fingerprint: str
    """Hash over profile, corpus version, genomes, models, language and the whole history."""


class AnswerCache(Protocol):
    """Keeps admitted answers. Never finds across two keys, whatever the similarity."""

    async def find(self, key: CacheKey, question: str) -> Answer | None: ...

    async def keep(
        self, key: CacheKey, question: str, history: tuple[Turn, ...], answer: Answer
    ) -> None: ...

    async def forget_source(self, tenant_id: UUID, corpus_id: UUID, source_id: str) -> int:
        """Drop every entry that a document fed; give their number."""
        ...
