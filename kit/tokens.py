"""How many tokens a text may be, without asking any tokenizer."""

import json

from kit.chat import ChatRequest, Usage

BYTES_PER_TOKEN = 3
"""On the safe side for every tokenizer that we know, in Latin, Cyrillic and Han alike."""

MARKS_PER_MESSAGE = 16
"""More tokens than any chat template that we know puts around a message."""


def estimate_tokens(text: str) -> int:
    """Say at most how many tokens `text` is likely to be."""
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1


def bound_usage(request: ChatRequest) -> Usage:
    """Say how many tokens a call can cost at the very most.

    No tokenizer makes more tokens of a text than it has bytes; the schema is part of the prompt.
    """
    prompt = sum(
        len(message.content.encode("utf-8", "replace")) + MARKS_PER_MESSAGE
        for message in request.messages
    )
    if request.json_schema is not None:
        prompt += len(json.dumps(request.json_schema))
    return Usage(prompt, request.max_tokens)
