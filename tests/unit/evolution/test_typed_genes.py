"""Typed mutations stay within the schema and leave alone what cannot act."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.operators import genes_to_move, mutate
from models.defaults import DEFAULT_GENOMES
from models.diff import changed_genes
from models.genes import slots_of
from models.genome import LAYERS, Layer, dump_genome, parse_genome

BUILT_IN_INERT = frozenset(
    {
        "postprocess.system_prompt",
        "postprocess.system_prompt_reduce",
        "routing.classifier_prompt",
        "routing.profiles.*.system_prompt",
    }
)


@given(st.sampled_from(LAYERS), st.integers(0, 10**6))
def test_every_child_is_a_valid_genome_with_one_to_three_changes(layer: Layer, seed: int) -> None:
    parent = DEFAULT_GENOMES[layer]
    child, note = mutate(parent, frozenset(), random.Random(seed))
    assert parse_genome(dump_genome(child)) == child
    assert note.count(";") <= 2
    assert child.layer == layer


@given(st.integers(0, 10**6))
def test_a_prompt_never_loses_a_slot(seed: int) -> None:
    parent = DEFAULT_GENOMES["postprocess"]
    child, _ = mutate(parent, frozenset(), random.Random(seed))
    found = {name for gene in child.system_prompt for name in slots_of(gene.text)}
    assert found == {"question", "context"}


@given(st.integers(0, 10**6))
def test_inert_genes_are_never_touched(seed: int) -> None:
    parent = DEFAULT_GENOMES["routing"]
    child, _ = mutate(parent, BUILT_IN_INERT, random.Random(seed))
    assert all("prompt" not in change.path for change in changed_genes(parent, child))


def test_the_search_space_is_read_from_the_schema() -> None:
    names = {g.dotted for g in genes_to_move(DEFAULT_GENOMES["postprocess"], BUILT_IN_INERT)}
    assert names == {"chunk_count", "max_tokens", "citation_policy", "verbosity"}


def test_a_layer_without_a_movable_gene_says_so() -> None:
    with pytest.raises(ValueError, match="no gene of layer"):
        mutate(DEFAULT_GENOMES["routing"], frozenset({"routing.*"}), random.Random(1))
