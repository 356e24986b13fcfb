"""What a cycle may spend, out of the settings and of what somebody asks for this once."""

from decimal import Decimal

from evolution.buying.limits import MICROS, Called, Limits
from kit.prices import price_of
from kit.settings import Settings
from lab.models import ChatModels


def make_limits(
    settings: Settings,
    calls: int | None = None,
    tokens: int | None = None,
    money: float | None = None,
    minutes: float | None = None,
) -> Limits:
    """Make the limits of one cycle; what is not asked for is as the settings have it."""
    paid = settings.cycle_money if money is None else Decimal(str(money))
    time = settings.cycle_minutes if minutes is None else minutes
    return Limits(
        calls=settings.cycle_calls if calls is None else calls,
        tokens=settings.cycle_tokens if tokens is None else tokens,
        micros=None if paid is None else int(paid * MICROS),
        seconds=None if time is None else round(time * 60),
    )


def called_models(settings: Settings, chat: ChatModels) -> Called:
    """Say which models a cycle calls, and which of them have no price."""
    roles = [chat.reader, chat.router, chat.judge, chat.mutator]
    unpriced = [m.name for m in roles if m and price_of(settings.prices, m) is None]
    each_answer = [m.name for m in (chat.reader, chat.judge) if m]
    return Called(tuple(each_answer), tuple(unpriced))
