"""Cache admission: which answers the `cache_policy` genome keeps for the next asker."""

from dataclasses import dataclass

from models.contract import Answer
from models.genome import CachePolicyGenome
from pipeline.cache_key import CacheKeys
from pipeline.personal import is_personal
from pipeline.ports import AnswerCache
from pipeline.state import State


@dataclass(frozen=True)
class Admit:
    cache: AnswerCache
    keys: CacheKeys
    name: str = "cache admission"

    async def __call__(self, state: State) -> State:
        assert state.answer is not None
        refusal = why_not_kept(state.genomes.cache_policy, state.question, state.answer)
        if refusal:
            return state.noted(refusal)
        await self.cache.keep(self.keys.of(state), state.question, state.history, state.answer)
        return state.noted("kept", admitted=True)


def may_keep(policy: CachePolicyGenome, question: str, answer: Answer) -> bool:
    """Tell whether the answer may serve the next asker."""
    return not why_not_kept(policy, question, answer)


def why_not_kept(policy: CachePolicyGenome, question: str, answer: Answer) -> str:
    """Say why an answer is not kept; an empty string means that it is.

    Whatever the genome says, nothing truncated, failed, refused, empty or personal is kept.
    """
    rules = (
        (answer.finish_reason != "stop", f"not kept: finish_reason={answer.finish_reason}"),
        (answer.abstained or not answer.answer.strip(), "not kept: no answer"),
        (is_personal(question), "not kept: personal question"),
        (answer.supportedness < policy.min_supportedness, "not kept: too little support"),
        (policy.require_sources and not answer.sources, "not kept: no sources"),
        (len(answer.sources) < policy.min_sources_count, "not kept: too few sources"),
        (policy.block_if_warnings and bool(answer.warnings), "not kept: has warnings"),
        (
            len(answer.key_points) < policy.confidence_key_points_min,
            "not kept: too few key points",
        ),
    )
    return next((reason for broken, reason in rules if broken), "")
