"""What a cycle writes down: its plan, progress, proof and result (JSON in the store)."""

from typing import Literal
from uuid import UUID

from models.contract import Frozen, Turn
from models.genome import GenomeSet, Layer


class Dialogue(Frozen):
    """A live conversation out of the answer cache: the turns before, a question, its answer."""

    history: tuple[Turn, ...] = ()
    question: str
    answer: str


Claim = Literal["better", "cheaper"]
"""What a finalist is put up for: more quality, or as much of it at less cost."""


class Refusal(Frozen):
    """A proposal that was refused before it cost anything."""

    operator: str
    reason: str


class FrontPoint(Frozen):
    """One genome of the Pareto front: no other one is better, cheaper and faster at once."""

    genome_id: UUID
    name: str
    gain: float
    """Points of 10 over the incumbent that the model expects."""
    cost: float
    """Of an answer: millionths of money where there is a price, else tokens."""
    p95_ms: float


class Nomination(Frozen):
    """The genome that a search ended with, and what was expected of it."""

    genome_id: UUID
    claim: Claim
    gain: float
    error: float
    cost: float


class SearchEnd(Frozen):
    """How the search of a cycle ended."""

    best: Nomination | None
    is_promising: bool
    refused: tuple[Refusal, ...]
    front: tuple[FrontPoint, ...]
    raced: bool


class CyclePlan(Frozen):
    """Fixed at the start, so that a resumed cycle is the same cycle; `ended` is added once."""

    layer: Layer
    incumbent_id: UUID
    genomes: GenomeSet
    """The snapshot that the cycle works under; its own layer holds the incumbent."""
    corpus_version: int
    models: dict[str, str]
    """Role -> name (`reader`, `router`, `judge`, `mutator`, `embedder`)."""
    search_questions: tuple[UUID, ...]
    confirm_questions: tuple[UUID, ...]
    looks: tuple[int, ...]
    """Numbers of pairs at which the proof is looked at; empty where the cycle only explores."""
    alpha: float | None = None
    """Only in plans made before the book of proofs gave each proof a rate of its own."""
    dialogues: tuple[Dialogue, ...] = ()
    """What the mutator may read of live use, fixed here so that a resumed cycle reads the same."""
    tried: tuple[str, ...] = ()
    """Notes of proposals of earlier cycles that were not better."""
    note: str = ""
    """Why the cycle only explores, where it does."""
    context: str = ""
    """Names everything that scores depend on beside the layer's genome: `memory.context_of`."""
    remembered: tuple[UUID, ...] = ()
    """Former cycles of the same context, whose judged answers the search starts from."""
    concurrency: int = 1
    """Answers at once, which the size of a round depends on."""
    ended: SearchEnd | None = None
    """Written before the proof is opened: from then on a resumed cycle searches no more."""


class CandidateProgress(Frozen):
    """One genome in the race."""

    genome_id: UUID
    name: str
    operator: str
    note: str
    state: Literal["racing", "dropped", "finalist", "incumbent"]
    answered: int = 0
    scored: int = 0
    mean: float | None = None
    delta: float | None = None
    """Mean paired difference to the incumbent on common questions; None before the first pair."""


class CycleProgress(Frozen):
    """What a watcher sees while a cycle runs. Numbers of the proof stay hidden until it is done."""

    phase: Literal["starting", "mutating", "searching", "proving", "done"] = "starting"
    answered: int = 0
    planned: int = 0
    unscored: int = 0
    failed: int = 0
    tried: int = 0
    """Candidates by now; `candidates` holds those that lead."""
    candidates: tuple[CandidateProgress, ...] = ()
    note: str = ""


class Spent(Frozen):
    """What one answer cost and how long it took; judging not counted."""

    tokens: int = 0
    micros: int = 0
    """Millionths of the currency of the prices."""
    latency_ms: float = 0.0


class Pair(Frozen):
    """One confirm question under both genomes; a missing score is None."""

    question_id: UUID
    query: str
    incumbent: float | None
    candidate: float | None
    incumbent_spent: Spent = Spent()
    candidate_spent: Spent = Spent()

    @property
    def delta(self) -> float | None:
        if self.incumbent is None or self.candidate is None:
            return None
        return self.candidate - self.incumbent


class Trade(Frozen):
    """What answers cost and how long they took under both genomes, in the pairs of a proof."""

    unit: Literal["micros", "tokens"] | None = None
    """What costs are counted in; None where neither side costs anything."""
    incumbent_cost: float = 0.0
    candidate_cost: float = 0.0
    """Means of an answer."""
    incumbent_p95_ms: float = 0.0
    candidate_p95_ms: float = 0.0

    @property
    def cost_growth(self) -> float | None:
        """Share by which the candidate costs more: -0.2 is a fifth less."""
        return self.candidate_cost / self.incumbent_cost - 1 if self.incumbent_cost else None

    @property
    def latency_growth(self) -> float | None:
        return self.candidate_p95_ms / self.incumbent_p95_ms - 1 if self.incumbent_p95_ms else None


class Proof(Frozen):
    """The outcome of one group-sequential test on fresh paired questions."""

    decision: Literal["better", "cheaper", "not_proven", "not_comparable"]
    gain: float
    """Mean paired difference on the judge's 0-10 scale."""
    low: float
    high: float
    """Ends of the interval for the gain that inverts the same test, `1 - alpha` one-sided."""
    alpha: float
    look: int
    """The look at which the test stopped, from 1."""
    looks: tuple[int, ...]
    pairs: int
    """Questions scored on both sides."""
    missing: int
    better: int
    same: int
    worse: int
    incumbent_mean: float
    candidate_mean: float
    claim: Claim = "better"
    """What the finalist was put up for, said before the first question was spent."""
    margin: float = 0.0
    """Points of 10 that the claim `cheaper` was allowed to lose."""
    trade: Trade = Trade()
    obstacle: str = ""
    """What stood in the way where it is not proven."""

    @property
    def is_proven(self) -> bool:
        return self.decision in ("better", "cheaper")


class CycleResult(Frozen):
    """How a cycle ended, with the numbers."""

    outcome: Literal["promoted", "nothing_better", "explored"]
    sentence: str
    tried: int
    refused: tuple[Refusal, ...] = ()
    finalist_id: UUID | None = None
    finalist: str | None = None
    search_gain: float | None = None
    proof: Proof | None = None
    saved_answers: int = 0
    """cache_policy: answers that the candidate's cache saved in the replay."""
    front: tuple[FrontPoint, ...] = ()
    raced: bool = False
    """The model did not explain the answers: the finalist was found by paired differences."""
    session: str = ""
    """routing: what the `eval_seed_prompt` session showed."""
    alert: str = ""
    seconds: float = 0.0
