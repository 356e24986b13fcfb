"""How a cycle ends: the session, the proof if there is something to prove, the result in words."""

from dataclasses import dataclass

from evolution.promote import Finalist, promote_best
from evolution.proof.sentence import sentence_of, signed
from evolution.race import Gain, Lane, line_of
from evolution.replay import SAVED_ANSWER_WORTH
from evolution.results import load_known
from evolution.running import Run
from evolution.session import eval_session
from evolution.shapes import CycleResult, Proof, Refusal

ALERT_ABOVE = 8.5
"""Judge score of a promoted genome above which the waiting approval is an alert."""


@dataclass(frozen=True)
class Standing:
    """Where the race has left everybody; `order` holds those still in it, best first."""

    incumbent: Lane
    order: list[tuple[Lane, Gain]]
    tried: int
    refused: tuple[Refusal, ...]


async def finish_cycle(run: Run, standing: Standing) -> CycleResult:
    """Prove the best candidate where it is promising and fresh questions are there."""
    for place, (lane, gain) in enumerate(standing.order):
        if place > 0 or not gain.is_promising:
            await run.board.show_candidate(line_of(lane, "dropped", gain))
    base = CycleResult(
        outcome="nothing_better",
        sentence=_nothing(standing),
        tried=standing.tried,
        refused=standing.refused,
        session=await _session(run, standing),
    )
    if not standing.order or not standing.order[0][1].is_promising:
        return base
    lane, gain = standing.order[0]
    base = base.model_copy(
        update={
            "finalist_id": lane.contender.genome_id,
            "finalist": lane.contender.name,
            "search_gain": gain.mean,
        }
    )
    if not run.plan.looks:
        return base.model_copy(update={"outcome": "explored", "sentence": _explored(run, standing)})
    proof = await _prove(run, standing.incumbent, lane, gain)
    return base.model_copy(update=await _proven(run, lane, proof))


async def _prove(run: Run, incumbent: Lane, lane: Lane, gain: Gain) -> Proof:
    """Let the test run on the questions that were kept fresh for it."""
    await run.board.show_candidate(line_of(lane, "finalist", gain))
    await run.board.show(phase="proving")
    questions = await run.load_questions(run.plan.confirm_questions)
    proofs = await promote_best(
        run.evaluator,
        run.plan,
        incumbent.contender,
        [Finalist(lane.contender)],
        questions,
        run.cycle.domain,
    )
    return proofs[0]


async def _proven(run: Run, lane: Lane, proof: Proof) -> dict[str, object]:
    better = proof.is_proven
    alert = better and proof.candidate_mean > ALERT_ABOVE
    words = f"{lane.contender.name} scores {proof.candidate_mean:.1f} of 10: an approval waits."
    return {
        "outcome": "promoted" if better else "nothing_better",
        "sentence": sentence_of(proof),
        "proof": proof,
        "saved_answers": await _saved(run, lane),
        "alert": words if alert else "",
    }


async def _saved(run: Run, lane: Lane) -> int:
    """Count the answers that the finalist's cache saved in the proof's replay."""
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        known = await load_known(tx, run.cycle.id, lane.contender.genome_id, "confirm")
    return round(sum(2 * scored.bonus / SAVED_ANSWER_WORTH for scored in known.values()))


async def _session(run: Run, standing: Standing) -> str:
    """Routing: let an agent work once under the incumbent's and the best candidate's genome."""
    if run.layer != "routing":
        return ""
    questions = await run.load_questions(run.plan.search_questions[:1])
    best = [lane for lane, _ in standing.order[:1]]
    lanes = [standing.incumbent, *best]
    shown = [await eval_session(run.evaluator, lane.contender, questions[0]) for lane in lanes]
    return "\n".join(shown)


def _nothing(standing: Standing) -> str:
    tried = f"{standing.tried} candidate{'s' if standing.tried != 1 else ''} tried"
    if not standing.order:
        return f"Nothing better found: {tried}, none comparable."
    lane, gain = standing.order[0]
    return (
        f"Nothing better found: {tried}; the best, {lane.contender.name}, differs by "
        f"{signed(gain.mean)} ± {gain.error:.2f} of 10 on {gain.pairs} search questions."
    )


def _explored(run: Run, standing: Standing) -> str:
    lane, gain = standing.order[0]
    return (
        f"Explored: {lane.contender.name} looks better by {signed(gain.mean)} ± {gain.error:.2f} "
        f"of 10 on {gain.pairs} search questions, but {run.plan.note}."
    )
