"""promote_best: prove the finalist on fresh questions, then put it before a person."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from evolution.binding import bind
from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.paid import hash_key
from evolution.buying.results import Scored
from evolution.genomes import load_row, move
from evolution.proof.book import Opening, close_proof, open_proofs
from evolution.proof.group_sequential import conclude, judge_look
from evolution.proof.sentence import sentence_of
from evolution.questions import spend_confirm
from evolution.shapes import Claim, CyclePlan, Pair, Proof, Spent
from models.lifecycle import Status
from models.tables import Approval, Question


@dataclass(frozen=True)
class Finalist:
    """A genome that the search nominates, and what it is put up for."""

    contender: Contender
    claim: Claim = "better"


async def promote_best(
    evaluator: Evaluator,
    plan: CyclePlan,
    incumbent: Contender,
    finalists: Sequence[Finalist],
    questions: Sequence[Question],
    domain: str,
) -> list[Proof]:
    """Answer and judge both sides anew on fresh questions, and promote what is proven.

    Gives one proof a finalist, in their order. The book of proofs says beforehand how sure
    each has to be. Each look adds a block of questions, spent once and for ever; a test stops
    as soon as it may, and what none of them needed stays fresh. A proven finalist becomes
    `pending_approval`, bound to all that the proof holds for.
    """
    alphas = await _open(evaluator, plan, domain, finalists)
    tests = [ProofRun(f, plan.looks, alphas[f.contender.genome_id]) for f in finalists]
    for start, end in pairwise((0, *plan.looks)):
        running = [test for test in tests if test.is_running]
        if not running:
            break
        block = questions[start:end]
        await _spend(evaluator, plan, domain, block)
        sides = [incumbent, *(test.finalist.contender for test in running)]
        scores = await evaluator.eval_all(sides, block, "confirm")
        for test in running:
            theirs = scores[test.finalist.contender.genome_id]
            test.look_at(_pairs(block, scores[incumbent.genome_id], theirs))
    return [await _close(evaluator, domain, incumbent, test) for test in tests]


@dataclass
class ProofRun:
    """The running test of one finalist."""

    finalist: Finalist
    looks: tuple[int, ...]
    alpha: float
    pairs: list[Pair] = field(default_factory=list)
    look: int = 0
    is_running: bool = True

    def look_at(self, block: Sequence[Pair]) -> None:
        """Add what the next block of questions showed, and decide whether to go on."""
        self.pairs += block
        self.look += 1
        self.is_running = judge_look(*self._so_far) == "go_on"

    def conclude(self) -> Proof:
        return conclude(*self._so_far)

    @property
    def _so_far(self) -> tuple[list[Pair], int, tuple[int, ...], float, Claim]:
        return self.pairs, self.look, self.looks, self.alpha, self.finalist.claim


async def _open(
    evaluator: Evaluator, plan: CyclePlan, domain: str, finalists: Sequence[Finalist]
) -> dict[UUID, float]:
    openings = [Opening(f.contender.genome_id, f.claim) for f in finalists]
    async with evaluator.parts.db.transaction(evaluator.parts.tenant) as tx:
        return await open_proofs(tx, evaluator.cycle_id, domain, plan.layer, openings)


async def _close(evaluator: Evaluator, domain: str, incumbent: Contender, test: ProofRun) -> Proof:
    proof, contender = test.conclude(), test.finalist.contender
    async with evaluator.parts.db.transaction(evaluator.parts.tenant) as tx:
        if proof.is_proven:
            await _put_up(tx, evaluator, domain, incumbent, contender, proof, test.pairs)
        await close_proof(tx, evaluator.cycle_id, contender.genome_id, proven=proof.is_proven)
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
        Pair(
            question_id=q.id,
            query=q.text,
            incumbent=a.score,
            candidate=b.score,
            incumbent_spent=_spent(a),
            candidate_spent=_spent(b),
        )
        for q, a, b in zip(block, ours, theirs, strict=True)
    ]


def _spent(scored: Scored) -> Spent:
    return Spent(tokens=scored.tokens, micros=scored.micros, latency_ms=scored.timed_ms)


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
