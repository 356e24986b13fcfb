"""Stored genomes of older schemas are lifted step by step to the current one."""

from typing import Any

import pytest
from pydantic import ValidationError

from models.defaults import DEFAULT_GENOMES
from models.genome import LAYERS, dump_genome
from models.upgrade import UPGRADERS, Upgrader, load_genome

CURRENT = DEFAULT_GENOMES["cache_policy"]


def older(version: int) -> dict[str, Any]:
    """What two schemas ago stored: a percentage, under another name."""
    content = dump_genome(CURRENT)
    content["support_percent"] = content.pop("min_supportedness") * 100
    return {**content, "schema_version": version}


def rename(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "min_supportedness": content["support_percent"]}


def rescale(content: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in content.items() if key != "support_percent"}
    return {**kept, "min_supportedness": content["min_supportedness"] / 100}


CHAIN: dict[tuple[str, int], Upgrader] = {
    ("cache_policy", -1): rename,
    ("cache_policy", 0): rescale,
}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_current_genome_is_read_as_it_is(layer: Any) -> None:
    genome = DEFAULT_GENOMES[layer]
    assert load_genome(dump_genome(genome)) == genome


def test_each_upgrader_leads_one_version_on() -> None:
    assert load_genome(older(-1), CHAIN) == CURRENT


def test_an_upgrader_of_another_layer_is_not_used() -> None:
    genome = DEFAULT_GENOMES["routing"]
    assert load_genome(dump_genome(genome), {("cache_policy", 1): rename}) == genome


@pytest.mark.parametrize("version", [0, 2, 99])
def test_a_version_that_no_upgrader_knows_is_refused(version: int) -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        load_genome({**dump_genome(CURRENT), "schema_version": version})


def test_no_upgrader_leads_past_the_current_version() -> None:
    assert all(version < 1 for _, version in UPGRADERS)
