"""What a cycle works with: handed in whole by the lab, never looked up."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from judge.port import Judge
from kit.chat import ChatModel
from kit.clock import Clock
from kit.db import Database
from models.contract import Answer, Chunk
from models.genome import GenomeSet
from pipeline.ports import AnswerCache, Scope
from pipeline.state import State

AnswerQuestion = Callable[[str, GenomeSet], Awaitable[State]]
"""`pipeline.run.answer` for one question under given genomes, with no cache and no memory."""


Phase = Literal["search", "confirm", "session"]


@dataclass(frozen=True)
class Unit:
    """A piece of evaluation that one process does in one go: a genome and some questions."""

    genome_id: UUID
    question_ids: tuple[UUID, ...]
    phase: Phase


DoUnit = Callable[[Unit], Awaitable[None]]
"""Answers, judges and stores a unit; what is stored already is not bought again."""


class Hands(Protocol):
    """Has units of evaluation done: by this process, or by all that work for the lab."""

    async def evaluate(self, units: Sequence[Unit], do: DoUnit) -> None:
        """Return when the results of all `units` are stored; this process does one by `do`.

        Raises the first error that `do` raises: then no further unit is begun, and those under
        way in this process are waited for.
        """


@dataclass(frozen=True)
class SessionTranscript:
    """What an agent did with the tools: one line per tool call, and the answer it ended with."""

    agent: str
    steps: tuple[str, ...]
    answer: Answer
    chunks: tuple[Chunk, ...]


class AgentSession(Protocol):
    """Lets an agent work through the tools `search_documents` and `ask` under given genomes."""

    async def run(
        self, seed_prompt: str, question: str, genomes: GenomeSet
    ) -> SessionTranscript: ...


@dataclass(frozen=True)
class CycleParts:
    """The parts of one cycle. Its chat models are PaidChat: what they buy is stored and booked."""

    db: Database
    clock: Clock
    tenant: UUID
    scope: Scope
    answer: AnswerQuestion
    judge: Judge
    mutator: ChatModel | None
    """None: typed operators alone."""
    session: AgentSession
    private_cache: Callable[[], AnswerCache]
    """Makes an empty answer cache that lives as long as one replay."""
    inert_genes: frozenset[str]
    models: dict[str, str]
    """Role -> name (`reader`, `router`, `judge`, `mutator`, `embedder`)."""
    concurrency: int
    """Model calls at once, at the most."""
    hands: Hands | None = None
    """None: this process alone, `concurrency` units at once."""
