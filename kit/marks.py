"""Citation marks in a text: `[2]` and `[1, 3]`, but never what stands in code."""

import re
from collections.abc import Callable
from typing import NamedTuple

from kit.sentences import UnitKind, split_units

_CODE = re.compile(r"```.*?(?:```|\Z)|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_MARK = re.compile(r"\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\](?!\()")


class Mark(NamedTuple):
    """One mark: where it stands and which fragments it names."""

    start: int
    end: int
    numbers: tuple[int, ...]


def find_marks(text: str) -> list[Mark]:
    """List the citation marks of `text` in order; `[1](url)` is a link and no mark."""
    code = [match.span() for match in _CODE.finditer(text)]
    return [
        Mark(match.start(), match.end(), tuple(int(n) for n in re.findall(r"\d+", match[1])))
        for match in _MARK.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
    ]


def marked_numbers(text: str) -> tuple[int, ...]:
    """Give the numbers that `text` cites, each once, in order of appearance."""
    return tuple(dict.fromkeys(n for mark in find_marks(text) for n in mark.numbers))


def keep_marks(text: str, wanted: Callable[[int], bool]) -> str:
    """Take the numbers that are not `wanted` out of the marks; an emptied mark goes altogether."""
    pieces, at = [], 0
    for mark in find_marks(text):
        kept = [str(n) for n in mark.numbers if wanted(n)]
        before = text[at : mark.start]
        if len(kept) == len(mark.numbers):
            pieces.append(text[at : mark.end])
        else:
            pieces.append(f"{before}[{', '.join(kept)}]" if kept else before.rstrip(" \t"))
        at = mark.end
    return "".join([*pieces, text[at:]])


def escape_marks(text: str) -> str:
    """Write what looks like a mark as Markdown's plain brackets: a quotation cites nothing."""
    pieces, at = [], 0
    for mark in find_marks(text):
        inner = text[mark.start + 1 : mark.end - 1]
        pieces += [text[at : mark.start], f"\\[{inner}\\]"]
        at = mark.end
    return "".join([*pieces, text[at:]])


def without_marks(text: str) -> str:
    """Take every citation mark out of `text`."""
    return keep_marks(text, lambda _: False)


class Claim(NamedTuple):
    """One sentence of an answer without its marks, and the numbers of the fragments it names."""

    text: str
    numbers: tuple[int, ...]
    kind: UnitKind


def claims_in(text: str, language: str) -> list[Claim]:
    """Cut an answer into claims. Headings claim nothing.

    Marks at the head of a sentence belong to the one before: `It is so. [1] Next. [2]`.
    """
    claims: list[Claim] = []
    for unit in split_units(text, language):
        if unit.kind == "heading":
            continue
        head = _leading(unit.text)
        if head and claims:
            before = claims[-1]
            claims[-1] = before._replace(numbers=_union(before.numbers, marked_numbers(head)))
        body = unit.text[len(head) :] if claims else unit.text
        plain = without_marks(body).strip()
        if any(sign.isalnum() for sign in plain):
            claims.append(Claim(plain, marked_numbers(body), unit.kind))
    return claims


def _leading(text: str) -> str:
    """The marks that `text` begins with."""
    end = 0
    for mark in find_marks(text):
        if text[end : mark.start].strip(" .,;"):
            break
        end = mark.end
    return text[:end]


def _union(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*one, *other)))
