"""Money is counted in whole millionths, and never too low."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.chat import ChatRequest, Message, Usage
from kit.errors import Misconfigured
from kit.fakes import ScriptedChat
from kit.prices import FREE, Price, price_of
from kit.settings import load_settings
from kit.tokens import bound_usage

TOKENS = st.integers(0, 10**7)


def test_a_price_is_that_of_a_million_tokens() -> None:
    price = Price(input=Decimal("0.15"), output=Decimal("0.60"))
    assert price.micros(Usage(1_000_000, 0)) == 150_000
    assert price.micros(Usage(1_000, 100)) == 210
    assert price.micros(Usage(1, 0)) == 1  # rounded up


@given(TOKENS, TOKENS, st.decimals(0, 1_000, places=4), st.decimals(0, 1_000, places=4))
def test_it_is_never_too_low_and_less_than_one_millionth_too_high(
    prompt: int, completion: int, per_input: Decimal, per_output: Decimal
) -> None:
    micros = Price(input=per_input, output=per_output).micros(Usage(prompt, completion))
    assert 0 <= micros - (prompt * per_input + completion * per_output) < 1


def test_a_model_in_this_process_is_free_and_an_unknown_one_has_no_price() -> None:
    local, known, other = (ScriptedChat([], name) for name in ("m", "m", "x"))
    local.provider = "gguf"
    prices = {"m": Price(input=Decimal(1), output=Decimal(2))}
    assert price_of(prices, local) == FREE
    assert price_of(prices, known) == prices["m"]
    assert price_of(prices, other) is None


@given(st.text(max_size=200), st.integers(1, 4_000))
def test_a_call_is_bounded_by_its_bytes_and_the_tokens_it_allows(text: str, allowed: int) -> None:
    request = ChatRequest((Message("system", "s"), Message("user", text)), allowed)
    bound = bound_usage(request)
    assert bound.completion_tokens == allowed
    assert bound.prompt_tokens >= 1 + len(text.encode("utf-8", "replace"))


def test_the_schema_is_part_of_the_prompt() -> None:
    plain = ChatRequest((Message("user", "?"),), 10)
    strict = ChatRequest((Message("user", "?"),), 10, json_schema={"title": "x" * 500})
    assert bound_usage(strict).prompt_tokens > bound_usage(plain).prompt_tokens + 500


def test_prices_come_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENOMA_PRICES", '{"gpt-x": {"input": 0.15, "output": "0.6"}}')
    assert load_settings().prices == {"gpt-x": Price(input=Decimal("0.15"), output=Decimal("0.6"))}


@pytest.mark.parametrize(
    ("given_as", "words"),
    [
        ('{"a": {"input": 1', "it is not JSON"),
        ('{"a": {"input": 1}}', r"\(a, output\).*required"),
        ('{"a": {"input": -1, "output": 1}}', r"\(a, input\).*greater"),
        ('{"a": {"input": NaN, "output": 1}}', r"\(a, input\).*finite"),
        ('{"a": {"input": 1, "output": 1, "cached": 1}}', r"\(a, cached\)"),
        ("3", "dictionary"),
    ],
)
def test_a_price_that_cannot_be_is_named(
    monkeypatch: pytest.MonkeyPatch, given_as: str, words: str
) -> None:
    monkeypatch.setenv("GENOMA_PRICES", given_as)
    with pytest.raises(Misconfigured, match=f"GENOMA_PRICES.*{words}"):
        load_settings()
