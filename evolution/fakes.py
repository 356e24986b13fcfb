"""Planted worlds: parts of a cycle whose truth is known, to test the search and the proof on."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from evolution.buying.paid import hash_key
from evolution.parts import SessionTranscript
from judge.port import Exam
from judge.verdict import CRITERIA, CriterionVerdict, Unscored, Verdict
from models.contract import Answer, Citation
from models.genome import GenomeSet
from pipeline.ports import Scope
from pipeline.state import State

Quality = Callable[[GenomeSet, str], float]
"""(genomes, question) -> the true worth of the answer, 0-10."""


@dataclass
class PlantedAnswers:
    """Answers each question with nothing but its true quality, and counts how often."""

    scope: Scope
    quality: Quality
    calls: int = 0

    async def __call__(self, question: str, genomes: GenomeSet) -> State:
        self.calls += 1
        worth = min(10.0, max(0.0, self.quality(genomes, question)))
        source = Citation(number=1, source_id="s", title="s", url_or_internal_ref="s", chunk_id="s")
        answer = Answer(
            answer=f"{worth:.4f}",
            key_points=("planted",),
            sources=(source,),
            supportedness=worth / 10,
            reader="planted",
        )
        return State(uuid4(), self.scope, question, "en", genomes, answer=answer)


@dataclass
class PlantedJudge:
    """Reads the planted quality and adds noise that depends on the exam alone.

    `unscored` names questions whose judging fails.
    """

    noise: float = 1.0
    seed: int = 0
    unscored: Callable[[str], bool] = lambda question: False
    version: str = "planted-1"

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        if self.unscored(exam.question):
            return Unscored(reason="planted failure", judge=self.version)
        rng = random.Random(hash_key(self.seed, exam.question, exam.answer.answer))
        score = min(10.0, max(0.0, float(exam.answer.answer) + rng.gauss(0, self.noise)))
        criterion = CriterionVerdict(reason="planted", score=score)
        return Verdict(criteria=dict.fromkeys(CRITERIA, criterion), judge=self.version)


@dataclass
class PlantedSession:
    """An agent that asks at once."""

    ask: PlantedAnswers

    async def run(self, seed_prompt: str, question: str, genomes: GenomeSet) -> SessionTranscript:
        state = await self.ask(question, genomes)
        assert state.answer is not None
        return SessionTranscript("planted agent", ("ask",), state.answer, ())
