"""The components of a genome: each of its prompts, and its numbers and choices together."""

from typing import Any

from evolution.breeding.gene_bank import prompts_of
from evolution.breeding.typed_genes import genes_to_move
from kit.errors import BadInput
from models.diff import changed_genes
from models.genome import Genome

TYPED = "typed"
"""The component of all numbers and choices."""

_ALWAYS = ("layer", "schema_version")


def components_of(genome: Genome, inert: frozenset[str]) -> tuple[str, ...]:
    """Name the components that can change an answer: prompts by path, then `typed`."""
    movable = [gene.dotted for gene in genes_to_move(genome, inert)]
    prompts = prompts_of(genome)
    typed = (TYPED,) if any(path not in prompts for path in movable) else ()
    return (*(path for path in movable if path in prompts), *typed)


def component_of(path: str, genome: Genome) -> str:
    """Name the component of a gene's path, as `models.diff` writes it."""
    for prompt in prompts_of(genome):
        if path.startswith((f"{prompt}.", f"{prompt} ")):
            return prompt
    return TYPED


def check_within(parent: Genome, child: Genome, component: str) -> None:
    """Raise BadInput where `child` differs from `parent` outside of `component`."""
    for change in changed_genes(parent, child):
        if component_of(change.path, parent) != component:
            raise BadInput(f"the variant changes {change.path} beside {component}")


def overlay(present: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Lay `given` over `present`, object by object; what is not given stays."""
    merged = dict(present)
    for key, value in given.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = overlay(old, value) if both else value  # type: ignore[arg-type]
    return merged


def only_component(schema: dict[str, Any], parent: Genome, component: str) -> dict[str, Any]:
    """Cut a genome's JSON schema down to the fields of one component."""
    prompts = set(prompts_of(parent))
    return _cut(schema, "", prompts, component) or schema


def _cut(
    schema: dict[str, Any], path: str, prompts: set[str], component: str
) -> dict[str, Any] | None:
    """Give what is left of `schema`; None where none of it belongs to the component."""
    if path in prompts or schema.get("type") != "object":
        mine = path == component if path in prompts else component == TYPED
        return schema if mine else None
    fields = {
        key: cut
        for key, part in schema["properties"].items()
        if (path or key not in _ALWAYS)
        and (cut := _cut(part, f"{path}.{key}" if path else key, prompts, component))
    }
    return {**schema, "properties": fields, "required": list(fields)} if fields else None
