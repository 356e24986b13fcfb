"""What the mutator reads: the incumbent's worst answers, live dialogues, what failed before."""

from collections.abc import Collection, Sequence
from uuid import UUID

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.breeding.gains import MeasuredGain, load_gains
from evolution.breeding.gene_bank import GeneWorth, genes_in
from evolution.breeding.refused import RefusedNote
from evolution.shapes import Dialogue
from kit.stemming import terms
from models.contract import Frozen
from models.genome import Genome, Layer, short_name
from models.lifecycle import Status
from models.tables import (
    CachedAnswer,
    Cycle,
    EvolutionEvalResult,
    EvolutionGenome,
    Question,
)

WORST_SHOWN = 6
DIALOGUES_SHOWN = 6
TRIED_SHOWN = 20
GENES_SHOWN = 24
ANSWER_SHOWN = 1_000
REASON_SHOWN = 300
"""Characters: six weak answers with four reasons each have to fit before a small model."""
REFUSED_SHOWN = 20
ALIKE = 0.6
"""Share of common terms from which a live question counts as a near-duplicate."""


class Said(Frozen):
    """What the judge said of one criterion."""

    score: float
    reason: str


class Failure(Frozen):
    """A weak answer and why it is weak."""

    question: str
    answer: str
    score: float
    criteria: dict[str, Said] = Field(default_factory=dict)
    """Worst first; empty where the answer itself failed, as `reasoning` says."""
    reasoning: str = ""


class BankNote(Frozen):
    """One instruction of the gene bank as the mutator reads it."""

    prompt: str
    text: str
    in_genome: bool
    worth: float | None
    """Points of 10 that it adds; null: not measured."""
    low: float | None
    high: float | None
    tried: int


class Evidence(Frozen):
    failures: tuple[Failure, ...]
    dialogues: tuple[Dialogue, ...]
    tried: tuple[str, ...]
    bank: tuple[BankNote, ...] = ()
    refused: tuple[RefusedNote, ...] = ()

    def with_refused(self, notes: Sequence[RefusedNote]) -> "Evidence":
        """The same evidence with further refusals, the newest first, each of them once."""
        known = dict.fromkeys((*reversed(notes), *self.refused))
        return self.model_copy(update={"refused": tuple(known)[:REFUSED_SHOWN]})

    @property
    def texts(self) -> tuple[str, ...]:
        """All that people, sources or readers wrote: no instruction may copy it."""
        turns = [turn.content for talk in self.dialogues for turn in talk.history]
        talks = [text for talk in self.dialogues for text in (talk.question, talk.answer)]
        judged = [text for weak in self.failures for text in (weak.question, weak.answer)]
        return (*judged, *talks, *turns)


async def load_failures(
    tx: AsyncSession, cycle_id: UUID, genome_id: UUID, asked: Collection[UUID] | None = None
) -> tuple[Failure, ...]:
    """Give a genome's worst answers to the search questions of its cycle, worst first.

    `asked` limits them to the questions that were answered at some point, so that a resumed
    cycle, which has more in the store, reads the same again.
    """
    query = (
        select(EvolutionEvalResult)
        .filter_by(cycle_id=cycle_id, genome_id=genome_id, phase="search")
        .where(EvolutionEvalResult.judge_score.is_not(None))
        .order_by(
            EvolutionEvalResult.judge_score,
            EvolutionEvalResult.query,
            EvolutionEvalResult.replicate,
        )
        .limit(WORST_SHOWN)
    )
    if asked is not None:
        query = query.where(EvolutionEvalResult.question_id.in_(asked))
    return tuple(_failure(row) for row in await tx.scalars(query))


def bank_notes(bank: Sequence[GeneWorth], parent: Genome) -> tuple[BankNote, ...]:
    """Choose what the mutator reads of the bank: the parent's own genes, the best, the worst."""
    own = {gene.key for gene in genes_in(parent)}
    measured = [gene for gene in bank if gene.worth is not None and gene.key not in own]
    new = [gene for gene in bank if gene.worth is None and gene.key not in own]
    half = GENES_SHOWN // 2
    few = len(measured) <= GENES_SHOWN
    chosen = measured if few else [*measured[:half], *measured[-half:]]
    shown = [*(g for g in bank if g.key in own), *[*chosen, *new][:GENES_SHOWN]]
    return tuple(_note(gene, gene.key in own) for gene in shown)


