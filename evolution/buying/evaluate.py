"""Evaluate a genome: answer questions under it, have the answers judged, keep all of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from evolution.buying.budget import release, reserve, settle
from evolution.buying.hands import LocalHands
from evolution.buying.paid import hash_key
from evolution.buying.purchases import Judged, PaidFor, Purchases, exam_of
from evolution.buying.results import Phase, Scored, Shelf, keep_result, load_known, outcome_of
from evolution.parts import CycleParts, Unit
from kit.errors import GenomaError
from models.genome import GenomeSet
from models.tables import Question

T = TypeVar("T")

OnScored = Callable[[Scored], Awaitable[None]]
"""Told of each result as soon as it is stored."""


@dataclass(frozen=True)
class Contender:
    """A genome in a race or a proof, within the snapshot of all three layers."""

    genome_id: UUID
    name: str
    genomes: GenomeSet


Trial = tuple[Contender, Sequence[Question]]
"""A genome, and the questions that it is put to."""


@dataclass
class Reservation:
    """One judged answer that is set aside until its verdict is stored."""

    cycle_id: UUID
    spent: bool = False

    async def settle(self, tx: AsyncSession) -> None:
        """Spend it, in the transaction that stores what was bought."""
        await settle(tx, self.cycle_id)
        self.spent = True


class Evaluator:
    """Answers and judges for one cycle, with bounded concurrency and an exact budget."""

    def __init__(self, parts: CycleParts, cycle_id: UUID, on_scored: OnScored) -> None:
        self.parts = parts
        self.on_scored = on_scored
        self.cycle_id = cycle_id
        self.purchases = Purchases(parts, cycle_id)
        self._hands = parts.hands or LocalHands(parts.concurrency)
        self._slots = asyncio.Semaphore(parts.concurrency)
        self._stopped: GenomaError | None = None

    async def eval_genome(
        self, contender: Contender, questions: Sequence[Question], phase: Phase
    ) -> list[Scored]:
        """Answer and judge `questions` under one genome; give the scores in the same order."""
        return (await self.eval_all([contender], questions, phase))[contender.genome_id]

    async def eval_all(
        self, contenders: Sequence[Contender], questions: Sequence[Question], phase: Phase
    ) -> dict[UUID, list[Scored]]:
        """Do the same for several genomes, interleaved question by question.

        What this cycle has evaluated before is read from the store. Raises ProviderError
        where models are out of reach and BudgetExhausted where the budget is used up: what
        was paid until then is kept, and calls under way are waited for.
        """
        known = await self.eval_trials([(c, questions) for c in contenders], phase)
        return {c.genome_id: scores for c, scores in zip(contenders, known, strict=True)}

    async def eval_trials(self, trials: Sequence[Trial], phase: Phase) -> list[list[Scored]]:
        """Put several genomes to questions of their own, all at once; give the scores of each.

        Reads, buys and raises like `eval_all`.
        """
        known = [await self._load_known(contender, phase) for contender, _ in trials]
        todo = [
            (contender, [q for q in questions if q.id not in had])
            for (contender, questions), had in zip(trials, known, strict=True)
        ]
        work = dict(self.cut(todo, trials, phase))
        if work:
            self._stopped = None
            await self._hands.evaluate(list(work), lambda unit: self._do(work[unit], phase))
            known = [await self._load_known(contender, phase) for contender, _ in trials]
        return [
            [had[q.id] for q in questions]
            for (_, questions), had in zip(trials, known, strict=True)
        ]

    def cut(
        self, todo: Sequence[Trial], trials: Sequence[Trial], phase: Phase
    ) -> Iterator[tuple[Unit, Trial]]:
        """Cut what is to be done into units: one question each, the first of all genomes first."""
        for place in range(max((len(questions) for _, questions in todo), default=0)):
            for contender, questions in todo:
                if place < len(questions):
                    q = questions[place]
                    yield Unit(contender.genome_id, (q.id,), phase), (contender, [q])

    async def eval_unit(
        self, contender: Contender, questions: Sequence[Question], phase: Phase
    ) -> list[Scored]:
        """Do one unit: answer, judge and store, one question after another."""
        return [await self._eval_one(contender, q, phase) for q in questions]

    async def help(self, contender: Contender, questions: Sequence[Question], phase: Phase) -> None:
        """Do a unit for the process that runs the cycle, unless its results are there by now."""
        known = await self._load_known(contender, phase, [q.id for q in questions])
        if len(known) < len(questions):
            await self.eval_unit(contender, questions, phase)

    async def _do(self, trial: Trial, phase: Phase) -> None:
        for scored in await self.eval_unit(*trial, phase):
            await self.on_scored(scored)

    async def _load_known(
        self, contender: Contender, phase: Phase, questions: Sequence[UUID] | None = None
    ) -> dict[UUID, Scored]:
        async with self._transaction() as tx:
            return await load_known(tx, self.cycle_id, contender.genome_id, phase, questions)

    async def run_all(self, work: Iterable[Awaitable[T]]) -> list[T]:
        """Run parts of a unit side by side; the first error stops what has not begun."""
        results = await asyncio.gather(*map(self._in_a_slot, work), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if not isinstance(result, BaseException)]

    async def _in_a_slot(self, work: Awaitable[T]) -> T:
        async with self._slots:
            if self._stopped:
                asyncio.ensure_future(work).cancel()
                raise self._stopped
            try:
                return await work
            except GenomaError as error:
                self._stopped = error
                raise

    async def _eval_one(self, contender: Contender, question: Question, phase: Phase) -> Scored:
        replicate = self.replicate(phase)
        asked = self.purchases.ask(question.text, contender.genomes, replicate)
        async with self._transaction() as tx:
            await reserve(tx, self.cycle_id)
            found = await self.purchases.find_answer(tx, asked)
        async with self._spending() as reservation:
            paid = found or await self.purchases.buy_answer(asked)
            shelf = Shelf(self.parts.tenant, self.cycle_id, contender.genome_id, phase)
            return await self.judge_and_keep(paid, question, shelf, replicate, reservation)

    async def judge_and_keep(
        self,
        paid: PaidFor,
        question: Question,
        shelf: Shelf,
        replicate: str,
        reservation: Reservation,
    ) -> Scored:
        """Judge an answer; its verdict, its result and its price are stored at once."""

        async def keep(tx: AsyncSession, judged: Judged) -> Scored:
            scored, is_first = await keep_result(tx, shelf, question, outcome_of(paid, judged))
            if judged.verdict == "bought" or (judged.verdict == "none" and is_first):
                await reservation.settle(tx)  # else another process was first, and paid
            return scored

        return await self.purchases.judge(exam_of(question, question.text, paid), replicate, keep)

    def replicate(self, phase: Phase) -> str:
        """Search answers serve every later cycle; a proof answers and judges all anew."""
        return hash_key(str(self.cycle_id)) if phase == "confirm" else "search"

    @asynccontextmanager
    async def reserved(self) -> AsyncIterator[Reservation]:
        """Reserve one judged answer; a block that does not come to spend it gives it back."""
        async with self._transaction() as tx:
            await reserve(tx, self.cycle_id)
        async with self._spending() as reservation:
            yield reservation

    @asynccontextmanager
    async def _spending(self) -> AsyncIterator[Reservation]:
        reservation = Reservation(self.cycle_id)
        try:
            yield reservation
        finally:
            if not reservation.spent:
                async with self._transaction() as tx:
                    await release(tx, self.cycle_id)

    def _transaction(self) -> AbstractAsyncContextManager[AsyncSession]:
        return self.parts.db.transaction(self.parts.tenant)
