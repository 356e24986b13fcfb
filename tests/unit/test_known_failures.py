"""The table of known failures names tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs/decisions/0093-known-failures.md").read_text()
ROWS = re.findall(r"^\| (B?\d+) \| .* \| (\S+\.py)::(\w+) \|$", TABLE, re.MULTILINE)


def test_every_known_failure_has_a_line() -> None:
    numbers = {str(n) for n in range(1, 22)} | {"B02", *(f"B{n}" for n in range(15, 22))}
    assert {number for number, _, _ in ROWS} == numbers


@pytest.mark.parametrize(("number", "file", "test"), ROWS)
def test_its_test_is_there(number: str, file: str, test: str) -> None:
    source = (ROOT / "tests" / file).read_text()
    assert re.search(rf"^(?:async )?def {test}\(", source, re.MULTILINE), number
