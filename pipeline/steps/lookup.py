"""Cache lookup: an answer that was admitted before ends the run."""

from dataclasses import dataclass

from pipeline.cache_key import CacheKeys
from pipeline.ports import AnswerCache
from pipeline.state import State


@dataclass(frozen=True)
class Lookup:
    cache: AnswerCache
    keys: CacheKeys
    name: str = "cache lookup"

    async def __call__(self, state: State) -> State:
        hit = await self.cache.find(self.keys.of(state), state.question)
        if hit is None:
            return state.noted("miss")
        return state.noted("hit", answer=hit, from_cache=True)
