"""An instruction's worth is what it adds, said only where it was both there and away."""

from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import pytest

from evolution.breeding.gene_bank import GeneWorth, genes_in
from evolution.breeding.genome_space import GenomeSpace, make_space
from evolution.breeding.memory import Remembered
from evolution.breeding.worths import measure
from evolution.search.searcher import Search
from evolution.search.surrogate import Observation
from models.defaults import DEFAULT_GENOMES
from models.genome import Genome, dump_genome, parse_genome

INCUMBENT = DEFAULT_GENOMES["postprocess"]
ADDED = {"first": 1.2, "short": 0.0, "rude": -0.9}
QUESTIONS = [UUID(int=n) for n in range(1, 25)]


def text_of(name: str) -> str:
    return f"Follow the rule called {name}."


def genome_with(*names: str) -> Genome:
    content = dump_genome(INCUMBENT)
    new = [{"id": name, "text": text_of(name)} for name in names]
    content["system_prompt"] = [*new, *content["system_prompt"]]
    return parse_genome(content)


@dataclass
class KnownPopulation:
    """Genomes of former nights alone, with what is remembered of them."""

    genomes: dict[UUID, Genome]
    remembered: list[Remembered]
    members: dict[UUID, object] = field(default_factory=dict)


@dataclass
class KnownView:
    population: KnownPopulation
    space: GenomeSpace
    search: Search


def view_of(combinations: list[tuple[str, ...]]) -> KnownView:
    """Judged answers of a genome for each combination of rules, and of the incumbent."""
    rng = np.random.default_rng(4)
    genomes = {UUID(int=i): genome_with(*c) for i, c in enumerate([(), *combinations])}
    worths = [sum(ADDED[n] for n in c) for c in [(), *combinations]]
    known = [
        Remembered(i, q, float(6 + np.sin(n) + worth + 0.5 * rng.normal()))
        for (i, worth) in zip(genomes, worths, strict=True)
        for n, q in enumerate(QUESTIONS)
    ]
    space = make_space(INCUMBENT, genomes.values(), (), frozenset())
    points = {i: space.point_of(g) for i, g in genomes.items()}
    seen = [Observation(points[r.genome_id] or (), r.question_id, r.score) for r in known]
    search = Search(space.space, space.origin, QUESTIONS, seen, 1)
    return KnownView(KnownPopulation(genomes, known), space, search)


def measured(view: KnownView, name: str) -> GeneWorth:
    gene = next(
        gene
        for genome in view.population.genomes.values()
        for gene in genes_in(genome)
        if gene.text == text_of(name)
    )
    return measure(view, gene)  # type: ignore[arg-type]


EVERY = [("first",), ("short",), ("rude",), ("first", "short"), ("first", "rude"),
         ("short", "rude"), ("first", "short", "rude")]  # fmt: skip


@pytest.mark.parametrize("name", list(ADDED))
def test_the_true_worth_lies_within_the_interval(name: str) -> None:
    gene = measured(view_of(EVERY), name)
    assert gene.worth is not None and gene.low is not None and gene.high is not None
    assert gene.low < ADDED[name] < gene.high
    assert gene.high - gene.low < 1.5
    assert gene.tried == 4 * len(QUESTIONS)


def test_a_rule_that_was_hardly_ever_there_has_no_worth() -> None:
    seldom = measured(
        view_of([("first",), *[("short",), ("rude",), ("short", "rude")] * 2]), "first"
    )
    assert (seldom.worth, seldom.low, seldom.high) == (None, None, None)
    assert seldom.tried == len(QUESTIONS)
