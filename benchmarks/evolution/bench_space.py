"""The peers' bench as a search space: its genes become ours, its genomes points, and back."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evolution.search.space import Gene, Point, SearchSpace, choice, number, switch

Config = dict[str, Any]
"""A genome of the bench: layer -> gene -> value, and maybe a prompt as a list of sentences."""


@dataclass(frozen=True)
class BenchSpace:
    """A search space, and the configuration that it was made around."""

    space: SearchSpace
    places: tuple[tuple[str, str], ...]
    """Layer and gene behind each of the first genes; the others are sentences."""
    prompt: str
    """The key of the prompt."""
    start: Config

    def point_of(self, config: Config) -> Point:
        """Give the point of a configuration, all of whose values are levels."""
        sentences = set(config.get(self.prompt) or ())
        values = {_name(layer, gene): config[layer][gene] for layer, gene in self.places}
        values |= {g.name: g.name in sentences for g in self._switches}
        return self.space.encode(values)

    def config_at(self, point: Point) -> Config:
        """Give the configuration at a point; what is no gene stays as it was at the start."""
        values, config = self.space.decode(point), copy.deepcopy(self.start)
        for layer, gene in self.places:
            config[layer][gene] = values[_name(layer, gene)]
        if self._switches:
            names = {g.name for g in self._switches}
            kept = [text for text in config.get(self.prompt) or () if text not in names]
            config[self.prompt] = [*kept, *(g.name for g in self._switches if values[g.name])]
        return config

    @property
    def _switches(self) -> tuple[Gene, ...]:
        return self.space.genes[len(self.places) :]


def make_bench_space(
    genes: Sequence[Mapping[str, Any]], sentences: Sequence[str], start: Config
) -> BenchSpace:
    """Make the space of `genes` ({layer, name, kind, range}) and of a prompt's `sentences`."""
    places = tuple((gene["layer"], gene["name"]) for gene in genes)
    typed = [_make_gene(gene, start[gene["layer"]][gene["name"]]) for gene in genes]
    prompt = next((key for key, value in start.items() if isinstance(value, list)), "prompt")
    switches = [switch(text, "prompt") for text in dict.fromkeys(sentences)]
    return BenchSpace(SearchSpace((*typed, *switches)), places, prompt, copy.deepcopy(start))


def _make_gene(gene: Mapping[str, Any], now: Any) -> Gene:
    """Make one gene; a kind that is not known is a number if its range is two numbers."""
    name, kind = _name(gene["layer"], gene["name"]), str(gene.get("kind", ""))
    options = list(gene.get("range") or [False, True])
    if kind in ("cat", "bool") or len(options) != 2 or not all(map(_is_number, options)):
        return choice(name, dict.fromkeys([*options, now]))
    whole = "int" in kind or (not kind and all(isinstance(x, int) for x in options))
    return number(name, options[0], options[1], whole=whole, seen=(now,))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name(layer: str, gene: str) -> str:
    return f"{layer}.{gene}"
