"""Read a stored genome of any schema version: upgraders lead from vN to vN+1."""

from collections.abc import Callable, Mapping
from typing import Any

from models.genome import Genome, parse_genome

Upgrader = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADERS: dict[tuple[str, int], Upgrader] = {}
"""(layer, version) -> the function that makes version + 1 out of it. Version 1 is current."""


def load_genome(
    content: dict[str, Any], upgraders: Mapping[tuple[str, int], Upgrader] = UPGRADERS
) -> Genome:
    """Lift `content` to the current schema and read it.

    Raises pydantic.ValidationError where even the upgraded content is not a valid genome.
    """
    if not isinstance(content, dict):
        return parse_genome(content)
    key = (str(content.get("layer")), content.get("schema_version", 1))
    while upgrade := upgraders.get(key):
        content = {**upgrade(content), "schema_version": key[1] + 1}
        key = (key[0], key[1] + 1)
    return parse_genome(content)
