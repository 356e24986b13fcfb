"""How a cycle ends: the session, the proof if there is something to prove, the result in words."""

from evolution.buying.replay import SAVED_ANSWER_WORTH
from evolution.buying.results import load_known
from evolution.buying.session import eval_session
from evolution.promote import Finalist as Proposed
from evolution.promote import promote_best
from evolution.proof.sentence import sentence_of, signed
from evolution.running import Run
from evolution.shapes import CandidateProgress, CycleResult, Proof
from evolution.standing import Finalist, Standing

ALERT_ABOVE = 8.5
"""Judge score of a promoted genome above which the waiting approval is an alert."""


async def finish_cycle(run: Run, standing: Standing) -> CycleResult:
    """Prove the best candidate where it is promising and fresh questions are there."""
    base = CycleResult(
        outcome="nothing_better",
        sentence=_nothing(standing),
        tried=standing.tried,
        refused=standing.refused,
        session=await _session(run, standing),
        front=standing.front,
        raced=standing.raced,
    )
    best = standing.best
    await _mark_lines(run, best if standing.is_promising else None)
    if best is None or not standing.is_promising:
        return base
    named = {
        "finalist_id": best.member.row.id,
        "finalist": best.member.contender.name,
        "search_gain": best.gain,
    }
    base = base.model_copy(update=named)
    if not run.plan.looks:
        return base.model_copy(update={"outcome": "explored", "sentence": _explored(run, best)})
    proof = await _prove(run, standing, best)
    return base.model_copy(update=await _proven(run, best, proof))


async def _mark_lines(run: Run, best: Finalist | None) -> None:
    """Show who goes on to the proof, and that nobody else does."""

    def marked(line: CandidateProgress) -> CandidateProgress:
        is_best = best is not None and line.genome_id == best.member.row.id
        state = "finalist" if is_best else "dropped"
        return line if line.state == "incumbent" else line.model_copy(update={"state": state})

    await run.board.show(candidates=tuple(map(marked, run.board.progress.candidates)))


async def _prove(run: Run, standing: Standing, best: Finalist) -> Proof:
    """Let the test run on the questions that were kept fresh for it."""
    await run.board.show(phase="proving")
    proofs = await promote_best(
        run.evaluator,
        run.plan,
        standing.incumbent.contender,
        [Proposed(best.member.contender, best.claim)],
        await run.load_questions(run.plan.confirm_questions),
        run.cycle.domain,
    )
    return proofs[0]


async def _proven(run: Run, best: Finalist, proof: Proof) -> dict[str, object]:
    better = proof.is_proven
    alert = better and proof.candidate_mean > ALERT_ABOVE
    name = best.member.contender.name
    words = f"{name} scores {proof.candidate_mean:.1f} of 10: an approval waits."
    return {
        "outcome": "promoted" if better else "nothing_better",
        "sentence": sentence_of(proof),
        "proof": proof,
        "saved_answers": await _saved(run, best),
        "alert": words if alert else "",
    }


async def _saved(run: Run, best: Finalist) -> int:
    """Count the answers that the finalist's cache saved in the proof's replay."""
    async with run.parts.db.transaction(run.parts.tenant) as tx:
        known = await load_known(tx, run.cycle.id, best.member.row.id, "confirm")
    return round(sum(2 * scored.bonus / SAVED_ANSWER_WORTH for scored in known.values()))


async def _session(run: Run, standing: Standing) -> str:
    """Routing: let an agent work once under the incumbent's and the best candidate's genome."""
    if run.layer != "routing":
        return ""
    questions = await run.load_questions(run.plan.search_questions[:1])
    members = [standing.incumbent, *([standing.best.member] if standing.best else [])]
    shown = [await eval_session(run.evaluator, m.contender, questions[0]) for m in members]
    return "\n".join(shown)


def _nothing(standing: Standing) -> str:
    count = f"{standing.tried} candidate{'s' if standing.tried != 1 else ''} tried"
    tried = f"{count} on {standing.answers} judged answers"
    if standing.best is None:
        return f"Nothing better found: {tried}, none comparable."
    best = standing.best
    name = best.member.contender.name
    return f"Nothing better found: {tried}; the best, {name}, is expected to differ by {_by(best)}."


def _explored(run: Run, best: Finalist) -> str:
    better = f"to be better by {_by(best)}"
    cheaper = f"to cost {100 * (1 - best.cost):.0f} % less and to differ by {_by(best)}"
    expected = cheaper if best.claim == "cheaper" else better
    return f"Explored: {best.member.contender.name} is expected {expected}, but {run.plan.note}."


def _by(best: Finalist) -> str:
    return f"{signed(best.gain)} ± {best.error:.2f} of 10"
