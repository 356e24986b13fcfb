"""The YAML block at the head of a Markdown file."""

import re
from typing import Any

import yaml

_BLOCK = re.compile(
    r"\A---[ \t]*\n(.{0,20000}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)

_MOST_BRACKETS = 200
"""Nobody writes more by hand, and the parser's time grows with the square of their depth."""


def split_front_matter(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """Give the metadata, the text without the block, and notes on what could not be read.

    Every scalar stays text (`2024`, `no`, `2024-05-01`), as filters on metadata compare text.
    Aliases are refused: they let a small file expand into a huge one.
    """
    match = _BLOCK.match(text)
    if match is None:
        return {}, text, []
    body = text[match.end() :]
    if sum(match[1].count(bracket) for bracket in "[{") > _MOST_BRACKETS:
        return {}, body, ["front matter left out: it is nested too deeply"]
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(match[1])):
            return {}, body, ["front matter with aliases left out"]
        value = yaml.load(match[1], Loader=yaml.BaseLoader)  # noqa: S506 - makes text only
    except (yaml.YAMLError, RecursionError):
        return {}, body, ["front matter left out: it is not valid YAML"]
    if value in (None, ""):
        return {}, body, []
    if not isinstance(value, dict):
        return {}, text, []  # a rule, a table or a quotation between two rules
    return value, body, []
