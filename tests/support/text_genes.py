"""Rows of a night that has been: cycles, genomes with parents, and what they scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from evolution.genomes import Origin, add_genome
from kit.db import Database
from models.defaults import DEFAULT_GENOMES
from models.genes import Instruction
from models.genome import Genome, PostprocessGenome
from models.lifecycle import Status
from models.tables import (
    DEFAULT_TENANT,
    Corpus,
    Cycle,
    EvolutionEvalResult,
    EvolutionGenome,
    Profile,
    Question,
    Tenant,
)

LAYER = "postprocess"
OLD = DEFAULT_GENOMES[LAYER]
assert isinstance(OLD, PostprocessGenome)


def with_gene(text: str, **changes: object) -> Genome:
    """The default genome with one instruction more."""
    added = (*OLD.system_prompt, Instruction(id="new", text=text, origin="mutator"))
    return OLD.model_copy(update={"system_prompt": added, **changes})


@dataclass
class Nights:
    """Writes what cycles of one tenant leave behind in domain `d`."""

    db: Database
    tenant: UUID
    corpus_id: UUID
    profile_id: UUID

    async def genome(
        self, genome: Genome, status: Status = Status.EVALUATED, domain: str = "d", **origin: Any
    ) -> UUID:
        async with self.db.transaction() as tx:
            made = Origin(**{"operator": "reflect", "notes": "a change", **origin})
            row, _ = await add_genome(tx, domain, genome, made)
            row.status = status
        return row.id

    async def cycle(self, incumbent_id: UUID | None = None, **columns: Any) -> UUID:
        plan = {"incumbent_id": str(incumbent_id)} if incumbent_id else {}
        async with self.db.transaction(self.tenant) as tx:
            cycle = Cycle(
                **{
                    "tenant_id": self.tenant, "layer": LAYER, "domain": "d", "seed": 1,
                    "profile_id": self.profile_id, "budget": 600, "max_mutations": 3,
                    "plan": plan, **columns,
                }
            )  # fmt: skip
            tx.add(cycle)
        return cycle.id

    async def scores(
        self, cycle_id: UUID, genome_id: UUID, scores: Sequence[float | None], **columns: Any
    ) -> list[UUID]:
        """Question n gets the n-th score; None is unscored."""
        ids = [UUID(int=n + 1) for n in range(len(scores))]
        async with self.db.transaction(self.tenant) as tx:
            for question_id, score in zip(ids, scores, strict=True):
                tx.add(self._result(cycle_id, genome_id, question_id, score, columns))
        return ids

    def _result(
        self,
        cycle_id: UUID,
        genome_id: UUID,
        question_id: UUID,
        score: float | None,
        columns: dict[str, Any],
    ) -> EvolutionEvalResult:
        said = {"reason": "too long", "score": score, "evidence": []}
        return EvolutionEvalResult(
            **{
                "tenant_id": self.tenant, "cycle_id": cycle_id, "genome_id": genome_id,
                "question_id": question_id, "phase": "search", "latency_ms": 1.0,
                "query": f"question {question_id.int}", "response": "an answer",
                "judge_score": score, "judge_raw": "", "answer_key": "k", "judge_reasoning": "r",
                "unscored_reason": "time-out" if score is None else None,
                "criteria": {} if score is None else {"concision": said}, **columns,
            }
        )  # fmt: skip


async def make_nights(db: Database, tenant: UUID = DEFAULT_TENANT) -> Nights:
    """Make a tenant's corpus and profile; another tenant than the default one is made as well."""
    async with db.transaction(tenant) as tx:
        if tenant != DEFAULT_TENANT:
            tx.add(Tenant(id=tenant, name=f"customer {tenant}"))
            await tx.flush()
        corpus = Corpus(tenant_id=tenant, name="c")
        tx.add(corpus)
        await tx.flush()
        profile = Profile(tenant_id=tenant, name="d", domain="d", corpus_id=corpus.id, settings={})
        tx.add(profile)
    return Nights(db, tenant, corpus.id, profile.id)


async def add_question(tx: AsyncSession, nights: Nights, text: str, reference: str | None) -> None:
    tx.add(
        Question(
            tenant_id=nights.tenant, corpus_id=nights.corpus_id, external_id=str(uuid4()),
            text=text, language="en", answerable=True, cluster=text, reference_answer=reference,
        )
    )  # fmt: skip


async def row_of(db: Database, genome_id: UUID) -> EvolutionGenome:
    async with db.transaction() as tx:
        row = await tx.get(EvolutionGenome, genome_id)
    assert row is not None
    return row
