"""What models cost, out of the settings: money is counted in whole millionths, rounded up."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

from pydantic import BaseModel, ConfigDict, Field

from kit.chat import ChatModel, Usage

IN_PROCESS = "gguf"
"""The provider of a model that runs in this process."""


class Price(BaseModel):
    """What one million tokens of a model cost, in the currency of the operator's choice."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(ge=0, le=1_000_000, allow_inf_nan=False)
    output: Decimal = Field(ge=0, le=1_000_000, allow_inf_nan=False)

    def micros(self, usage: Usage) -> int:
        """Give the price of one call in millionths: a token costs what a million cost, in them."""
        exact = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return int(exact.to_integral_value(ROUND_CEILING))


FREE = Price(input=Decimal(0), output=Decimal(0))
"""What a model in this process costs."""


def price_of(prices: Mapping[str, Price], model: ChatModel) -> Price | None:
    """Give what a model costs; None where the settings do not say it."""
    return FREE if model.provider == IN_PROCESS else prices.get(model.name)
