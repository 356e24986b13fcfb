"""Cutting loses nothing, keeps headings and code, and ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from corpus.chunk import ChunkSettings, Piece, cut

MARKDOWN = st.lists(
    st.sampled_from(
        ["# A\n", "## B `x`\n", "Setext\n---\n", "word ", "ñ", "\n", "\r\n", "```\n# no\n", "- i\n",
         "> q\n", "    code\n", "|a|b|\n", "ж" * 70, "\t", "<p>\n", "[x]: y\n", "\u2028"]
    ),
    max_size=60,
).map("".join)  # fmt: skip


def check(text: str, pieces: list[Piece]) -> None:
    """Assert that the pieces are a partition, and that their offsets say where."""
    assert "".join(piece.text for piece in pieces) == text
    data = text.encode()
    assert [data[p.byte_start : p.byte_end].decode() for p in pieces] == [p.text for p in pieces]


@given(MARKDOWN, st.booleans())
def test_chunks_are_a_partition_of_the_text(text: str, is_markdown: bool) -> None:
    pieces = cut(text, is_markdown=is_markdown, settings=ChunkSettings(size=50, least=20))
    if text.strip():
        check(text, pieces)
    else:
        assert pieces == []


@given(MARKDOWN, st.integers(0, 25))
def test_an_overlap_repeats_the_end_of_the_chunk_before(text: str, overlap: int) -> None:
    plain = cut(text, is_markdown=True, settings=ChunkSettings(size=50, least=0))
    lapped = cut(text, is_markdown=True, settings=ChunkSettings(size=50, least=0, overlap=overlap))
    assert [piece.byte_end for piece in lapped] == [piece.byte_end for piece in plain]
    for short, long in zip(plain, lapped, strict=True):
        assert long.text.endswith(short.text)
        assert len(long.text) - len(short.text) <= overlap


@pytest.mark.parametrize(
    ("size", "overlap"), [(512, 512), (100, 150), (1, 0), (0, 0), (10, -1), (100, 51)]
)
def test_a_pair_that_could_not_end_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValidationError):
        ChunkSettings(size=size, overlap=overlap)


@pytest.mark.parametrize("part", ["x" * 100, "- a\n", "# h\n", "[" * 20, "> " * 10, "`" * 9 + "\n"])
def test_hostile_text_is_cut_and_can_be_put_together_again(part: str) -> None:
    text = part * 5_000
    check(text, cut(text, is_markdown=True))


def test_a_long_word_is_cut_at_the_size() -> None:
    pieces = cut("x" * 5_000, is_markdown=False)
    assert [len(piece.text) for piece in pieces] == [900, 900, 900, 900, 900, 500]


def test_the_heading_path_is_kept() -> None:
    body = "Words of this section. " * 30
    headings = ("# Top", "## Left", "### Deep `x` { #deep }", "## Right")
    text = "".join(f"{heading}\n\n{body}\n\n" for heading in headings)
    assert [piece.heading_path for piece in cut(text, is_markdown=True)] == [
        ("Top",),
        ("Top", "Left"),
        ("Top", "Left", "Deep x"),
        ("Top", "Right"),
    ]


def test_small_sections_share_a_chunk_under_the_headings_above_both() -> None:
    pieces = cut("# Top\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n", is_markdown=True)
    assert [piece.heading_path for piece in pieces] == [("Top",)]


def test_a_sign_in_code_is_no_heading() -> None:
    text = "# Real\n\n```sh\n# not one\nmake run\n```\n\n    # nor this\n"
    assert cut(text, is_markdown=True)[0].heading_path == ("Real",)


def test_code_stays_whole_where_it_can() -> None:
    code = "```\n" + "line of code\n" * 120 + "```\n"
    text = "Before. " * 100 + "\n\n" + code + "\nAfter. " * 100
    assert any(code in piece.text for piece in cut(text, is_markdown=True))


def test_a_heading_is_never_parted_from_what_it_heads() -> None:
    text = "# Title\n\n" + "word " * 170 + "\n\n## Next\n\n" + "word " * 170
    pieces = cut(text, is_markdown=True)
    assert [piece.text.split("\n")[0] for piece in pieces] == ["# Title", "## Next"]
