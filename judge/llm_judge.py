"""A language model as the judge: strict JSON in, four criteria out, or unscored with a reason."""

import hashlib

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from judge.port import Exam
from judge.prompt import PROMPT_VERSION, Paper, write_paper
from judge.rubric import RUBRIC
from judge.verdict import CriterionVerdict, Score, Unscored, Verdict
from kit.chat import ChatModel, ChatReply, ChatRequest, Message
from kit.errors import UnreadableReply
from kit.schemas import strict_schema
from kit.structured import read_model

MAX_TOKENS = (1_500, 3_000)
"""For the first try and the second: a verdict that was cut off gets more room."""
_QUOTE: JsonDict = {"type": "string", "maxLength": 160}


class _Judged(BaseModel):
    """One criterion. The order counts: what is written first guides what comes after.

    Lengths are asked for, not insisted on: only the score must be exactly as agreed.
    """

    model_config = ConfigDict(extra="forbid")

    evidence: list[str] = Field(
        json_schema_extra={"maxItems": 2, "items": _QUOTE | {"type": "string"}}
    )
    reason: str = Field(json_schema_extra={"maxLength": 200})
    score: Score


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    completeness: _Judged
    precision: _Judged
    sources: _Judged
    concision: _Judged


VERDICT_SCHEMA = strict_schema(_Reply, "verdict")


class LlmJudge:
    """Asks the model once, and once more where the reply cannot be read; never guesses."""

    def __init__(self, model: ChatModel, context_tokens: int = 8_192) -> None:
        self._model = model
        self._room = context_tokens - MAX_TOKENS[0]
        self.version = f"{model.name}+{_hash(model.name, RUBRIC, PROMPT_VERSION)}"

    async def judge(self, exam: Exam) -> Verdict | Unscored:
        """Give the model's verdict. Raises ProviderError where the model fails."""
        paper = write_paper(exam, self._room)
        problem, raws = "", []
        for max_tokens in MAX_TOKENS:
            reply = await self._model.chat(_request(paper, max_tokens, problem))
            raws.append(reply.text)
            try:
                return self._verdict(read_model(reply, _Reply), reply, paper)
            except UnreadableReply as error:
                problem = str(error)
        return Unscored(
            reason=problem,
            raw="\n\n".join(raws),
            dropped_fragments=paper.dropped,
            judge=self.version,
        )

    def _verdict(self, read: _Reply, reply: ChatReply, paper: Paper) -> Verdict:
        return Verdict(
            criteria={
                "completeness": _criterion(read.completeness),
                "precision": _criterion(read.precision),
                "sources": _criterion(read.sources),
                "concision": _criterion(read.concision),
            },
            raw=reply.text,
            dropped_fragments=paper.dropped,
            judge=self.version,
        )


def _request(paper: Paper, max_tokens: int, problem: str) -> ChatRequest:
    system = paper.system
    if problem:
        system += (
            f"\nThe reply before this one could not be used: {problem}. Reply with JSON alone."
        )
    return ChatRequest(
        messages=(Message("system", system), Message("user", paper.user)),
        max_tokens=max_tokens,
        json_schema=VERDICT_SCHEMA,
    )


def _criterion(judged: _Judged) -> CriterionVerdict:
    return CriterionVerdict(
        evidence=tuple(judged.evidence), reason=judged.reason, score=judged.score
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
