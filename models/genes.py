"""Prompts as lists of instruction genes, and the named slots that they may carry."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from models.contract import Frozen

SLOT = re.compile(r"\{\{slot:([^{}]*)\}\}")
"""The only syntax that is ever filled: every other brace is text."""


class Instruction(Frozen):
    """One gene of a prompt: the smallest text that a mutation adds, changes, moves or drops."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    text: str = Field(min_length=1, max_length=4_000, pattern=r"^[^\x00]*$")
    origin: str = Field(default="hand", max_length=120)
    """Where it came from (`hand`, `mutator`, a parent's name). Not part of the genome's hash."""


Prompt = tuple[Instruction, ...]


def slots_of(text: str) -> tuple[str, ...]:
    """List the slot names in `text`, in order, repeats kept."""
    return tuple(SLOT.findall(text))


def prompt_with(required: frozenset[str]) -> AfterValidator:
    """Make the validator of a prompt that must carry exactly the slots of `required`.

    A slot may stand more than once. Raises ValueError on a missing or unknown slot,
    on an empty prompt and on a repeated gene id.
    """

    def check(prompt: Prompt) -> Prompt:
        ids = [gene.id for gene in prompt]
        if len(ids) != len(set(ids)):
            raise ValueError(f"gene ids repeat: {', '.join(ids)}")
        found = {name for gene in prompt for name in slots_of(gene.text)}
        if missing := required - found:
            raise ValueError(f"required slot missing: {', '.join(sorted(missing))}")
        if unknown := found - required:
            raise ValueError(f"unknown slot: {', '.join(sorted(unknown))}")
        return prompt

    return AfterValidator(check)


PromptField = Annotated[Prompt, Field(min_length=1, max_length=40)]


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put `values` into the slots of `text`, in one pass: what is put in is never read again."""
    return SLOT.sub(lambda match: values[match[1]], text)


def render(prompt: Prompt, values: Mapping[str, str]) -> tuple[str, str]:
    """Give the (system, user) texts of a prompt.

    Genes without a slot are instructions and form the system message; genes with a slot
    carry data and form the user's turn, so that no document ever speaks as the system.
    """
    system = [gene.text for gene in prompt if not slots_of(gene.text)]
    user = [fill(gene.text, values) for gene in prompt if slots_of(gene.text)]
    return "\n".join(system), "\n\n".join(user)
