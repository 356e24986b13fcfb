"""How a question becomes an answer: one loop over steps."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from pipeline.state import State, StepRecord

PIPELINE_VERSION = "1"
"""Stands in every key of a stored answer: raise it when a step changes what is answered."""

Step = Callable[[State], Awaitable[State]]


async def answer(state: State, steps: Sequence[Step]) -> State:
    """Run `steps` in order on `state`; each is timed into the trace.

    Live traffic and evaluation call this same function: there is no second pipeline.
    """
    for step in steps:
        started = time.perf_counter()
        after = await step(replace(state, note=""))
        ms = (time.perf_counter() - started) * 1000
        record = StepRecord(_name(step), round(ms, 3), after.note)
        state = replace(after, steps=(*after.steps, record))
    return state


def _name(step: Step) -> str:
    return getattr(step, "__name__", type(step).__name__)
