"""A language model as the reader: it writes under the prompts of the genomes."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kit.chat import ChatModel, ChatReply, ChatRequest, Message
from kit.errors import UnreadableReply
from kit.marks import marked_numbers
from kit.refusals import refusal_in
from kit.schemas import strict_schema
from kit.structured import read_model
from kit.tokens import estimate_tokens
from models.contract import Answer, Chunk, Citation
from models.genes import Prompt, render
from pipeline.citations import cite
from pipeline.fragments import group_fragments, write_fragments
from pipeline.ports import Reading
from pipeline.reader_rules import rules_for

WORST_CONTEXT_TOKENS = 16_000
"""With so much context the most fragments that a question reads always fit into one call."""


class _Written(BaseModel):
    """The answer contract, as a model writes it."""

    model_config = ConfigDict(extra="forbid")

    abstained: bool = False
    answer: str
    key_points: list[str]
    sources: list[int]
    warnings: list[str]


ANSWER_SCHEMA = strict_schema(_Written, "answer")


class LlmReader:
    """Answers in one call; fragments that do not fit are read in groups, and the parts merged.

    What cannot be read is a failed answer: `finish_reason` is `error`, or `length` where it
    was cut off. ProviderError passes through.
    """

    def __init__(self, model: ChatModel, context_tokens: int = 8_192) -> None:
        self._model = model
        self._context_tokens = context_tokens

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def inert_genes(self) -> frozenset[str]:
        """The merging prompt, where the context is so large that nothing is ever merged."""
        if self._context_tokens >= WORST_CONTEXT_TOKENS:
            return frozenset({"postprocess.system_prompt_reduce*"})
        return frozenset()

    async def read(self, reading: Reading) -> Answer:
        """Write the answer; without a fragment there is nothing to write from."""
        if not reading.chunks:
            refusal = refusal_in(reading.language)
            return Answer(answer=refusal, abstained=True, reader=self.name)
        groups = group_fragments(reading.chunks, self._room(reading))
        parts = [await self._read_group(reading, group) for group in groups]
        return await self._merge(reading, parts)

    async def _read_group(self, reading: Reading, numbers: Sequence[int]) -> Answer:
        context = write_fragments(reading.chunks, numbers)
        values = {"question": reading.question, "context": context}
        return await self._ask(reading, reading.genomes.postprocess.system_prompt, values)

    async def _merge(self, reading: Reading, parts: Sequence[Answer]) -> Answer:
        """One answer of several. A part that failed fails the whole."""
        failed = [part for part in parts if part.finish_reason != "stop"]
        telling = [part for part in parts if not part.abstained]
        if failed or len(telling) < 2:
            return (failed or telling or parts)[0]
        partials = "\n\n".join(part.answer for part in telling)
        values = {"question": reading.question, "partials": partials}
        merged = await self._ask(reading, reading.genomes.postprocess.system_prompt_reduce, values)
        known = {s.number: s for part in telling for s in part.sources}
        sources = merged.sources or tuple(known.values())
        return merged.model_copy(update={"sources": () if merged.abstained else sources})

    async def _ask(self, reading: Reading, prompt: Prompt, values: dict[str, str]) -> Answer:
        system, user = render(prompt, values)
        history = (Message(turn.role, turn.content) for turn in reading.history)
        request = ChatRequest(
            messages=(
                Message("system", f"{system}\n{rules_for(reading)}".strip()),
                *history,
                Message("user", user),
            ),
            max_tokens=reading.genomes.postprocess.max_tokens,
            json_schema=ANSWER_SCHEMA,
        )
        return self._receive(await self._model.chat(request), reading.chunks)

    def _receive(self, reply: ChatReply, chunks: Sequence[Chunk]) -> Answer:
        if reply.finish_reason == "length":
            return self._failed("length", "The answer was cut off at max_tokens.")
        try:
            written = read_model(reply, _Written)
        except UnreadableReply as error:
            return self._failed("error", f"The model's answer could not be read: {error}.")
        return Answer(
            answer=written.answer,
            key_points=tuple(written.key_points),
            sources=() if written.abstained else _sources(written, chunks),
            warnings=tuple(written.warnings),
            abstained=written.abstained,
            reader=self.name,
        )

    def _failed(self, reason: Literal["length", "error"], warning: str) -> Answer:
        """No answer: half a JSON object is nothing to show to anybody."""
        return Answer(answer="", warnings=(warning,), finish_reason=reason, reader=self.name)

    def _room(self, reading: Reading) -> int:
        """Tokens that are left for fragments in one call."""
        genome = reading.genomes.postprocess
        system, user = render(genome.system_prompt, {"question": reading.question, "context": ""})
        spoken = sum(estimate_tokens(turn.content) for turn in reading.history)
        fixed = estimate_tokens(system + user + rules_for(reading)) + spoken
        return self._context_tokens - genome.max_tokens - fixed


def _sources(written: _Written, chunks: Sequence[Chunk]) -> tuple[Citation, ...]:
    """Citations of the numbers that the model lists or marks; they are checked afterwards."""
    numbers = dict.fromkeys((*written.sources, *marked_numbers(written.answer)))
    return tuple(_source(number, chunks) for number in numbers if number >= 1)


def _source(number: int, chunks: Sequence[Chunk]) -> Citation:
    if number <= len(chunks):
        return cite(number, chunks[number - 1])
    return Citation(number=number, source_id="", title="", url_or_internal_ref="", chunk_id="")
