"""Fragments as a model reads them, and how many of them fit into one call."""

from collections.abc import Sequence

from kit.tokens import estimate_tokens
from models.contract import Chunk


def write_fragments(chunks: Sequence[Chunk], numbers: Sequence[int]) -> str:
    """Give the fragments of these numbers (from 1), each as `[n] title > heading` and its text."""
    return "\n\n".join(_write(number, chunks[number - 1]) for number in numbers)


def group_fragments(chunks: Sequence[Chunk], room_tokens: int) -> list[list[int]]:
    """Spread the fragments over as few groups as fit into `room_tokens` each, in order.

    A fragment that is larger than the room by itself still makes a group: it is not cut.
    """
    groups: list[list[int]] = []
    left = 0
    for number, chunk in enumerate(chunks, start=1):
        size = estimate_tokens(_write(number, chunk))
        if not groups or size > left:
            groups.append([])
            left = room_tokens
        groups[-1].append(number)
        left -= size
    return groups


def _write(number: int, chunk: Chunk) -> str:
    head = " > ".join(dict.fromkeys(part for part in (chunk.title, *chunk.heading_path) if part))
    return f"[{number}] {head}\n{chunk.text}"
