"""Postprocess: the reader makes the answer out of the fragments, under the genome's contract."""

from dataclasses import dataclass

from pipeline.ports import Reader, Reading
from pipeline.state import State


@dataclass(frozen=True)
class Postprocess:
    reader: Reader
    name: str = "postprocess"

    async def __call__(self, state: State) -> State:
        answer = await self.reader.read(
            Reading(
                question=state.question,
                language=state.language,
                history=state.history,
                chunks=state.retrieval.chunks if state.retrieval else (),
                genomes=state.genomes,
                query_type=state.query_type,
                abstain_below=state.scope.abstain_below,
            )
        )
        done = "abstained" if answer.abstained else f"{len(answer.answer)} characters"
        return state.noted(f"{done} (by {self.reader.name})", answer=answer)
