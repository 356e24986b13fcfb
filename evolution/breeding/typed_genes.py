"""The genes of a genome as its pydantic schema declares them: the schema is the search space."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from evolution.search.space import Gene, choice, number
from models.contract import Frozen
from models.genome import Genome

Path = tuple[str, ...]


@dataclass(frozen=True)
class GenePlace:
    """Where a gene stands in its genome: a number, a choice, or a whole prompt."""

    path: Path
    info: FieldInfo
    value: Any

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    @property
    def is_prompt(self) -> bool:
        return isinstance(self.value, tuple)


def genes_to_move(genome: Genome, inert: frozenset[str]) -> list[GenePlace]:
    """List the genes of `genome` that can change an answer, in the order of the schema.

    `inert` holds patterns over `layer.path` of genes that the reader cannot obey.
    """
    return [
        gene
        for gene in _walk(genome, ())
        if not any(fnmatch(f"{genome.layer}.{gene.dotted}", pattern) for pattern in inert)
    ]


def typed_gene(place: GenePlace, seen: set[Any]) -> Gene:
    """Make the search gene of a number or a choice; values in `seen` become levels too."""
    annotation = place.info.annotation
    if annotation is bool:
        return choice(place.dotted, (False, True))
    if get_origin(annotation) is Literal:
        return choice(place.dotted, get_args(annotation))
    low = next(m.ge for m in place.info.metadata if isinstance(m, Ge))
    high = next(m.le for m in place.info.metadata if isinstance(m, Le))
    return number(place.dotted, low, high, whole=annotation is int, seen=seen)  # type: ignore[arg-type]


def _walk(value: Frozen, path: Path) -> Iterator[GenePlace]:
    for name, info in type(value).model_fields.items():
        here = (*path, name)
        item = getattr(value, name)
        if name in ("layer", "schema_version"):
            continue
        if isinstance(item, dict):
            for key, part in item.items():
                yield from _walk(part, (*here, key))
        else:
            yield GenePlace(here, info, item)
