"""What a running cycle asks its mutator with: the talk itself, and the evidence for it."""

import asyncio
from collections.abc import Collection, Sequence
from uuid import UUID

from evolution.breeding.copying import CopyGuard, is_shared_lab, load_exam_texts
from evolution.breeding.evidence import Evidence, bank_notes, load_failures, load_known
from evolution.breeding.gene_bank import load_bank
from evolution.breeding.reflection import Reflection
from evolution.breeding.refused import Refused, find_refused, keep_refused, load_refused
from evolution.running import Run
from models.genome import Genome


async def make_reflection(run: Run) -> Reflection | None:
    """Make the talk of a cycle with its mutator; None where no model is named for it.

    What it refuses is stored at once, with its reason, and what the store knew before this
    cycle is dead to it.
    """
    parts, cycle = run.parts, run.cycle
    if parts.mutator is None:
        return None
    async with parts.db.transaction(parts.tenant) as tx:
        known = await load_known(tx, cycle.domain, run.layer, cycle.id)
        texts = await load_exam_texts(tx, parts.scope.corpus_id)
        shared = await is_shared_lab(tx)

    async def keep(refused: Refused) -> None:
        async with parts.db.transaction(parts.tenant) as tx:
            await keep_refused(tx, parts.tenant, cycle.id, cycle.domain, run.layer, refused)

    return Reflection(
        model=parts.mutator,
        incumbent=run.incumbent_genome,
        inert=parts.inert_genes,
        known=known,
        guard=await asyncio.to_thread(CopyGuard, texts, shared),
        keep=keep,
        pay=run.pay_for_mutation,
    )


async def recall_proposal(
    run: Run, reflection: Reflection, number: int, operator: str, written: Sequence[Genome]
) -> None:
    """Tell the talk what came of proposal `number` in a former run; the mutator is not asked."""
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        note = await find_refused(tx, run.cycle.id, operator, number)
    reflection.recall(note, written)


async def gather_evidence(
    run: Run, parent_id: UUID, parent: Genome, asked: Collection[UUID] | None = None
) -> Evidence:
    """Read what the mutator is shown of `parent`: its worst answers, the bank, what is dead.

    Where the parent has no scored answer yet, the incumbent's are shown. `asked` are the
    questions that it had answered when this was first read: a resumed cycle reads the same.
    """
    cycle, plan = run.cycle, run.plan
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        failures = await load_failures(tx, cycle.id, parent_id, asked)
        if not failures:
            failures = await load_failures(tx, cycle.id, plan.incumbent_id, asked)
        return Evidence(
            failures=failures,
            dialogues=plan.dialogues,
            tried=plan.tried,
            bank=bank_notes(await load_bank(tx, cycle.domain, run.layer), parent),
            refused=await load_refused(tx, cycle.domain, run.layer, cycle.id),
        )
