"""promote_best: prove the finalist on fresh questions, then put it before a person."""

from collections.abc import Sequence
from itertools import pairwise

from sqlalchemy.ext.asyncio import AsyncSession

from evolution.binding import bind
from evolution.evaluate import Contender, Evaluator
from evolution.genomes import load_row, move
from evolution.paid import hash_key
from evolution.proof import conclude, judge_look
from evolution.questions import spend_confirm
from evolution.results import Scored
from evolution.shapes import CyclePlan, Pair, Proof
from models.lifecycle import Status
from models.tables import Approval, Question


async def promote_best(
    evaluator: Evaluator,
    plan: CyclePlan,
    incumbent: Contender,
    finalist: Contender,
    questions: Sequence[Question],
    domain: str,
) -> Proof:
    """Answer and judge both sides anew on fresh questions, and promote what is proven.

    Each look adds a block of questions, spent once and for ever; the test stops as soon as it
    may, and what it did not need stays fresh. A proven finalist becomes `pending_approval`,
    bound to all that the proof holds for.
    """
    pairs: list[Pair] = []
    look = 0
    for look, (start, end) in enumerate(pairwise((0, *plan.looks)), start=1):
        block = questions[start:end]
        await _spend(evaluator, plan, domain, block)
        scores = await evaluator.eval_all([incumbent, finalist], block, "confirm")
        pairs += _pairs(block, scores[incumbent.genome_id], scores[finalist.genome_id])
        if judge_look(pairs, look, plan.looks, plan.alpha) != "go_on":
            break
    proof = conclude(pairs, look, plan.looks, plan.alpha)
    if proof.decision == "better":
        async with evaluator.parts.db.transaction(evaluator.parts.tenant) as tx:
            await _put_up(tx, evaluator, domain, incumbent, finalist, proof, pairs)
    return proof


async def _spend(
    evaluator: Evaluator, plan: CyclePlan, domain: str, block: Sequence[Question]
) -> None:
    tenant, ids = evaluator.parts.tenant, [question.id for question in block]
    async with evaluator.parts.db.transaction(tenant) as tx:
        await spend_confirm(tx, tenant, evaluator.cycle_id, domain, plan.layer, ids)


def _pairs(
    block: Sequence[Question], ours: Sequence[Scored], theirs: Sequence[Scored]
) -> list[Pair]:
    return [
        Pair(question_id=q.id, query=q.text, incumbent=a.score, candidate=b.score)
        for q, a, b in zip(block, ours, theirs, strict=True)
    ]


async def _put_up(
    tx: AsyncSession,
    evaluator: Evaluator,
    domain: str,
    incumbent: Contender,
    finalist: Contender,
    proof: Proof,
    pairs: Sequence[Pair],
) -> None:
    """Make the finalist pending and write down what a person has to decide on, once."""
    row = await load_row(tx, finalist.genome_id, lock=True)
    if row.status is not Status.EVALUATED:
        return  # a resumed cycle comes by here again
    move(row, Status.PENDING_APPROVAL)
    evidence = {
        "proof": proof.model_dump(mode="json"),
        "pairs": [pair.model_dump(mode="json") for pair in pairs],
    }
    models = evaluator.parts.models
    binding = await bind(tx, domain, row.content_hash, models, hash_key(evidence))
    evidence["binding"] = binding.model_dump(mode="json")
    evidence["models"] = models
    evidence["judge_version"] = models["judge"]
    evidence["sentence"] = sentence_of(proof)
    tx.add(
        Approval(
            tenant_id=evaluator.parts.tenant,
            genome_id=finalist.genome_id,
            incumbent_id=incumbent.genome_id,
            cycle_id=evaluator.cycle_id,
            digest=binding.digest(),
            evidence=evidence,
        )
    )


def signed(points: float) -> str:
    """Write a difference in points as people read it: with its sign, and a true minus."""
    text = f"{points:+.2f}"
    return "0.00" if text[1:] == "0.00" else text.replace("-", "−")


def sentence_of(proof: Proof) -> str:
    """Say in one sentence by how much, how sure, on how many."""
    interval = f"{signed(proof.low)} to {signed(proof.high)}"
    numbers = f"{signed(proof.gain)} of 10 (interval {interval}) on {proof.pairs} fresh questions"
    if proof.decision == "better":
        return f"Better by {numbers}; a false alarm at most {proof.alpha:.0%} of the time."
    if proof.decision == "not_comparable":
        return f"Not comparable: only {proof.pairs} of {proof.pairs + proof.missing} were scored."
    return f"Not proven: {numbers}."
