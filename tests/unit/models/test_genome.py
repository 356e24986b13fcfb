"""Genomes: strict on the way in, named by what they do, whole on the way back."""

from typing import Any

import pytest
from pydantic import ValidationError

from models.defaults import DEFAULT_GENOMES, DEFAULT_SET, TUTORIAL_POSTPROCESS
from models.genes import Instruction
from models.genome import (
    LAYER_GENOMES,
    LAYERS,
    Genome,
    Layer,
    PostprocessGenome,
    content_hash,
    dump_genome,
    genome_name,
    parse_genome,
)


def content(layer: Layer, **changes: Any) -> dict[str, Any]:
    return {**dump_genome(DEFAULT_GENOMES[layer]), **changes}


def reason(data: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        parse_genome(data)
    return str(caught.value)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_genome_comes_back_as_it_was_stored(layer: Layer) -> None:
    genome = DEFAULT_GENOMES[layer]
    assert parse_genome(dump_genome(genome)) == genome
    assert isinstance(genome, LAYER_GENOMES[layer])


def test_an_unknown_layer_is_refused_by_its_name() -> None:
    assert "reranking" in reason({**content("postprocess"), "layer": "reranking"})


@pytest.mark.parametrize(
    ("layer", "gene", "value"),
    [
        ("postprocess", "chunk_count", 0),
        ("postprocess", "chunk_count", 13),
        ("postprocess", "chunk_count", "4"),
        ("postprocess", "chunk_count", 4.5),
        ("postprocess", "max_tokens", 63),
        ("postprocess", "max_tokens", 2049),
        ("postprocess", "citation_policy", "sometimes"),
        ("postprocess", "verbosity", "Adaptive"),
        ("cache_policy", "min_supportedness", -0.01),
        ("cache_policy", "min_supportedness", 1.01),
        ("cache_policy", "require_sources", 1),
        ("cache_policy", "min_sources_count", 6),
        ("cache_policy", "confidence_key_points_min", True),
    ],
)
def test_a_value_out_of_range_or_of_another_type_is_refused(
    layer: Layer, gene: str, value: object
) -> None:
    assert gene in reason(content(layer, **{gene: value}))


def test_a_number_that_is_none_is_refused() -> None:
    assert "min_supportedness" in reason(content("cache_policy", min_supportedness=float("nan")))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_gene_that_nobody_knows_is_refused(layer: Layer) -> None:
    assert "temperature" in reason(content(layer, temperature=0.3))


def test_a_missing_gene_is_refused() -> None:
    data = content("postprocess")
    del data["chunk_count"]
    assert "chunk_count" in reason(data)


def test_a_routing_genome_serves_every_type_of_question() -> None:
    data = content("routing")
    del data["profiles"]["how_to"]
    assert "profiles" in reason(data)


@pytest.mark.parametrize(("depth", "fits"), [(0, False), (1, True), (4, True), (5, False)])
def test_a_depth_is_between_one_and_four(depth: int, fits: bool) -> None:
    data = content("routing")
    data["profiles"]["how_to"]["depth_budget"] = depth
    if fits:
        assert parse_genome(data).layer == "routing"
    else:
        assert "depth_budget" in reason(data)


def test_the_name_is_the_beginning_of_the_hash() -> None:
    genome = DEFAULT_GENOMES["routing"]
    assert genome_name(genome) == f"g-{content_hash(genome)[:10]}"
    assert len(content_hash(genome)) == 64


def with_first_gene(genome: Genome, **changes: str) -> PostprocessGenome:
    assert isinstance(genome, PostprocessGenome)
    first, *others = genome.system_prompt
    changed = Instruction.model_validate({**first.model_dump(), **changes})
    return genome.model_copy(update={"system_prompt": (changed, *others)})


def test_where_a_gene_came_from_does_not_change_the_name() -> None:
    genome = DEFAULT_GENOMES["postprocess"]
    assert content_hash(with_first_gene(genome, origin="mutator")) == content_hash(genome)


@pytest.mark.parametrize("changes", [{"text": "You answer."}, {"id": "part"}])
def test_what_a_gene_says_and_how_it_is_called_change_the_name(changes: dict[str, str]) -> None:
    genome = DEFAULT_GENOMES["postprocess"]
    assert content_hash(with_first_gene(genome, **changes)) != content_hash(genome)


def test_the_order_of_genes_changes_the_name() -> None:
    genome = DEFAULT_GENOMES["postprocess"]
    assert isinstance(genome, PostprocessGenome)
    turned = genome.model_copy(update={"system_prompt": genome.system_prompt[::-1]})
    assert content_hash(turned) != content_hash(genome)


def test_a_set_exchanges_one_layer_and_keeps_the_others() -> None:
    changed = DEFAULT_SET.with_genome(TUTORIAL_POSTPROCESS)
    assert changed.postprocess == TUTORIAL_POSTPROCESS
    assert changed.routing == DEFAULT_SET.routing
    assert changed.fingerprint() != DEFAULT_SET.fingerprint()
    assert changed.names()["cache_policy"] == DEFAULT_SET.names()["cache_policy"]


def test_a_genome_cannot_be_changed_in_place() -> None:
    genome = parse_genome(content("cache_policy"))
    with pytest.raises(ValidationError, match="frozen"):
        genome.min_sources_count = 3  # type: ignore[union-attr, misc]


def test_the_first_draft_of_the_tutorial_is_a_valid_genome() -> None:
    assert parse_genome(dump_genome(TUTORIAL_POSTPROCESS)) == TUTORIAL_POSTPROCESS
