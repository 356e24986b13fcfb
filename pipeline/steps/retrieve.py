"""Retrieve: as many fragments as the genomes ask for."""

from dataclasses import dataclass

from models.genome import MAX_FRAGMENTS
from pipeline.ports import RetrievalQuery, Retriever
from pipeline.state import State


@dataclass(frozen=True)
class Retrieve:
    retriever: Retriever
    name: str = "retrieve"

    async def __call__(self, state: State) -> State:
        query = RetrievalQuery(state.trace_id, state.question, state.language, _limit(state))
        found = await self.retriever.retrieve(state.scope, query)
        return state.noted(f"{len(found.chunks)} of {query.limit} fragments", retrieval=found)


def _limit(state: State) -> int:
    """`chunk_count` helpings of the query type's `depth_budget`, within the house's bound."""
    depth = state.genomes.routing.profiles[state.query_type].depth_budget
    return min(MAX_FRAGMENTS, state.genomes.postprocess.chunk_count * depth)
