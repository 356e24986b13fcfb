"""What a cycle may spend: as the settings have it, or as somebody asks for this once."""

from decimal import Decimal

import pytest

from evolution.buying.limits import Called, Limits, say
from kit.fakes import ScriptedChat
from kit.prices import Price
from kit.settings import Settings
from lab.limits import called_models, make_limits
from lab.models import ChatModels


def test_what_is_not_asked_for_is_as_the_settings_have_it() -> None:
    settings = Settings(cycle_tokens=5_000, cycle_money=Decimal("1.5"), cycle_minutes=90)
    assert make_limits(settings) == Limits(tokens=5_000, micros=1_500_000, seconds=5_400)
    asked = make_limits(settings, calls=7, money=0.1, minutes=0.5)
    assert asked == Limits(calls=7, tokens=5_000, micros=100_000, seconds=30)


def test_nothing_limits_a_cycle_of_a_fresh_machine() -> None:
    assert make_limits(Settings()) == Limits()


def test_models_without_a_price_are_named_and_those_in_process_need_none() -> None:
    reader, judge, mutator = (ScriptedChat([], name) for name in ("r", "j", "m"))
    mutator.provider = "gguf"
    settings = Settings(prices={"r": Price(input=Decimal(1), output=Decimal(1))})
    chat = ChatModels(reader=reader, router=None, judge=judge, mutator=mutator)
    assert called_models(settings, chat) == Called(("r", "j"), ("j",))


@pytest.mark.parametrize(
    ("unit", "amount", "words"),
    [
        ("tokens", 1_234_567, "1,234,567 tokens"),
        ("calls", 2.25, "2.2 model calls"),
        ("micros", 350_000, "0.35 of money"),
        ("micros", 1_200.4, "0.0012 of money"),
        ("micros", 12_000_000, "12 of money"),
        ("seconds", 0.5, "0.5 seconds"),
    ],
)
def test_amounts_are_written_as_people_read_them(unit: str, amount: float, words: str) -> None:
    assert say(unit, amount) == words