async def load_dialogues(
    tx: AsyncSession, corpus_id: UUID, confirm: Sequence[UUID]
) -> tuple[Dialogue, ...]:
    """Give the newest live dialogues of the answer cache, none like a confirm question."""
    hidden = select(Question.text).where(Question.id.in_(confirm))
    secret = [_words(text) for text in await tx.scalars(hidden)]
    rows = await tx.scalars(
        select(CachedAnswer)
        .filter_by(corpus_id=corpus_id)
        .order_by(CachedAnswer.created_at.desc(), CachedAnswer.id)
        .limit(10 * DIALOGUES_SHOWN)
    )
    shown = [row for row in rows if not _is_like(_words(row.question), secret)]
    return tuple(
        Dialogue.model_validate(
            {"history": row.history, "question": row.question, "answer": row.answer["answer"]}
        )
        for row in shown[:DIALOGUES_SHOWN]
    )


async def load_tried(tx: AsyncSession, domain: str, layer: Layer) -> tuple[str, ...]:
    """Give what this tenant's cycles tried before and what did not come to serve, with its gain.

    Row-level security hides the cycles of others, and with them notes that may quote them.
    """
    rows = await tx.scalars(
        select(EvolutionGenome)
        .filter_by(domain=domain, layer=layer)
        .where(
            EvolutionGenome.status.in_((Status.EVALUATED, Status.REJECTED)),
            EvolutionGenome.cycle_id.in_(select(Cycle.id)),
        )
        .order_by(EvolutionGenome.created_at.desc(), EvolutionGenome.id)
        .limit(TRIED_SHOWN)
    )
    gains = await load_gains(tx, domain, layer)
    return tuple(fate_of(row, gains.get(row.id)) for row in rows)


async def load_known(tx: AsyncSession, domain: str, layer: Layer, cycle_id: UUID) -> dict[str, str]:
    """Content hash -> what became of it, for all genomes that are there from before this cycle.

    Whatever the store knows is dead to a proposal: it is never judged again as a new one.
    """
    rows = await tx.scalars(
        select(EvolutionGenome)
        .filter_by(domain=domain, layer=layer)
        .where(EvolutionGenome.cycle_id.is_distinct_from(cycle_id))
    )
    gains = await load_gains(tx, domain, layer)
    return {row.content_hash: _dead(row, gains.get(row.id)) for row in rows}


def _dead(row: EvolutionGenome, gain: MeasuredGain | None) -> str:
    name = short_name(row.content_hash)
    if row.status in (Status.ACTIVE, Status.PENDING_APPROVAL, Status.RETIRED):
        return f"it is {name}, which is or was in use"
    return f"it is {name}, tried before: {gain or 'no gain was measured'}"


def fate_of(row: EvolutionGenome, gain: MeasuredGain | None) -> str:
    """Say in a line what a genome changed and what came of it."""
    ends = {Status.REJECTED: "turned down by a person", Status.RETIRED: "retired"}
    said = [ends.get(row.status, ""), str(gain) if gain else ""]
    return f"{row.notes or row.operator} ({', '.join(filter(None, said)) or 'not measured'})"


def _failure(row: EvolutionEvalResult) -> Failure:
    weakest = sorted(row.criteria.items(), key=lambda item: (item[1]["score"], item[0]))
    return Failure(
        question=row.query,
        answer=row.response[:ANSWER_SHOWN],
        score=row.judge_score or 0.0,
        criteria={
            name: Said(score=said["score"], reason=said["reason"][:REASON_SHOWN])
            for name, said in weakest
        },
        reasoning="" if row.criteria else row.judge_reasoning[:REASON_SHOWN],
    )


def _note(gene: GeneWorth, in_genome: bool) -> BankNote:
    return BankNote(
        prompt=gene.path,
        text=gene.text,
        in_genome=in_genome,
        worth=_rounded(gene.worth),
        low=_rounded(gene.low),
        high=_rounded(gene.high),
        tried=gene.tried,
    )


def _rounded(points: float | None) -> float | None:
    return None if points is None else round(points, 2)


def _words(text: str) -> set[str]:
    return set(terms(text, ("en", "es", "ru")))


def _is_like(words: set[str], others: Sequence[set[str]]) -> bool:
    return any(len(words & other) >= ALIKE * len(words | other) for other in others if words)
