"""The population of a running cycle: its genomes, their answers, and what former nights knew."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.breeding.copying import CopyGuard, load_exam_texts
from evolution.breeding.gene_bank import BY_HAND, GeneWorth, load_bank
from evolution.breeding.genome_space import GenomeSpace, make_space
from evolution.breeding.memory import Remembered, load_genomes, load_remembered
from evolution.buying.evaluate import Contender
from evolution.buying.results import Scored, load_known
from evolution.genomes import load_row
from evolution.proof.claims import TradeRule
from evolution.running import Run
from evolution.search.searcher import Search
from evolution.search.space import Point
from evolution.search.surrogate import Observation
from models.genome import Genome
from models.lifecycle import Status
from models.tables import EvolutionGenome, Trial
from models.upgrade import load_genome

BARRED = (Status.REJECTED, Status.PENDING_APPROVAL, Status.RETIRED)
"""Genomes that a person has turned down or has before them: they are not put up again."""


DEAREST = 1 + TradeRule().cost_growth / 2
"""Expected cost of a nominee, as a share of the incumbent's: its proof needs some room."""


@dataclass
class Member:
    """One genome with the answers that this cycle has bought for it, by question."""

    row: EvolutionGenome
    genome: Genome
    contender: Contender
    answers: dict[UUID, Scored] = field(default_factory=dict)

    @property
    def scores(self) -> dict[UUID, float]:
        return {q: s.score for q, s in self.answers.items() if s.score is not None}


@dataclass
class Population:
    """Everything that the next round is decided on. It grows with each round."""

    run: Run
    incumbent: Member
    bank: tuple[GeneWorth, ...]
    remembered: Sequence[Remembered]
    former: dict[UUID, Genome]
    """Genomes of former nights by id."""
    barred: tuple[Genome, ...]
    members: dict[UUID, Member] = field(default_factory=dict)
    _view: "tuple[tuple[int, int], View] | None" = None

    def __post_init__(self) -> None:
        self.members[self.incumbent.row.id] = self.incumbent

    @property
    def candidates(self) -> list[Member]:
        return [m for m in self.members.values() if m is not self.incumbent]

    def add(self, row: EvolutionGenome, genome: Genome) -> Member:
        """Take a genome in; one that is there stays as it is."""
        contender = self.run.contender(row.id, genome)
        return self.members.setdefault(row.id, Member(row, genome, contender))

    async def recall(self, finalist_id: UUID | None) -> None:
        """Take in all genomes that this cycle has tried, with the answers that it bought."""
        cycle_id, db, tenant = self.run.cycle.id, self.run.parts.db, self.run.parts.tenant
        async with db.transaction(tenant) as tx:
            tried = select(Trial.genome_id).filter_by(cycle_id=cycle_id).order_by(Trial.number)
            ids = [*await tx.scalars(tried), *([finalist_id] if finalist_id else [])]
            for genome_id in dict.fromkeys(ids):
                row = await tx.get_one(EvolutionGenome, genome_id)
                member = self.add(row, load_genome(row.content))
                member.answers |= await load_known(tx, cycle_id, genome_id, "search")

    def view(self, children: Sequence[Genome] = ()) -> "View":
        """Look at all that is known by now, as the search sees it; `children` are to come.

        It is the same view until something new is known: the model is fitted once a round.
        """
        known = (sum(len(m.answers) for m in self.members.values()), len(self.members))
        if children or self._view is None or self._view[0] != known:
            self._view = known, self._look(children)
        return self._view[1]

    def _look(self, children: Sequence[Genome]) -> "View":
        genomes = [*(member.genome for member in self.members.values()), *children]
        space = make_space(self.incumbent.genome, genomes, self.bank, self.run.parts.inert_genes)
        return View(self, space)

    @property
    def genomes(self) -> dict[UUID, Genome]:
        """All that were ever judged here, of this night and before, by id."""
        return self.former | {i: m.genome for i, m in self.members.items()}

    def costs(self, space: GenomeSpace) -> list[Observation]:
        """What the answers of this cycle cost, as shares of the incumbent's mean."""
        for unit in ("micros", "tokens"):
            own = [getattr(answer, unit) for answer in self.incumbent.answers.values()]
            if sum(own):
                mean = sum(own) / len(own)
                return [
                    Observation(point, question, getattr(answer, unit) / mean)
                    for member in self.members.values()
                    if (point := space.point_of(member.genome)) is not None
                    for question, answer in member.answers.items()
                ]
        return []

    def observations(self, space: GenomeSpace) -> list[Observation]:
        """All judged answers that have a point in `space`."""
        points = {i: space.point_of(genome) for i, genome in self.genomes.items()}
        known = [(r.genome_id, r.question_id, r.score) for r in self.remembered]
        known += [(i, q, score) for i, m in self.members.items() for q, score in m.scores.items()]
        return [
            Observation(point, question, score)
            for genome_id, question, score in known
            if (point := points.get(genome_id)) is not None
        ]


@dataclass(frozen=True)
class View:
    """A population as points: made anew for each round, because new texts make new genes."""

    population: Population
    space: GenomeSpace

    @cached_property
    def search(self) -> Search:
        plan, cycle = self.population.run.plan, self.population.run.cycle
        return Search(
            self.space.space,
            self.space.origin,
            plan.search_questions,
            self.population.observations(self.space),
            cycle.seed,
            self.points(self.population.barred),
            self.population.costs(self.space),
            DEAREST,
        )

    def points(self, genomes: Iterable[Genome]) -> list[Point]:
        """Give the points of `genomes`, those that have one."""
        points = [self.space.point_of(genome) for genome in genomes]
        return [point for point in points if point is not None]

    def at(self, point: Point) -> list[Member]:
        """The members at a point (texts in another order share one)."""
        members = self.population.members.values()
        return [m for m in members if self.space.point_of(m.genome) == point]


async def _load_clean_bank(tx: AsyncSession, run: Run) -> tuple[GeneWorth, ...]:
    """Load the bank without what copies questions that were imported since."""
    bank = await load_bank(tx, run.cycle.domain, run.plan.layer)
    written = [gene for gene in bank if gene.origin != BY_HAND]
    if not written:
        return bank
    texts = await load_exam_texts(tx, run.parts.scope.corpus_id)
    guard = await asyncio.to_thread(CopyGuard, texts)
    return tuple(g for g in bank if g.origin == BY_HAND or not guard.copies(g.text))


async def open_population(run: Run) -> Population:
    """Load what a search starts from: the incumbent, the gene bank, and former nights."""
    cycle, plan = run.cycle, run.plan
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        remembered = await load_remembered(tx, plan.remembered)
        former = await load_genomes(tx, {r.genome_id for r in remembered})
        row = await load_row(tx, plan.incumbent_id)
        bank = await _load_clean_bank(tx, run)
        closed = select(EvolutionGenome).filter_by(domain=cycle.domain, layer=plan.layer)
        rows = await tx.scalars(closed.where(EvolutionGenome.status.in_(BARRED)))
        barred = tuple(load_genome(each.content) for each in rows)
    genome = run.incumbent_genome
    incumbent = Member(row, genome, run.contender(row.id, genome))
    return Population(run, incumbent, bank, remembered, former, barred)
