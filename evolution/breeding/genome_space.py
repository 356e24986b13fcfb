"""Genomes as points of a search space, and points as genomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from evolution.breeding.gene_bank import GeneWorth, prompts_of, text_hash
from evolution.breeding.typed_genes import GenePlace, genes_to_move, typed_gene
from evolution.search.space import Gene, Point, SearchSpace, choice, switch
from models.genes import Instruction, slots_of
from models.genome import Genome, dump_genome, parse_genome

ABSENT = ""
"""The level of an instruction that is not there."""

BANK_SHOWN = 40
"""Instructions of the gene bank that a search starts from: what is worth most, and the unknown."""

Values = dict[str, Any]


@dataclass(frozen=True)
class GenomeSpace:
    """The search space around one incumbent.

    Numbers and choices are genes as the schema declares them. Each instruction id of a prompt
    is a gene whose levels are the texts that were ever written for it, and its absence, unless
    it carries a slot.
    """

    incumbent: Genome
    space: SearchSpace
    texts: Mapping[str, Mapping[str, Instruction]]
    """Gene name -> text hash -> instruction."""

    @property
    def origin(self) -> Point:
        """The incumbent's own point."""
        point = self.point_of(self.incumbent)
        assert point is not None
        return point

    def point_of(self, genome: Genome) -> Point | None:
        """Give the point of a genome; None where it has something that the space does not."""
        values = _values_of(genome)
        texts = _texts(values)
        if {name: text for name, text in texts.items() if name not in self.texts} != self._fixed:
            return None
        if any(texts[name] not in known for name, known in self.texts.items() if name in texts):
            return None
        known = {gene.name: values.get(gene.name, ABSENT) for gene in self.space.genes}
        try:
            return self.space.encode(self._switched(known))
        except ValueError:
            return None

    def genome_at(self, point: Point) -> Genome | None:
        """Give the genome of a point; None where its schema does not allow it."""
        content = dump_genome(self.incumbent)
        values = self.space.decode(point)
        for name, value in values.items():
            if name not in self.texts:
                _put(content, name.split("."), value)
        for path, prompt in prompts_of(self.incumbent).items():
            _put(content, path.split("."), self._prompt(path, prompt, values))
        try:
            return parse_genome(content)
        except ValidationError:
            return None

    @cached_property
    def _fixed(self) -> Values:
        """Instructions of the incumbent that the search cannot move, with their texts."""
        texts = _texts(_values_of(self.incumbent))
        return {name: text for name, text in texts.items() if name not in self.texts}

    def _switched(self, values: Values) -> Values:
        """Write an instruction with one text as there or not there."""
        kinds = {gene.name: gene.kind for gene in self.space.genes}
        return {
            name: bool(value) if kinds[name] == "switch" else value
            for name, value in values.items()
        }

    def _prompt(
        self, path: str, prompt: Sequence[Instruction], values: Values
    ) -> list[dict[str, Any]]:
        """Write a prompt: the incumbent's order, new instructions before the data."""
        ids = [gene.id for gene in prompt]
        names = [n for n in self.texts if n.startswith(f"{path}#") and n.split("#")[1] not in ids]
        new = [self._chosen(name, values) for name in names]
        old = [self._chosen(f"{path}#{gene.id}", values, gene) for gene in prompt]
        cut = next((i for i, gene in enumerate(prompt) if slots_of(gene.text)), len(prompt))
        chosen = [*old[:cut], *new, *old[cut:]]
        return [gene.model_dump(mode="json") for gene in chosen if gene is not None]

    def _chosen(
        self, name: str, values: Values, fixed: Instruction | None = None
    ) -> Instruction | None:
        if name not in self.texts:
            return fixed
        level = values[name]
        if isinstance(level, bool):
            return next(iter(self.texts[name].values())) if level else None
        return self.texts[name].get(level)


def make_space(
    incumbent: Genome, others: Iterable[Genome], bank: Sequence[GeneWorth], inert: frozenset[str]
) -> GenomeSpace:
    """Make the space in which the search for something better than `incumbent` goes on.

    Its levels are those of the schema, the values and texts of `others` (genomes of this
    cycle), and the instructions of the bank that were not measured to be harmful.
    """
    seen = [_values_of(genome) for genome in (incumbent, *others)]
    genomes = [incumbent, *others]
    places = genes_to_move(incumbent, inert)
    typed = [
        typed_gene(place, {values[place.dotted] for values in seen if place.dotted in values})
        for place in places
        if not place.is_prompt
    ]
    texts: dict[str, dict[str, Instruction]] = {}
    for place in places:
        if place.is_prompt:
            _collect(texts, place, genomes, bank)
    alone = {n for n in texts if sum(m.startswith(f"{_prompt_of(n)}#") for m in texts) == 1}
    instructions = [_instruction_gene(n, known, n in alone) for n, known in texts.items()]
    kept = {gene.name for gene in instructions if len(gene.levels) > 1}
    genes = [*typed, *(gene for gene in instructions if gene.name in kept)]
    return GenomeSpace(
        incumbent, SearchSpace(tuple(genes)), {n: t for n, t in texts.items() if n in kept}
    )


def _collect(
    texts: dict[str, dict[str, Instruction]],
    place: GenePlace,
    genomes: Sequence[Genome],
    bank: Sequence[GeneWorth],
) -> None:
    """Gather what was ever written for the instructions of one prompt."""
    written = [gene for genome in genomes for gene in prompts_of(genome).get(place.dotted, ())]
    banked = [g for g in bank if g.path == place.dotted and not _is_harmful(g)][:BANK_SHOWN]
    written += [Instruction(id=g.gene_id, text=g.text, origin=g.origin) for g in banked]
    for gene in written:
        texts.setdefault(f"{place.dotted}#{gene.id}", {}).setdefault(text_hash(gene.text), gene)


def _is_harmful(gene: GeneWorth) -> bool:
    return gene.high is not None and gene.high < 0


def _instruction_gene(name: str, known: Mapping[str, Instruction], is_alone: bool) -> Gene:
    """Make the gene of an instruction; one that carries a slot, or is all there is, stays."""
    needed = is_alone or any(slots_of(gene.text) for gene in known.values())
    if len(known) == 1 and not needed:
        return switch(name, group=_prompt_of(name))
    return choice(name, known if needed else (ABSENT, *known))


def _prompt_of(name: str) -> str:
    return name.split("#")[0]


def _values_of(genome: Genome) -> Values:
    values: Values = {}
    for place in genes_to_move(genome, frozenset()):
        if place.is_prompt:
            values |= {f"{place.dotted}#{gene.id}": text_hash(gene.text) for gene in place.value}
        else:
            values[place.dotted] = place.value
    return values


def _texts(values: Values) -> Values:
    return {name: value for name, value in values.items() if "#" in name}


def _put(content: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value
