"""Citation check: what an answer cites must be among the fragments that were given."""

from pipeline.citations import check_citations
from pipeline.state import State


class CheckCitations:
    name = "check citations"

    async def __call__(self, state: State) -> State:
        assert state.answer is not None
        chunks = state.retrieval.chunks if state.retrieval else ()
        answer, removed = check_citations(state.answer, chunks)
        return state.noted(f"{removed} removed", answer=answer)
