"""The typed genome of each layer: one discriminated union, whose bounds are the search space."""

import hashlib
import json
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter

from models.contract import Frozen
from models.genes import PromptField, prompt_with

Layer = Literal["postprocess", "routing", "cache_policy"]
LAYERS: tuple[Layer, ...] = get_args(Layer)

QueryType = Literal["factual_lookup", "explanation", "how_to", "bsl_help"]
QUERY_TYPES: tuple[QueryType, ...] = get_args(QueryType)

MAX_FRAGMENTS = 24
"""However a genome multiplies them, no question reads more fragments than this."""


class PostprocessGenome(Frozen):
    """How fragments become an answer."""

    layer: Literal["postprocess"] = "postprocess"
    schema_version: Literal[1] = 1
    system_prompt: Annotated[PromptField, prompt_with(frozenset({"question", "context"}))]
    system_prompt_reduce: Annotated[PromptField, prompt_with(frozenset({"question", "partials"}))]
    chunk_count: int = Field(ge=1, le=12)
    max_tokens: int = Field(ge=64, le=2048)
    citation_policy: Literal["always", "inline", "sources_only"]
    verbosity: Literal["concise", "adaptive", "comprehensive"]


class RoutingProfile(Frozen):
    """How one type of question is treated."""

    system_prompt: Annotated[PromptField, prompt_with(frozenset())]
    depth_budget: int = Field(ge=1, le=4)
    """How many helpings of `chunk_count` fragments are read."""
    format: Literal["prose", "bullets", "steps"]


class RoutingGenome(Frozen):
    """How a question finds its treatment."""

    layer: Literal["routing"] = "routing"
    schema_version: Literal[1] = 1
    classifier_prompt: Annotated[PromptField, prompt_with(frozenset({"question", "query_types"}))]
    profiles: dict[QueryType, RoutingProfile] = Field(min_length=len(QUERY_TYPES))


class CachePolicyGenome(Frozen):
    """Which answers may be kept for the next asker."""

    layer: Literal["cache_policy"] = "cache_policy"
    schema_version: Literal[1] = 1
    min_supportedness: float = Field(ge=0, le=1)
    require_sources: bool
    min_sources_count: int = Field(ge=0, le=5)
    block_if_warnings: bool
    confidence_key_points_min: int = Field(ge=0, le=5)


Genome = Annotated[
    PostprocessGenome | RoutingGenome | CachePolicyGenome, Field(discriminator="layer")
]
LAYER_GENOMES: dict[Layer, type[PostprocessGenome | RoutingGenome | CachePolicyGenome]] = {
    "postprocess": PostprocessGenome,
    "routing": RoutingGenome,
    "cache_policy": CachePolicyGenome,
}
_GENOME: TypeAdapter[PostprocessGenome | RoutingGenome | CachePolicyGenome] = TypeAdapter(Genome)


class GenomeSet(Frozen):
    """The three genomes that one request works under."""

    postprocess: PostprocessGenome
    routing: RoutingGenome
    cache_policy: CachePolicyGenome

    def of(self, layer: Layer) -> Genome:
        genome: Genome = getattr(self, layer)
        return genome

    def with_genome(self, genome: Genome) -> "GenomeSet":
        """The same set with one layer exchanged."""
        return self.model_copy(update={genome.layer: genome})

    def names(self) -> dict[Layer, str]:
        return {layer: genome_name(self.of(layer)) for layer in LAYERS}

    def fingerprint(self) -> str:
        return _sha256("".join(content_hash(self.of(layer)) for layer in LAYERS))


def parse_genome(content: Any) -> Genome:
    """Read a genome of the current schema from JSON data.

    Strict: a number in a string is no number. Raises pydantic.ValidationError on an unknown
    layer, a missing slot or a value out of range.
    """
    return _GENOME.validate_json(json.dumps(content), strict=True)


def dump_genome(genome: Genome) -> dict[str, Any]:
    """Give the JSON form that the store keeps."""
    return _GENOME.dump_python(genome, mode="json")  # type: ignore[no-any-return]


def content_hash(genome: Genome) -> str:
    """SHA-256 of what the genome does: its content without the genes' origins."""
    content = _without_origins(dump_genome(genome))
    return _sha256(json.dumps(content, sort_keys=True, ensure_ascii=False))


def genome_name(genome: Genome) -> str:
    """The short name that people see."""
    return short_name(content_hash(genome))


def short_name(digest: str) -> str:
    return f"g-{digest[:10]}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _without_origins(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_origins(v) for k, v in value.items() if k != "origin"}
    if isinstance(value, list):
        return [_without_origins(item) for item in value]
    return value
