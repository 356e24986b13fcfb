"""The built-in judge: words, numbers and meaning against reference and fragments, no model."""

from judge.criteria import judge_completeness, judge_concision, judge_precision, judge_sources
from judge.measures import Measures, take_apart
from judge.port import Exam
from judge.verdict import CRITERIA, Criterion, CriterionVerdict, Unscored, Verdict
from kit.embedding import Embedder
from kit.marks import Claim, find_marks
from kit.refusals import is_refusal
from kit.vector_memory import remembering

FAR, NEAR = 0.84, 0.95
"""What counts as 0 and 1 of 2 cos(question + reference, claim) - cos(question, claim): a claim
that only repeats the matter of the question is as near to the question alone (decision 0031)."""
FAR_FROM_QUESTION, NEAR_QUESTION = 0.80, 0.90
"""The same of cos(question, claim), where there is no reference."""
NEIGHBOURS = 8
"""So many claims are compared by meaning; what stands behind them counts as far."""


class BuiltinJudge:
    """Scores the same exam always alike. It never asks for more than a few vectors.

    Texts are compared, never obeyed: a claim about its own score is one more claim that no
    fragment supports.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = remembering(embedder)
        self.version = f"builtin-1+{embedder.name}"

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        """Give four criteria with evidence; never Unscored. ProviderError passes through."""
        claims = take_apart(exam)
        special = self._judge_silence(exam, claims)
        if special is not None:
            return special
        measures = Measures(exam, claims, await self._measure_nearness(exam, claims))
        completeness = judge_completeness(measures)
        return self._verdict(
            completeness=completeness,
            precision=judge_precision(measures),
            sources=judge_sources(measures),
            concision=judge_concision(measures, completeness.score),
        )

    def _judge_silence(self, exam: Exam, claims: tuple[Claim, ...]) -> Verdict | None:
        """The branch of those who said nothing, and of those who should have."""
        if abstains(exam) and exam.reference.answerable:
            return self._flat((0, 5, 0, 5), "it says that the sources are silent; they are not")
        if abstains(exam):
            return self._flat((10, 10, 10, 10), "rightly says that the sources are silent")
        if not claims:
            return self._flat((0, 0, 0, 0), "nothing was said")
        if not exam.reference.answerable:
            return self._flat((0, 0, 0, 0), "the sources hold no answer, and it gives one")
        return None

    async def _measure_nearness(self, exam: Exam, claims: tuple[Claim, ...]) -> tuple[float, ...]:
        """For each claim 0-1; those behind the first few count as far."""
        said = await self._embedder.embed_passages([claim.text for claim in claims[:NEIGHBOURS]])
        if exam.reference.answer:
            wanted = [f"{exam.question} {exam.reference.answer}", exam.question]
            both, question = await self._embedder.embed_passages(wanted)
            raw, far, near = said @ (2 * both - question), FAR, NEAR
        else:
            asked = await self._embedder.embed_queries([exam.question])
            raw, far, near = said @ asked[0], FAR_FROM_QUESTION, NEAR_QUESTION
        nearness = [min(1.0, max(0.0, (float(c) - far) / (near - far))) for c in raw]
        return (*nearness, *[0.0] * (len(claims) - len(nearness)))

    def _flat(self, scores: tuple[float, ...], reason: str) -> Verdict:
        verdicts = (CriterionVerdict(reason=reason, score=score) for score in scores)
        return self._verdict(**dict(zip(CRITERIA, verdicts, strict=True)))

    def _verdict(self, **criteria: CriterionVerdict) -> Verdict:
        ordered: dict[Criterion, CriterionVerdict] = {name: criteria[name] for name in CRITERIA}
        return Verdict(criteria=ordered, judge=self.version)


def abstains(exam: Exam) -> bool:
    """Tell whether the answer refuses, and does nothing else: who refuses cites nothing."""
    answer = exam.answer
    refuses = answer.abstained or is_refusal(answer.answer)
    return refuses and not answer.sources and not find_marks(answer.answer)
