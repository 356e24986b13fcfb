"""Typed mutations: the schema's bounds and choices are the search space."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from models.contract import Frozen
from models.genes import SLOT
from models.genome import Genome, dump_genome, parse_genome

Path = tuple[str, ...]


@dataclass(frozen=True)
class Gene:
    """One typed gene: where it stands, and how another value of it is drawn."""

    path: Path
    draw: Callable[[Any, random.Random], Any]
    """(value now, rng) -> another value within bounds; the same one where there is no other."""

    @property
    def dotted(self) -> str:
        return ".".join(self.path)


def genes_to_move(genome: Genome, inert: frozenset[str]) -> list[Gene]:
    """List the typed genes of `genome` that can change an answer.

    `inert` holds patterns over `layer.path` of genes that the reader cannot obey.
    """
    return [
        gene
        for gene in _walk(genome, ())
        if not any(fnmatch(f"{genome.layer}.{gene.dotted}", pattern) for pattern in inert)
    ]


def mutate(genome: Genome, inert: frozenset[str], rng: random.Random) -> tuple[Genome, str]:
    """Change one to three genes; give the child and a note that says which.

    Raises ValueError where no gene can be moved, pydantic.ValidationError where a child
    breaks its schema (a prompt that would lose a slot cannot come up).
    """
    genes = genes_to_move(genome, inert)
    if not genes:
        raise ValueError(f"no gene of layer {genome.layer} can change an answer here")
    content = dump_genome(genome)
    notes = []
    for gene in rng.sample(genes, min(len(genes), rng.choice((1, 1, 2, 2, 3)))):
        holder = content
        for key in gene.path[:-1]:
            holder = holder[key]
        before = holder[gene.path[-1]]
        holder[gene.path[-1]] = gene.draw(before, rng)
        notes.append(_note(gene, before, holder[gene.path[-1]]))
    return parse_genome(content), "; ".join(notes)


def _walk(value: Frozen, path: Path) -> Iterator[Gene]:
    for name, info in type(value).model_fields.items():
        here = (*path, name)
        item = getattr(value, name)
        if name in ("layer", "schema_version"):
            continue
        if isinstance(item, dict):
            for key, part in item.items():
                yield from _walk(part, (*here, key))
        elif isinstance(item, tuple):
            yield Gene(here, _draw_prompt)
        else:
            yield Gene(here, _draw_value(info))


def _draw_value(info: FieldInfo) -> Callable[[Any, random.Random], Any]:
    if info.annotation is bool:
        return lambda value, rng: not value
    if get_origin(info.annotation) is Literal:
        choices = get_args(info.annotation)
        return lambda value, rng: rng.choice([c for c in choices if c != value])
    low = next(float(m.ge) for m in info.metadata if isinstance(m, Ge))  # type: ignore[arg-type]
    high = next(float(m.le) for m in info.metadata if isinstance(m, Le))  # type: ignore[arg-type]
    return _draw_int(int(low), int(high)) if info.annotation is int else _draw_float(low, high)


def _draw_int(low: int, high: int) -> Callable[[Any, random.Random], int]:
    """Half of the moves are near (within a quarter of the value), half go anywhere."""

    def draw(value: int, rng: random.Random) -> int:
        reach = max(1, value // 4) if rng.random() < 0.5 else high - low
        return rng.choice(
            [n for n in range(low, high + 1) if n != value and abs(n - value) <= reach]
        )

    return draw


def _draw_float(low: float, high: float) -> Callable[[Any, random.Random], float]:
    def draw(value: float, rng: random.Random) -> float:
        reach = (high - low) / (10 if rng.random() < 0.5 else 1)
        moved = rng.uniform(max(low, value - reach), min(high, value + reach))
        return round(moved, 3)

    return draw


def _draw_prompt(genes: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """Drop an instruction or exchange two; a gene that carries a slot is never dropped."""
    plain = [i for i, gene in enumerate(genes) if not SLOT.search(gene["text"])]
    if len(plain) > 1 and rng.random() < 0.5:
        dropped = rng.choice(plain)
        return [gene for i, gene in enumerate(genes) if i != dropped]
    if len(plain) > 1:
        a, b = rng.sample(plain, 2)
        moved = list(genes)
        moved[a], moved[b] = moved[b], moved[a]
        return moved
    return genes


def _note(gene: Gene, before: Any, after: Any) -> str:
    if isinstance(before, list):
        change = "dropped an instruction" if len(after) < len(before) else "reordered"
        return f"{gene.dotted}: {change}"
    return f"{gene.dotted}: {before} → {after}"
