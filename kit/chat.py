"""The port through which every language model is spoken to."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One call. `json_schema` asks for a reply that is JSON of that (strict) schema."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    json_schema: dict[str, Any] | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens, as the provider counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class ChatReply:
    text: str
    finish_reason: Literal["stop", "length", "other"]
    model: str
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """A language model. `chat` raises kit.errors.ProviderError and nothing else."""

    @property
    def name(self) -> str: ...

    @property
    def provider(self) -> str: ...

    async def chat(self, request: ChatRequest) -> ChatReply: ...
