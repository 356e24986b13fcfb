"""A child of two genomes takes of each gene the side that moved since their ancestor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.breeding.crossover import cross
from kit.errors import BadInput
from models.defaults import DEFAULT_GENOMES
from models.genes import Instruction
from models.genome import Genome, PostprocessGenome, RoutingGenome, content_hash

OLD = DEFAULT_GENOMES["postprocess"]
assert isinstance(OLD, PostprocessGenome)


def edited(**texts: str | None) -> Genome:
    """The ancestor with instructions edited, dropped (None) or added at the end."""
    kept = [
        gene.model_copy(update={"text": texts[gene.id]}) if gene.id in texts else gene
        for gene in OLD.system_prompt
        if texts.get(gene.id, "") is not None
    ]
    ids = {gene.id for gene in OLD.system_prompt}
    added = [Instruction(id=i, text=t) for i, t in texts.items() if i not in ids and t]
    return OLD.model_copy(update={"system_prompt": (*kept, *added)})


def ids(genome: Genome) -> list[str]:
    return [gene.id for gene in genome.system_prompt]  # type: ignore[union-attr]


def texts(genome: Genome) -> dict[str, str]:
    return {gene.id: gene.text for gene in genome.system_prompt}  # type: ignore[union-attr]


def test_numbers_come_from_the_side_that_moved() -> None:
    a = OLD.model_copy(update={"chunk_count": 9})
    b = OLD.model_copy(update={"verbosity": "concise"})
    child = cross(a, b, OLD)
    assert child == OLD.model_copy(update={"chunk_count": 9, "verbosity": "concise"})


def test_where_both_moved_the_first_one_wins() -> None:
    a = OLD.model_copy(update={"chunk_count": 9})
    b = OLD.model_copy(update={"chunk_count": 2})
    assert cross(a, b, OLD) == a
    assert cross(b, a, OLD) == b


def test_instructions_are_merged_one_by_one() -> None:
    child = cross(
        edited(cite="Name the fragment.", tone="Be calm."), edited(gap=None, role="You help."), OLD
    )
    merged = texts(child)
    assert merged["cite"] == "Name the fragment."
    assert merged["role"] == "You help."
    assert merged["tone"] == "Be calm."
    assert "gap" not in merged
    assert merged["context"] == texts(OLD)["context"]


def test_an_added_instruction_stays_behind_its_neighbour() -> None:
    first, *rest = OLD.system_prompt
    b = OLD.model_copy(
        update={"system_prompt": (first, Instruction(id="new", text="Be brief."), *rest)}
    )
    child = cross(edited(cite=None), b, OLD)
    assert ids(child) == ["role", "new", *[i for i in ids(OLD)[1:] if i != "cite"]]


@pytest.mark.parametrize("mover_first", [True, False])
def test_the_order_is_that_of_the_side_that_moved_it(mover_first: bool) -> None:
    genes = list(OLD.system_prompt)
    genes[0], genes[1] = genes[1], genes[0]
    moved = OLD.model_copy(update={"system_prompt": tuple(genes)})
    other = edited(tone="Be calm.")
    child = cross(moved, other, OLD) if mover_first else cross(other, moved, OLD)
    assert ids(child)[:2] == ["language", "role"]
    assert "tone" in ids(child)


def test_profiles_of_a_routing_genome_are_merged_each_for_itself() -> None:
    old = DEFAULT_GENOMES["routing"]
    assert isinstance(old, RoutingGenome)

    def with_depth(kind: str, depth: int) -> Genome:
        profile = old.profiles[kind].model_copy(update={"depth_budget": depth})  # type: ignore[index]
        return old.model_copy(update={"profiles": {**old.profiles, kind: profile}})

    child = cross(with_depth("how_to", 3), with_depth("explanation", 2), old)
    assert isinstance(child, RoutingGenome)
    assert child.profiles["how_to"].depth_budget == 3
    assert child.profiles["explanation"].depth_budget == 2


def test_a_child_that_loses_a_slot_between_its_parents_is_refused() -> None:
    a = edited(context=None, sources="See: {{slot:context}}")
    b = edited(sources="Name your sources.")
    assert cross(a, b, OLD) == a
    with pytest.raises(BadInput, match="required slot missing: context"):
        cross(b, a, OLD)


def test_genomes_of_two_layers_cannot_be_crossed() -> None:
    with pytest.raises(BadInput, match="layer postprocess cannot be crossed with one of routing"):
        cross(OLD, DEFAULT_GENOMES["routing"], OLD)


@given(st.integers(1, 12), st.sampled_from(["concise", "adaptive", "comprehensive"]))
def test_crossing_with_the_ancestor_gives_the_other_parent(count: int, verbosity: str) -> None:
    a = OLD.model_copy(update={"chunk_count": count, "verbosity": verbosity})
    assert content_hash(cross(a, OLD, OLD)) == content_hash(cross(OLD, a, OLD)) == content_hash(a)
    assert content_hash(cross(a, a, OLD)) == content_hash(a)
