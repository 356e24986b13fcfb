"""The way in: a question is checked, and runs through the pipeline under one set of genomes."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from kit.errors import BadInput, TooLong
from kit.language import detect_language
from kit.metering import metering
from models.contract import MAX_QUESTION_CHARS, Turn
from models.genome import GenomeSet
from pipeline.ports import Scope
from pipeline.run import Step, answer
from pipeline.state import State, StepRecord

CONVERSATION = "conversation"
"""The step of a trace that tells of turns before the question: alone it may make no sense."""


async def ask(
    question: str,
    history: Sequence[Turn],
    scope: Scope,
    genomes: GenomeSet,
    steps: Sequence[Step],
) -> State:
    """Answer `question` under `genomes`, which hold to the end of the request.

    Raises BadInput on an empty question, TooLong over 8,000 characters, ProviderError where
    a model is out of reach.
    """
    text = clean_question(question)
    turns = tuple(Turn(role=t.role, content=_storable(t.content)) for t in history)
    before = (StepRecord(CONVERSATION, 0.0, f"{len(turns)} turns before"),) if turns else ()
    language = detect_language(text)
    state = State(uuid4(), scope, text, language, genomes, history=turns, steps=before)
    with metering() as calls:
        state = await answer(state, steps)
    return replace(state, calls=tuple(calls))


def clean_question(question: str) -> str:
    """Give the question as it is stored. Raises BadInput, TooLong."""
    if len(question) > MAX_QUESTION_CHARS:
        raise TooLong(f"the question has {len(question):,} characters, over {MAX_QUESTION_CHARS:,}")
    text = _storable(question).strip()
    if not text:
        raise BadInput("the question is empty")
    return text


def _storable(text: str) -> str:
    """Take out what no database stores: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
