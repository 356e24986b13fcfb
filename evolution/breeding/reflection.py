"""Asking the mutator: what it writes becomes a candidate, or a refusal that costs no answer."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from uuid import UUID

from evolution.breeding.copying import CopyGuard
from evolution.breeding.evidence import Evidence
from evolution.breeding.proposals import OPERATOR, Mode, Unusable, propose
from evolution.breeding.refused import Refused, RefusedNote, kept_reason
from kit.chat import ChatModel
from kit.errors import ProviderError
from models.genome import Genome, content_hash

UNUSABLE_IN_A_ROW = 5
"""After so many refusals one after another the cycle goes on with typed moves alone."""

KeepRefused = Callable[[Refused], Awaitable[None]]
PayFor = Callable[[int], AbstractContextManager[None]]


@dataclass(frozen=True)
class Written:
    """A valid proposal of the mutator."""

    genome: Genome
    operator: str
    notes: str


@dataclass
class Reflection:
    """One cycle's talk with its mutator. Deterministic, given what the mutator replies."""

    model: ChatModel
    incumbent: Genome
    inert: frozenset[str]
    known: Mapping[str, str]
    """Content hash -> what became of it (`evidence.load_known`)."""
    guard: CopyGuard
    keep: KeepRefused
    """Stores a refusal (`refused.keep_refused`)."""
    pay: PayFor = lambda number: nullcontext()
    """Entered around the call for variant `number`."""

    def __post_init__(self) -> None:
        self.known = dict(self.known)
        self.notes: list[RefusedNote] = []
        """What was refused in this cycle, in order; the mutator reads it with its next task."""
        self._in_a_row = 0

    @property
    def gave_up(self) -> bool:
        """Tell whether the mutator wrote nothing usable for too long to be asked again."""
        return self._in_a_row >= UNUSABLE_IN_A_ROW

    async def propose(
        self, parent: Genome, parent_id: UUID, evidence: Evidence, number: int, mode: Mode
    ) -> Written | None:
        """Ask for variant `number` of `parent`; None where it was refused, with its reason kept.

        Raises ProviderError ("the mutator is unavailable") where it stays out of reach: nothing
        was bought meanwhile, and the cycle fails with this cause.
        """
        try:
            with self.pay(number):
                genome, notes = await propose(
                    self.model,
                    parent,
                    evidence.with_refused(self.notes),
                    number,
                    mode,
                    self.inert,
                )
            self._check(genome, evidence)
        except Unusable as error:
            refused = Refused(number, OPERATOR[mode], str(error), error.text, parent_id)
            await self._refuse(refused)
            return None
        except ProviderError as error:
            cause = f"the mutator is unavailable: {error}"
            raise type(error)(cause, error.retry_after_s) from error
        self._in_a_row = 0
        self.known = {**self.known, content_hash(genome): "it was proposed before in this cycle"}
        return Written(genome, OPERATOR[mode], notes)

    def recall(self, refused: RefusedNote | None, written: Sequence[Genome]) -> None:
        """Take over what came of a proposal in a former run of this cycle."""
        if refused is not None:
            self._in_a_row += 1
            self.notes.append(refused)
        elif not self.gave_up:
            self._in_a_row = 0
        here = "it was proposed before in this cycle"
        self.known = {**self.known, **{content_hash(genome): here for genome in written}}

    def _check(self, genome: Genome, evidence: Evidence) -> None:
        """Raise Unusable where the genome is known, or knows the exam."""
        if fate := self.known.get(content_hash(genome)):
            raise Unusable(f"the same genome was there before: {fate}", _text(genome))
        if copied := self.guard.find(genome, self.incumbent, evidence.texts):
            raise Unusable(copied, _text(genome))

    async def _refuse(self, refused: Refused) -> None:
        self._in_a_row += 1
        reason = kept_reason(refused.reason)
        self.notes.append(RefusedNote(operator=refused.operator, reason=reason))
        await self.keep(refused)


def _text(genome: Genome) -> str:
    return genome.model_dump_json(exclude={"layer", "schema_version"})
