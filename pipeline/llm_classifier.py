"""A language model as the router."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from kit.chat import ChatModel, ChatRequest, Message
from kit.errors import UnreadableReply
from kit.schemas import strict_schema
from kit.structured import read_model
from models.genes import render
from models.genome import QUERY_TYPES, QueryType, RoutingGenome

MAX_TOKENS = 40
FALLBACK: QueryType = "factual_lookup"
_MEANINGS: dict[QueryType, str] = {
    "factual_lookup": "asks for a fact: a name, a number, a date, yes or no",
    "explanation": "asks why, or what something means",
    "how_to": "asks how something is done",
    "bsl_help": "asks about code or coding standards, of 1C (BSL) or another language",
}


class _Sorted(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query_type: Literal["factual_lookup", "explanation", "how_to", "bsl_help"]


QUERY_TYPE_SCHEMA = strict_schema(_Sorted, "query_type")
_CONTRACT = 'Reply with JSON, for example {"query_type": "factual_lookup"}.'


class LlmClassifier:
    """Sorts questions by the `classifier_prompt` of the routing genome."""

    inert_genes: frozenset[str] = frozenset()

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    async def classify(self, question: str, genome: RoutingGenome) -> QueryType:
        """Tell the type; what cannot be read counts as a plain question for a fact.

        Raises ProviderError where the model fails.
        """
        types = "\n".join(f"- {name}: {_MEANINGS[name]}" for name in QUERY_TYPES)
        values = {"question": question, "query_types": types}
        system, user = render(genome.classifier_prompt, values)
        request = ChatRequest(
            messages=(Message("system", f"{system}\n{_CONTRACT}".strip()), Message("user", user)),
            max_tokens=MAX_TOKENS,
            json_schema=QUERY_TYPE_SCHEMA,
        )
        reply = await self._model.chat(request)
        try:
            return read_model(reply, _Sorted).query_type
        except UnreadableReply:
            return FALLBACK
