"""Route: which type of question it is, and so which profile of the routing genome serves it."""

from dataclasses import dataclass

from pipeline.ports import Classifier
from pipeline.state import State


@dataclass(frozen=True)
class Route:
    classifier: Classifier
    name: str = "route"

    async def __call__(self, state: State) -> State:
        found = await self.classifier.classify(state.question, state.genomes.routing)
        return state.noted(f"{found} (by {self.classifier.name})", query_type=found)
