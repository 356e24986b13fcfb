"""What a cycle learned of each instruction: its worth, for the gene bank."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evolution.breeding.gene_bank import GeneWorth, genes_in, is_measured
from evolution.breeding.population import Population, View
from evolution.search.features import Array

SURE_OF = 1.96
"""Standard deviations each way: 95 % of a normal posterior."""


def measure_all(population: Population) -> list[GeneWorth]:
    """Measure every instruction that this cycle had in a genome."""
    view = population.view()
    genomes = [member.genome for member in population.members.values()]
    genes = {gene.key: gene for genome in genomes for gene in genes_in(genome)}
    return [measure(view, gene) for gene in genes.values()]


def measure(view: View, gene: GeneWorth) -> GeneWorth:
    """Say what an instruction adds over its absence, or over the other texts in its place.

    The worth is a combination of the surrogate's terms; it is said where at least a fifth of
    the tried genomes had the instruction, and a fifth lacked it.
    """
    population = view.population
    having = {
        genome_id
        for genome_id, genome in population.genomes.items()
        if gene.key in {other.key for other in genes_in(genome)}
    }
    tried = sum(len(m.scores) for i, m in population.members.items() if i in having)
    tried += sum(r.genome_id in having for r in population.remembered)
    gene = replace(gene, tried=tried)
    row = _contrast(view, gene)
    if row is None or not is_measured(len(having), len(population.genomes) - len(having)):
        return gene
    (mean,), (error,) = (side.tolist() for side in view.search.model.combine(row))
    return replace(gene, worth=mean, low=mean - SURE_OF * error, high=mean + SURE_OF * error)


def _contrast(view: View, gene: GeneWorth) -> Array | None:
    """The terms that the instruction switches on, less the mean of its alternatives'."""
    name = f"{gene.path}#{gene.gene_id}"
    index = next((i for i, g in enumerate(view.space.space.genes) if g.name == name), None)
    if index is None:
        return None
    level = _level(view, index, gene)
    if level is None:
        return None
    point = view.space.origin
    others = [n for n in range(len(view.space.space.genes[index].levels)) if n != level]
    model = view.search.model
    points = [_with(point, index, n) for n in (level, *others)]
    rows = model.relative(points, paired=model.is_paired)
    return np.asarray(rows[:1] - rows[1:].mean(axis=0))


def _level(view: View, index: int, gene: GeneWorth) -> int | None:
    levels: Sequence[object] = view.space.space.genes[index].levels
    wanted = True if view.space.space.genes[index].kind == "switch" else gene.key[1]
    return levels.index(wanted) if wanted in levels else None


def _with(point: tuple[int, ...], index: int, level: int) -> tuple[int, ...]:
    return (*point[:index], level, *point[index + 1 :])
