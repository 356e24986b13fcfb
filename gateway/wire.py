"""The OpenAI wire: what a request may hold, and what an answer looks like."""

import time
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kit.errors import BadInput, NotFound
from models.contract import Answer, Turn
from pipeline.state import State

MODEL = "genoma"
"""Model names: `genoma` for the profile `default`, `genoma/PROFILE` for another."""

FORBIDDEN = frozenset({"tenant", "tenant_id", "billable_tenant"})
"""Whose request it is comes from the key alone; a body that says otherwise is refused."""

IGNORED = "System messages have no effect here: the genomes decide how an answer is made."


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class ChatCompletionRequest(BaseModel):
    """A request. Sampling options are accepted and have no effect: genomes decide."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[ChatMessage] = Field(min_length=1, max_length=200)
    stream: bool | None = False
    n: Literal[1] | None = 1


@dataclass(frozen=True)
class Asked:
    """What a request asks for. `notes` tell the client what of it has no effect."""

    profile: str
    question: str
    history: tuple[Turn, ...]
    notes: tuple[str, ...]


def read_request(body: ChatCompletionRequest) -> Asked:
    """Read profile, question and history. Raises BadInput, NotFound.

    The last message is the question and has to be the user's. System messages of a client are
    not obeyed, and the answer says so: how an answer is made is in the genomes.
    """
    if body.stream:
        raise BadInput("streaming is not supported in this version: send `stream: false`")
    if named := FORBIDDEN & set(body.model_extra or {}):
        raise BadInput(f"the field {min(named)!r} is not allowed: the key says whose request it is")
    if body.messages[-1].role != "user":
        raise BadInput("the last message has to be the user's question")
    history = [
        Turn(role="user" if m.role == "user" else "assistant", content=m.text)
        for m in body.messages[:-1]
        if m.role in ("user", "assistant")
    ]
    notes = (IGNORED,) if len(history) < len(body.messages) - 1 else ()
    return Asked(profile_of(body.model), body.messages[-1].text, tuple(history), notes)


def profile_of(model: str) -> str:
    """Read the profile out of a model's name. Raises NotFound."""
    name, slash, profile = model.partition("/")
    if name != MODEL or (slash and not profile) or not profile.isprintable():
        raise NotFound(f"the model {model!r} does not exist; use {MODEL!r} or '{MODEL}/PROFILE'")
    return profile or "default"


def completion(state: State, model: str, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Write an answer as a `chat.completion`, with the full citations and the genomes beside it."""
    answer = state.answer
    assert answer is not None
    return {
        "id": f"chatcmpl-{state.trace_id.hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [_choice(state, answer)],
        "usage": _usage(state),
        "citations": [source.model_dump(mode="json") for source in answer.sources],
        "genoma": {
            "genomes": state.genomes.names(),
            "trace_id": str(state.trace_id),
            "from_cache": state.from_cache,
            "reader": answer.reader,
            "abstained": answer.abstained,
            "key_points": answer.key_points,
            "warnings": [*answer.warnings, *notes],
            "supportedness": answer.supportedness,
        },
    }


def _choice(state: State, answer: Answer) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": answer.answer,
        "refusal": None,
        "annotations": _annotations(state),
    }
    finish_reason = "length" if answer.finish_reason == "length" else "stop"
    return {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}


def _usage(state: State) -> dict[str, int]:
    """Tokens of all model calls that the answer took; built-in parts use none."""
    prompt = sum(call.usage.prompt_tokens for call in state.calls)
    completed = sum(call.usage.completion_tokens for call in state.calls)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completed,
        "total_tokens": prompt + completed,
    }


def _annotations(state: State) -> list[dict[str, Any]]:
    """`url_citation` for each place where a source with a real address is marked `[n]`."""
    assert state.answer is not None
    text = state.answer.answer
    found = []
    for source in state.answer.sources:
        mark = f"[{source.number}]"
        start = text.find(mark)
        if start >= 0 and source.url_or_internal_ref.startswith(("https://", "http://")):
            place = {"start_index": start, "end_index": start + len(mark)}
            citation = {"url": source.url_or_internal_ref, "title": source.title, **place}
            found.append({"type": "url_citation", "url_citation": citation})
    return found
