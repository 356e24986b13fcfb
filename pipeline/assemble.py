"""Which steps a pipeline has, in which order."""

from dataclasses import dataclass

from pipeline.cache_key import CacheKeys
from pipeline.ports import AnswerCache, Classifier, Reader, Retriever
from pipeline.run import Step
from pipeline.steps.admit import Admit
from pipeline.steps.check import CheckCitations
from pipeline.steps.lookup import Lookup
from pipeline.steps.postprocess import Postprocess
from pipeline.steps.retrieve import Retrieve
from pipeline.steps.route import Route


@dataclass(frozen=True)
class Ports:
    """What a pipeline is made of. Without a cache nothing is looked up or kept."""

    retriever: Retriever
    classifier: Classifier
    reader: Reader
    embedder: str
    """Name of the embedding model, for keys."""
    cache: AnswerCache | None = None

    @property
    def models(self) -> dict[str, str]:
        """Role -> name of all that has a part in an answer."""
        return {
            "reader": self.reader.name,
            "router": self.classifier.name,
            "embedder": self.embedder,
        }

    @property
    def inert_genes(self) -> frozenset[str]:
        """Patterns over `layer.path` of genes that cannot change an answer of these parts."""
        return self.reader.inert_genes | self.classifier.inert_genes


def assemble(ports: Ports) -> tuple[Step, ...]:
    """Give the steps: what they do with a question is in the genomes that its state carries."""
    core: tuple[Step, ...] = (
        Route(ports.classifier),
        Retrieve(ports.retriever),
        Postprocess(ports.reader),
        CheckCitations(),
    )
    if ports.cache is None:
        return core
    keys = CacheKeys(tuple(ports.models.values()))
    return (Lookup(ports.cache, keys), *core, Admit(ports.cache, keys))
