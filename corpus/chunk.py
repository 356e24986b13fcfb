"""How a text is cut: along its headings and blocks, about 900 characters each, nothing lost."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self, cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import Field, model_validator
from semchunk.semchunk import chunkerify

from models.contract import Frozen

_ANCHOR = re.compile(r"\s*\{\s*#[^}]*\}\s*$")
_MARKS = re.compile(r"`|\*\*")
_NEWLINES = re.compile(r"\r\n?")


class ChunkSettings(Frozen):
    """Sizes in characters. Pairs that could not end, or would mostly repeat, are refused."""

    size: int = Field(default=900, ge=50, le=8_000)
    overlap: int = Field(default=0, ge=0)
    code_size: int = Field(default=1_800, ge=50, le=16_000)
    """A block of code up to this size stays whole."""
    least: int = Field(default=450, ge=0)
    """A section shorter than this shares a chunk with the next one, where that fits."""

    @model_validator(mode="after")
    def _overlap_is_small(self) -> Self:
        if self.overlap > self.size // 2:
            raise ValueError(f"overlap {self.overlap} is over half the chunk size {self.size}")
        return self


@dataclass(frozen=True)
class Piece:
    """One chunk of a text: `text` is exactly what stands between the two byte offsets."""

    text: str
    heading_path: tuple[str, ...]
    byte_start: int
    byte_end: int


@dataclass(frozen=True)
class _Block:
    """A span of characters that wants to stay together."""

    start: int
    end: int
    path: tuple[str, ...]
    is_code: bool = False
    opens: bool = False
    """Whether it begins a section, being a heading."""

    @property
    def size(self) -> int:
        return self.end - self.start


def cut(text: str, *, is_markdown: bool, settings: ChunkSettings | None = None) -> list[Piece]:
    """Cut `text` into chunks. Without overlap they are a partition: joined, they are the text.

    Takes time linear in the length of the text, also without a single blank in it. `#` inside
    code is no heading, and code stays whole up to `code_size`. Blank text gives no chunk.
    """
    settings = settings or ChunkSettings()
    if not text.strip():
        return []
    blocks = _markdown_blocks(text) if is_markdown else [_Block(0, len(text), ())]
    small = [part for block in blocks for part in _split(block, text, settings)]
    return list(_pieces(text, list(_pack(small, text, settings)), settings.overlap))


def _markdown_blocks(text: str) -> list[_Block]:
    """The top-level blocks of a Markdown text, each up to where the next one begins."""
    starts = _line_starts(text)
    path: list[tuple[int, str]] = []
    marks: list[tuple[int, tuple[str, ...], bool, bool]] = []
    tokens = _parse(text)
    for at, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        opens = token.type == "heading_open"
        if opens:
            level = int(token.tag[1:])
            path = [(above, title) for above, title in path if above < level]
            path.append((level, _plain(tokens[at + 1].content)))
        is_code = token.type in ("fence", "code_block")
        titles = tuple(title for _, title in path if title)
        marks.append((starts[token.map[0]], titles, is_code, opens))
    if not marks:
        return [_Block(0, len(text), ())]
    begins = [0, *(start for start, *_ in marks[1:]), len(text)]
    return [
        _Block(begins[i], begins[i + 1], titles, is_code, opens)
        for i, (_, titles, is_code, opens) in enumerate(marks)
    ]


def _plain(heading: str) -> str:
    """A heading without its anchor and its marks of emphasis and code."""
    return _MARKS.sub("", _ANCHOR.sub("", heading)).strip()


def _parse(text: str) -> list[Token]:
    """Find the blocks only: inline marks are not our business, and cost time."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.parse(_NEWLINES.sub(lambda match: " " * (len(match[0]) - 1) + "\n", text))


def _line_starts(text: str) -> list[int]:
    lines = _NEWLINES.sub(lambda match: " " * (len(match[0]) - 1) + "\n", text).split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _split(block: _Block, text: str, settings: ChunkSettings) -> Iterator[_Block]:
    """Give the block, or its parts where it is too long."""
    if block.size <= (settings.code_size if block.is_code else settings.size):
        yield block
        return
    begins = [*_cut_points(text[block.start : block.end], settings.size), block.size]
    for i, (start, end) in enumerate(pairwise(begins)):
        opens = block.opens and i == 0
        yield _Block(block.start + start, block.start + end, block.path, block.is_code, opens)


def _cut_points(text: str, size: int) -> list[int]:
    """Where the parts of `text` begin, by paragraph, line, sentence and word as far as they go."""
    chunker = chunkerify(len, size, memoize=False)
    offsets = cast("list[tuple[int, int]]", chunker(text, offsets=True)[1])
    return [0, *(start for start, _ in offsets[1:])]


def _pack(blocks: list[_Block], text: str, settings: ChunkSettings) -> Iterator[_Block]:
    """Join neighbours up to the size; a new section begins a chunk, unless the last is tiny."""
    current: _Block | None = None
    for block in blocks:
        if current is None:
            current = block
        elif _belongs(current, block, text, settings):
            path = block.path if _is_heading_only(current, text) else _common(current, block)
            current = _Block(current.start, block.end, path, opens=current.opens)
        else:
            yield current
            current = block
    if current is not None:
        yield current


def _belongs(current: _Block, block: _Block, text: str, settings: ChunkSettings) -> bool:
    joined = block.end - current.start
    if _is_heading_only(current, text) or not text[block.start : block.end].strip():
        return joined <= settings.code_size
    if joined > settings.size:
        return False
    return not block.opens or current.size < settings.least


def _is_heading_only(block: _Block, text: str) -> bool:
    return block.opens and "\n" not in text[block.start : block.end].strip()


def _common(current: _Block, block: _Block) -> tuple[str, ...]:
    """The headings above both."""
    shared = 0
    for mine, other in zip(current.path, block.path, strict=False):
        if mine != other:
            break
        shared += 1
    return current.path[:shared]


def _pieces(text: str, blocks: list[_Block], overlap: int) -> Iterator[Piece]:
    at = 0
    for block in blocks:
        start = _reach_back(text, block.start, overlap) if at else block.start
        size = len(text[block.start : block.end].encode())
        extra = len(text[start : block.start].encode())
        yield Piece(text[start : block.end], block.path, at - extra, at + size)
        at += size


def _reach_back(text: str, start: int, overlap: int) -> int:
    """Begin up to `overlap` characters earlier, after a blank where there is one."""
    if not overlap:
        return start
    earliest = max(0, start - overlap)
    blank = text.find(" ", earliest, start)
    return blank + 1 if blank >= 0 else earliest
