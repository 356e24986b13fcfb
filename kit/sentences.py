"""Texts cut into sentences, in about 300 languages, with Markdown's own units kept whole."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from sentencex import segment

UnitKind = Literal["sentence", "item", "heading", "row", "code"]

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Unit:
    """The smallest piece of a text that can be quoted: verbatim, but for line breaks."""

    kind: UnitKind
    text: str


def split_sentences(text: str, language: str) -> list[str]:
    """Cut `text` (plain or Markdown) into sentences, in order.

    Headings, list items and table rows never join a neighbour; a code block stays whole, in
    its fence.
    Line breaks inside a sentence become single spaces; nothing else is changed.
    """
    return [unit.text for unit in split_units(text, language)]


@lru_cache(maxsize=4096)
def split_units(text: str, language: str) -> tuple[Unit, ...]:
    """Cut like `split_sentences`, and say of each unit what it is."""
    lines = text.splitlines()
    return tuple(unit for unit in _units(_MARKDOWN.parse(text), lines, language) if unit.text)


def _units(tokens: list[Token], lines: list[str], language: str) -> Iterator[Unit]:
    parents: list[str] = []
    for token in tokens:
        if token.nesting:
            parents = [*parents, token.tag] if token.nesting > 0 else parents[:-1]
        if token.type == "tr_open" and token.map:
            yield Unit("heading" if "thead" in parents else "row", _row(lines[token.map[0]]))
        elif token.type in ("fence", "code_block"):
            yield Unit("code", _fenced(token))
        elif token.type in ("inline", "html_block") and "table" not in parents:
            yield from _prose(token.content, parents, language)


def _prose(content: str, parents: list[str], language: str) -> Iterator[Unit]:
    kind: UnitKind = "item" if "li" in parents else "sentence"
    if parents and re.fullmatch(r"h[1-6]", parents[-1]):
        yield Unit("heading", content.strip())
        return
    for sentence in segment(language, _SPACES.sub(" ", content).strip()):
        yield Unit(kind, sentence.strip())


def _fenced(token: Token) -> str:
    """A code block that stays one wherever it is put, though its own fence was missing."""
    fence = token.markup or "```"
    return f"{fence}{token.info}\n{token.content.rstrip()}\n{fence}"


def _row(line: str) -> str:
    return line.strip().strip("|").strip()
