"""Genes that copy evaluation material: blocked, because they would know the exam."""

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.breeding.gene_bank import GeneWorth, genes_in
from evolution.breeding.leaks import find_leak
from evolution.breeding.word_runs import windows_of
from models.genome import Genome
from models.tables import LAB_TENANT, Question, Tenant

COPIED_WORDS = 8
"""So many words of an evaluation text in a row make a copy."""


class CopyGuard:
    """Knows the texts of an evaluation by their runs of eight words; holds no text itself.

    `shared` tells that genomes may come to serve another tenant than the one whose texts the
    mutator reads: of these no five words in a row, no number and no name may pass either.
    """

    def __init__(self, texts: Iterable[str], shared: bool = False) -> None:
        self._windows = _hashes(texts)
        self._shared = shared

    def find(self, genome: Genome, incumbent: Genome, shown: Iterable[str] = ()) -> str | None:
        """Say which new instruction of `genome` copies; None where none does.

        `shown` are further texts: what the mutator has read. What stands in an instruction of
        `incumbent` is no copy: it was there before. The words themselves are not quoted: the
        sentence is shown to the mutator.
        """
        shown = tuple(shown)
        old = genes_in(incumbent)
        texts = {gene.text for gene in old}
        known = {window for gene in old for window in windows_of(gene.text, COPIED_WORDS)}
        read = _hashes(shown)
        for gene in genes_in(genome):
            if gene.text in texts:
                continue
            runs = (run for run in windows_of(gene.text, COPIED_WORDS) if run not in known)
            if any(hash(run) in self._windows or hash(run) in read for run in runs):
                return f"{_place(gene)} copies {COPIED_WORDS} or more words in a row of {_EXAM}"
            if self._shared and (leak := find_leak(gene.text, texts, shown)):
                return f"{_place(gene)} carries {leak} of a tenant's text into a shared genome"
        return None

    def copies(self, text: str) -> bool:
        """Tell whether an instruction has eight words in a row of the evaluation."""
        return any(hash(run) in self._windows for run in windows_of(text, COPIED_WORDS))


_EXAM = "an evaluation question, reference or answer"


async def load_exam_texts(tx: AsyncSession, corpus_id: UUID) -> list[str]:
    """Give all questions of a corpus and their reference answers."""
    rows = await tx.execute(
        select(Question.text, Question.reference_answer).filter_by(corpus_id=corpus_id)
    )
    return [text for row in rows for text in row if text]


async def is_shared_lab(tx: AsyncSession) -> bool:
    """Tell whether more than one customer lives here: a genome of a domain may serve them all."""
    customers = select(func.count()).select_from(Tenant).where(Tenant.id != LAB_TENANT)
    return (await tx.scalar(customers) or 0) > 1


def _place(gene: GeneWorth) -> str:
    return f"{gene.path}.{gene.gene_id}"


def _hashes(texts: Iterable[str]) -> set[int]:
    return {hash(w) for text in set(texts) for w in windows_of(text, COPIED_WORDS)}
