"""How a question becomes an answer: one loop over steps."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pipeline.state import State, StepRecord

PIPELINE_VERSION = "1"
"""Stands in every key of a stored answer: raise it when a step changes what is answered."""


class Step(Protocol):
    """One stage of a pipeline; `name` is what a trace calls it."""

    @property
    def name(self) -> str: ...

    async def __call__(self, state: State) -> State: ...


async def answer(state: State, steps: Sequence[Step]) -> State:
    """Run `steps` in order on `state`, each timed into the trace, until one has the answer whole.

    Live traffic and evaluation call this same function: there is no second pipeline.
    """
    for step in steps:
        started = time.perf_counter()
        after = await step(replace(state, note=""))
        ms = (time.perf_counter() - started) * 1000
        record = StepRecord(step.name, round(ms, 3), after.note)
        state = replace(after, steps=(*after.steps, record))
        if state.from_cache:
            break
    return state
