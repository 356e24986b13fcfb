"""What changed between two genomes, gene by gene."""

from typing import Any

from models.contract import Frozen
from models.genome import Genome, dump_genome


class GeneChange(Frozen):
    """One gene that differs. `path` is dotted (`profiles.how_to.format`, `system_prompt.cite`)."""

    path: str
    before: Any = None
    after: Any = None


def genes_of(genome: Genome) -> dict[str, Any]:
    """Flatten a genome into its genes: instruction texts, numbers and choices by dotted path."""
    content = dump_genome(genome)
    content.pop("layer")
    content.pop("schema_version")
    return dict(_flatten(content, ""))


def changed_genes(before: Genome, after: Genome) -> tuple[GeneChange, ...]:
    """List the genes that differ, in the order of `before`, new ones last.

    A prompt whose genes only moved shows as one change of `PROMPT (order)`.
    """
    old, new = genes_of(before), genes_of(after)
    paths = [*old, *(path for path in new if path not in old)]
    return tuple(
        GeneChange(path=path, before=old.get(path), after=new.get(path))
        for path in paths
        if old.get(path) != new.get(path)
    )


def _flatten(value: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [gene for key, item in value.items() for gene in _flatten(item, _join(path, key))]
    if isinstance(value, list):
        texts = [(_join(path, gene["id"]), gene["text"]) for gene in value]
        order = " ".join(gene["id"] for gene in value)
        return [*texts, (f"{path} (order)", order)]
    return [(path, value)]


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
