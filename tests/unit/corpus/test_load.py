"""Files as people have them: marks, encodings, NULs, links, front matter."""

from pathlib import Path

import pytest

from corpus.load import MAX_FILE_BYTES, SourceText, Unreadable, load_file, walk
from kit.errors import BadInput

RUSSIAN = "Договор вступает в силу со дня подписания и действует один год. " * 12


def load(folder: Path, name: str, data: bytes) -> SourceText | Unreadable:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return load_file(path, folder)


def text_of(loaded: SourceText | Unreadable) -> str:
    assert isinstance(loaded, SourceText), loaded
    return loaded.text


def reason_of(loaded: SourceText | Unreadable) -> str:
    assert isinstance(loaded, Unreadable), loaded
    return loaded.reason


def test_a_byte_order_mark_is_in_neither_text_nor_title(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a.md", "\ufeff# Offer\n\nValid.".encode())
    assert text_of(loaded) == "# Offer\n\nValid."


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_told_by_its_nul_bytes(tmp_path: Path, encoding: str) -> None:
    loaded = load(tmp_path, "a.txt", "Opening hours: 9 to 17, closed in May.".encode(encoding))
    assert text_of(loaded) == "Opening hours: 9 to 17, closed in May."
    assert isinstance(loaded, SourceText)
    assert loaded.notes == (f"decoded as {encoding}: told by its NUL bytes",)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_marked_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    assert text_of(load(tmp_path, "a.txt", RUSSIAN.encode(encoding))) == RUSSIAN


def test_windows_1251_becomes_readable_russian_and_is_noted(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a.txt", RUSSIAN.encode("cp1251"))
    assert text_of(loaded) == RUSSIAN
    assert isinstance(loaded, SourceText)
    assert loaded.notes[0].startswith("decoded as cp1251, confidence ")


def test_a_nul_in_a_word_is_removed_and_noted(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a.txt", b"a contr\x00act between two parties")
    assert text_of(loaded) == "a contract between two parties"
    assert isinstance(loaded, SourceText)
    assert loaded.notes == ("NUL removed (1)",)


def test_line_ends_become_line_feeds(tmp_path: Path) -> None:
    assert text_of(load(tmp_path, "a.txt", b"one\r\ntwo\rthree\n")) == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"", "empty file"),
        ("a.md", b" \n\t\n", "empty file"),
        ("a.md", b"---\ntitle: only this\n---\n", "empty file"),
        ("a.rtf", b"{\\rtf1 text}", "type not supported: .rtf"),
        ("a.txt", bytes(range(1, 9)) * 40, "is no text: too many control characters"),
        ("a.txt", bytes(range(256)) * 64, "is not UTF-8 and its encoding cannot be told"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_its_reason(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    assert reason_of(load(tmp_path, name, data)) == reason


def test_a_file_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert reason_of(load_file(path, tmp_path)) == "21.0 MB is over the limit of 20 MB"


def test_front_matter_becomes_metadata_as_text(tmp_path: Path) -> None:
    data = b"---\ntitle: Mocks\nyear: 2021\ndraft: no\ntags: [a, b]\n---\n# Mocks\n"
    loaded = load(tmp_path, "a.md", data)
    assert isinstance(loaded, SourceText)
    assert loaded.metadata == {"title": "Mocks", "year": "2021", "draft": "no", "tags": ["a", "b"]}
    assert (loaded.title, loaded.text) == ("Mocks", "# Mocks\n")


@pytest.mark.parametrize("block", ["a: [1,", "a: b: c", "a: " + "[" * 100])
def test_broken_front_matter_is_left_out_and_noted(tmp_path: Path, block: str) -> None:
    loaded = load(tmp_path, "a.md", f"---\n{block}\n---\nText.\n".encode())
    assert isinstance(loaded, SourceText)
    assert (loaded.text, loaded.metadata) == ("Text.\n", {})
    assert loaded.notes == ("front matter left out: it is not valid YAML",)


def test_front_matter_that_is_nested_too_deeply_is_not_even_parsed(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a.md", f"---\na: {'[' * 9_000}\n---\nText.\n".encode())
    assert isinstance(loaded, SourceText)
    assert loaded.notes == ("front matter left out: it is nested too deeply",)


def test_a_nul_that_yaml_makes_is_removed(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a.md", b'---\ntitle: "a\\0b"\n---\nText.\n')
    assert isinstance(loaded, SourceText)
    assert (loaded.title, loaded.metadata) == ("ab", {"title": "ab"})


def test_front_matter_that_would_expand_is_refused(tmp_path: Path) -> None:
    bomb = b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\nText.\n"
    loaded = load(tmp_path, "a.md", bomb)
    assert isinstance(loaded, SourceText)
    assert loaded.metadata == {}


def test_two_rules_around_prose_are_no_front_matter(tmp_path: Path) -> None:
    assert text_of(load(tmp_path, "a.md", b"---\njust prose\n---\nmore\n")).startswith("---\njust")


def test_braces_come_through_unchanged(tmp_path: Path) -> None:
    text = "Use {{ name }}, {% if x %}, {0} and %s.\n"
    assert text_of(load(tmp_path, "a.md", text.encode())) == text


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("private")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").symlink_to(outside / "private.md")
    (folder / "sub").symlink_to(outside)
    assert [load_file(path, folder) for path in walk(folder)] == [
        Unreadable("a.md", "a link that leads out of the folder")
    ]


def test_files_come_in_a_stable_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", ".hidden.md", ".git/c.md", "sub/d.md"):
        load(tmp_path, name, b"text")
    found = [path.relative_to(tmp_path).as_posix() for path in walk(tmp_path)]
    assert found == ["a.md", "b.md", "sub/d.md"]


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere is not a folder"):
        walk(tmp_path / "nowhere")
