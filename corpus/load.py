"""How a file becomes text: decoded, cleaned, its front matter set apart, what was mended noted."""

import codecs
import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from charset_normalizer import from_bytes

from corpus.front_matter import split_front_matter
from kit.errors import BadInput

MAX_FILE_BYTES = 20 * 1024 * 1024
SUFFIXES = frozenset({".md", ".markdown", ".txt"})
LEAST_CONFIDENCE = 0.8
"""Share of a guessed decoding that looks like text; below it a file is skipped, not guessed."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0e-\x1f\x7f]")
_MOST_CONTROL = 0.01


@dataclass(frozen=True)
class SourceText:
    """One readable document, before it is cut into chunks."""

    source_id: str
    text: str
    is_markdown: bool
    title: str = ""
    url_or_internal_ref: str = ""
    language: str = ""
    notes: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unreadable:
    """A file that was left out, and why."""

    source_id: str
    reason: str


def walk(folder: Path) -> list[Path]:
    """List the files of `folder` in a stable order, hidden ones and folders behind links left out.

    Raises BadInput where `folder` is no folder that can be read.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder")

    def refuse(error: OSError) -> None:
        raise BadInput(f"the folder {error.filename} cannot be read: {error.strerror}") from error

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += (Path(parent, name) for name in sorted(names) if not name.startswith("."))
    return found


def load_file(path: Path, folder: Path) -> SourceText | Unreadable:
    """Read one file; its `source_id` is its path relative to `folder`, with slashes."""
    source_id = name_of(path, folder)
    try:
        data = _read(path, folder)
        text, notes = decode(data)
    except _Skip as skip:
        return Unreadable(source_id, str(skip))
    is_markdown = path.suffix.lower() != ".txt"
    metadata: dict[str, Any] = {}
    if is_markdown:
        found, text, remarks = split_front_matter(text)
        metadata = clean_value(found)
        notes += remarks
    if not text.strip():
        return Unreadable(source_id, "empty file")
    title = metadata.get("title")
    return SourceText(
        source_id,
        text,
        is_markdown,
        title=title if isinstance(title, str) else "",
        url_or_internal_ref=source_id,
        notes=tuple(notes),
        metadata=metadata,
    )


def name_of(path: Path, folder: Path) -> str:
    """Give the path relative to `folder`, as text that a database takes whatever its bytes are."""
    relative = path.relative_to(folder).as_posix()
    return unicodedata.normalize("NFC", os.fsencode(relative).decode("utf-8", "replace"))


class _Skip(Exception):
    """Says why a file is left out; never leaves this module."""


def _read(path: Path, folder: Path) -> bytes:
    if path.suffix.lower() not in SUFFIXES:
        raise _Skip(f"type not supported: {path.suffix or 'no suffix'}")
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise _Skip("a link that leads out of the folder")
    if not path.is_file():
        raise _Skip("not a regular file")
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise _Skip(f"{size / 1e6:.1f} MB is over the limit of 20 MB")
        return path.read_bytes()
    except OSError as error:
        raise _Skip(f"cannot be read: {error.strerror}") from error


def decode(data: bytes) -> tuple[str, list[str]]:
    """Turn bytes into clean text, with notes on what had to be mended or guessed."""
    if not data:
        raise _Skip("empty file")
    encoding, note = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _Skip(f"is not valid {encoding} at byte {error.start}") from error
    cleaned, notes = clean(text)
    if len(_CONTROL.findall(cleaned)) > _MOST_CONTROL * len(cleaned):
        raise _Skip("is no text: too many control characters")
    return cleaned, ([note] if note else []) + notes


def _encoding(data: bytes) -> tuple[str, str]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return encoding, "" if encoding == "utf-8-sig" else f"decoded as {encoding}"
    if wide := _wide_encoding(data):
        return wide, f"decoded as {wide}: told by its NUL bytes"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _guess(data)
    return "utf-8", ""


def _wide_encoding(data: bytes) -> str:
    """Tell UTF-16 without a mark: in Western and Cyrillic text every other byte is one of few."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    half = len(data) / 2
    if len(data) % 2 or max(even, odd) < 0.2 * half or min(even, odd) > 0.05 * half:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _guess(data: bytes) -> tuple[str, str]:
    best = from_bytes(data).best()
    confidence = 1 - best.chaos if best else 0.0
    if best is None or confidence < LEAST_CONFIDENCE:
        raise _Skip("is not UTF-8 and its encoding cannot be told")
    return best.encoding, f"decoded as {best.encoding}, confidence {confidence:.2f}"


def clean(text: str) -> tuple[str, list[str]]:
    """Take out what PostgreSQL or a reader cannot have; say so in notes.

    NUL and lone surrogates go (PostgreSQL refuses them), a byte order mark goes, and lines
    end in a single line feed.
    """
    notes = []
    if "\0" in text:
        notes.append(f"NUL removed ({text.count(chr(0))})")
        text = text.replace("\0", "")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    mended = text.encode("utf-8", "ignore").decode()
    if mended != text:
        notes.append("lone surrogates removed")
    return mended, notes


def clean_value(value: Any) -> Any:
    """Clean every text inside a JSON value, its keys too."""
    if isinstance(value, str):
        return clean(value)[0]
    if isinstance(value, dict):
        return {clean(str(key))[0]: clean_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    return value
