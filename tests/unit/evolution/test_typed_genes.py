"""The schema is the search space: what can act becomes a gene, with the bounds it declares."""

from hypothesis import given
from hypothesis import strategies as st

from evolution.breeding.typed_genes import genes_to_move, typed_gene
from evolution.search.space import Gene
from models.defaults import DEFAULT_GENOMES
from models.genome import LAYERS, Layer, dump_genome, parse_genome

BUILT_IN_INERT = frozenset(
    {
        "postprocess.system_prompt",
        "postprocess.system_prompt_reduce",
        "routing.classifier_prompt",
        "routing.profiles.*.system_prompt",
    }
)


def genes_of(layer: Layer, inert: frozenset[str] = frozenset()) -> dict[str, Gene]:
    places = genes_to_move(DEFAULT_GENOMES[layer], inert)
    return {p.dotted: typed_gene(p, {p.value}) for p in places if not p.is_prompt}


def test_the_search_space_is_read_from_the_schema() -> None:
    names = {g.dotted for g in genes_to_move(DEFAULT_GENOMES["postprocess"], BUILT_IN_INERT)}
    assert names == {"chunk_count", "max_tokens", "citation_policy", "verbosity"}


def test_inert_genes_are_not_moved_wherever_they_stand() -> None:
    moved = genes_to_move(DEFAULT_GENOMES["routing"], BUILT_IN_INERT)
    assert moved and not any(place.is_prompt for place in moved)
    assert genes_to_move(DEFAULT_GENOMES["routing"], frozenset({"routing.*"})) == []


@given(st.sampled_from(LAYERS), st.data())
def test_each_level_of_each_gene_is_a_valid_genome(layer: Layer, data: st.DataObject) -> None:
    content = dump_genome(DEFAULT_GENOMES[layer])
    gene = data.draw(st.sampled_from(sorted(genes_of(layer).values(), key=lambda g: g.name)))
    level = data.draw(st.sampled_from(gene.levels))
    part, path = content, gene.name.split(".")
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = level
    assert dump_genome(parse_genome(content)) == content


def test_a_gene_spans_its_bounds_and_knows_the_value_that_is_there() -> None:
    for layer in LAYERS:
        for place in genes_to_move(DEFAULT_GENOMES[layer], frozenset()):
            if place.is_prompt:
                continue
            gene = typed_gene(place, {place.value})
            assert place.value in gene.levels
            assert len(gene.levels) == len(set(gene.levels)) > 1
            if gene.kind == "number":
                assert list(gene.places) == sorted(gene.places)
                assert (gene.places[0], gene.places[-1]) == (0.0, 1.0)


def test_a_value_from_between_the_levels_becomes_one() -> None:
    places = genes_to_move(DEFAULT_GENOMES["postprocess"], BUILT_IN_INERT)
    place = next(place for place in places if place.dotted == "max_tokens")
    assert 777 not in typed_gene(place, set()).levels
    assert 777 in typed_gene(place, {777}).levels
