"""What no database stores is exchanged, and nothing else is touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.any_text import dump_json
from kit.utf8 import storable


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("a\0b", "a\u2400b"),
        ("half \ud83d of it", "half ? of it"),
        ("привет 🙂 مرحبا", "привет 🙂 مرحبا"),
        ("a backslash before: \\u0000", "a backslash before: \\u0000"),
        ("two \\\\\0", "two \\\\\u2400"),
    ],
)
def test_text_in_json_is_as_storable_as_text_alone(given: str, stored: str) -> None:
    assert storable(given) == stored
    assert json.loads(dump_json({given: [given]})) == {stored: [stored]}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]).filter(lambda c: c != "\0")))
def test_what_can_be_stored_arrives_unchanged(text: str) -> None:
    assert json.loads(dump_json(text)) == text
