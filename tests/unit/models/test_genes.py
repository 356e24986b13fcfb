"""Prompts: named slots are filled once, and everything else is text."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from models.genes import Instruction, Prompt, PromptField, fill, prompt_with, render, slots_of

CHECKED: TypeAdapter[Prompt] = TypeAdapter(
    Annotated[PromptField, prompt_with(frozenset({"question", "context"}))]
)
ROLE = {"id": "role", "text": "You answer."}
BOTH = {"id": "data", "text": "{{slot:context}}\n{{slot:question}}"}


def refused(prompt: list[dict[str, Any]]) -> str:
    with pytest.raises(ValidationError) as caught:
        CHECKED.validate_python(prompt)
    return str(caught.value)


def prompt(*texts: str) -> Prompt:
    return tuple(Instruction(id=f"g{n}", text=text) for n, text in enumerate(texts))


@pytest.mark.parametrize(
    ("genes", "why"),
    [
        ([ROLE, {"id": "q", "text": "{{slot:question}}"}], "required slot missing: context"),
        ([ROLE, {**BOTH, "text": "{{slot:context}} {{slot:qestion}}"}], "slot missing: question"),
        ([BOTH, {"id": "more", "text": "{{slot:answer}}"}], "unknown slot: answer"),
        ([BOTH, {"id": "more", "text": "{{slot:}}"}], "unknown slot"),
        ([BOTH, {"id": "data", "text": "again"}], "gene ids repeat"),
        ([], "at least 1"),
        ([BOTH, {"id": "More Genes", "text": "x"}], "id"),
        ([BOTH, {"id": "empty", "text": ""}], "at least 1"),
        ([BOTH, {"id": "long", "text": "x" * 4001}], "at most 4000"),
        ([BOTH, {"id": "nul", "text": "a\0b"}], "pattern"),
        ([BOTH, *({"id": f"g{n}", "text": "x"} for n in range(40))], "at most 40"),
    ],
)
def test_a_prompt_that_could_not_work_is_refused_with_the_reason(
    genes: list[dict[str, Any]], why: str
) -> None:
    assert why in refused(genes)


def test_a_slot_may_stand_twice() -> None:
    genes = CHECKED.validate_python([BOTH, {"id": "again", "text": "{{slot:question}}"}])
    assert len(genes) == 2


def test_genes_with_a_slot_are_the_users_turn_and_the_others_the_system() -> None:
    system, user = render(
        prompt("Be brief.", "Sources: {{slot:context}}", "Cite.", "Q: {{slot:question}}"),
        {"context": "C", "question": "Q"},
    )
    assert system == "Be brief.\nCite."
    assert user == "Sources: C\n\nQ: Q"


@pytest.mark.parametrize(
    "text", ["{question}", "{{ question }}", "{{question}}", "%s", "${x}", "{{slot}}", "{% if %}"]
)
def test_other_braces_are_plain_text(text: str) -> None:
    assert slots_of(text) == ()
    assert fill(text, {}) == text


@given(st.text())
def test_what_is_put_into_a_slot_arrives_unchanged(value: str) -> None:
    assert fill("<{{slot:context}}>", {"context": value}) == f"<{value}>"


def test_a_document_that_names_a_slot_is_not_filled_again() -> None:
    values = {"context": "a {{slot:question}} in a document", "question": "SECRET"}
    assert fill("{{slot:context}}", values) == "a {{slot:question}} in a document"
