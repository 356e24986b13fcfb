"""How many tokens a text may be, without asking any tokenizer."""

BYTES_PER_TOKEN = 3
"""On the safe side for every tokenizer that we know, in Latin, Cyrillic and Han alike."""


def estimate_tokens(text: str) -> int:
    """Say at most how many tokens `text` is likely to be."""
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1
