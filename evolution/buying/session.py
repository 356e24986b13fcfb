"""The `eval_seed_prompt` session of the routing layer: an agent, its tools, one judged answer."""

from collections.abc import Awaitable, Callable

from evolution.buying.calls import PaidScope
from evolution.buying.evaluate import Contender, Evaluator
from evolution.buying.paid import hash_key, paying_for
from evolution.buying.purchases import PaidFor
from evolution.buying.results import Shelf
from evolution.parts import AnswerQuestion, SessionTranscript
from models.contract import Chunk
from models.genome import GenomeSet
from models.tables import Question

EVAL_SEED_PROMPT = (
    "You are looking something up for a colleague. First search the documents for the question, "
    "then ask it, and give the answer that you get together with its sources."
)
"""Evaluation material: part of the evaluation's version, never of a genome."""

SEARCH_LIMIT = 5

Search = Callable[[str], Awaitable[tuple[Chunk, ...]]]


class DirectToolSession:
    """A built-in agent that follows the seed prompt step by step, its tools called directly.

    It is no language model, and no MCP server stands between: both are said in `agent`.
    """

    agent = "built-in agent, tools called directly"

    def __init__(self, search: Search, ask: AnswerQuestion) -> None:
        self._search = search
        self._ask = ask

    async def run(self, seed_prompt: str, question: str, genomes: GenomeSet) -> SessionTranscript:
        """Call `search_documents`, then `ask`, under `genomes`."""
        found = await self._search(question)
        state = await self._ask(question, genomes)
        assert state.answer is not None
        chunks = state.retrieval.chunks if state.retrieval else ()
        steps = (
            f"seed prompt: {seed_prompt}",
            f"search_documents({question!r}): {len(found)} fragments, best {_title(found)}",
            f"ask({question!r}): {state.query_type}, {len(state.answer.sources)} sources",
        )
        return SessionTranscript(self.agent, steps, state.answer, chunks)


async def eval_session(evaluator: Evaluator, contender: Contender, question: Question) -> str:
    """Run one session under a contender's genomes, judge its answer; say what came of it."""
    parts = evaluator.parts
    cycle_id = evaluator.cycle_id
    key = hash_key("session", str(cycle_id), contender.name, question.text, EVAL_SEED_PROMPT)
    with paying_for(PaidScope(parts.tenant, cycle_id, key, "session")):
        transcript = await parts.session.run(EVAL_SEED_PROMPT, question.text, contender.genomes)
    paid = PaidFor(key, transcript.answer, transcript.chunks, 0.0)
    shelf = Shelf(parts.tenant, cycle_id, contender.genome_id, "session")
    async with evaluator.reserved() as reservation:
        scored = await evaluator.judge_and_keep(paid, question, shelf, "session", reservation)
    score = "unscored" if scored.score is None else f"{scored.score:.1f} of 10"
    return f"{contender.name}: {score} ({transcript.agent}; {'; '.join(transcript.steps[1:])})"


def _title(chunks: tuple[Chunk, ...]) -> str:
    return f"“{chunks[0].title}”" if chunks else "none"
