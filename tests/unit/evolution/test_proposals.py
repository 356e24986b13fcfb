"""What a mutator model writes is refused before it costs anything, where it is not valid."""

import json
from typing import Any

import pytest

from evolution.breeding.proposals import proposal_schema, read_proposal
from kit.chat import ChatReply
from kit.errors import BadInput, UnreadableReply
from models.defaults import DEFAULT_GENOMES
from models.genome import dump_genome

INCUMBENT = DEFAULT_GENOMES["postprocess"]


def reply(content: dict[str, Any] | str, finish: Any = "stop") -> ChatReply:
    text = content if isinstance(content, str) else json.dumps({"genome": content, "notes": "n"})
    return ChatReply(text=text, finish_reason=finish, model="m")


def variant(**changes: Any) -> dict[str, Any]:
    return {**dump_genome(INCUMBENT), **changes}


def with_context_gene(text: str) -> dict[str, Any]:
    genes = dump_genome(INCUMBENT)["system_prompt"]
    return variant(system_prompt=[g | {"text": text} if g["id"] == "context" else g for g in genes])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Fragments follow.", "required slot missing: context"),
        ("Fragments: {{slot:contxt}}", "required slot missing: context"),
        ("{{slot:context}} {{slot:weather}}", "unknown slot: weather"),
    ],
)
def test_a_lost_misspelt_or_unknown_slot_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        read_proposal(reply(with_context_gene(text)), INCUMBENT)


def test_a_slot_may_stand_twice_and_other_braces_are_text() -> None:
    text = "{{slot:context}} again {{slot:context}} {CACHE_VERSION} {x | x ∈ ℝ} {{ y }}"
    genome, _ = read_proposal(reply(with_context_gene(text)), INCUMBENT)
    assert any(gene.text == text for gene in genome.system_prompt)  # type: ignore[union-attr]


def test_a_changed_instruction_names_the_mutator_as_its_origin() -> None:
    genome, _ = read_proposal(reply(with_context_gene("See: {{slot:context}}")), INCUMBENT)
    origins = {gene.id: gene.origin for gene in genome.system_prompt}  # type: ignore[union-attr]
    assert origins["context"] == "mutator"
    assert origins["role"] == "hand"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"chunk_count": 13}, "chunk_count"),
        ({"chunk_count": "4"}, "chunk_count"),
        ({"chunk_count": True}, "chunk_count"),
        ({"verbosity": "chatty"}, "verbosity"),
        ({"layer": "routing"}, "layer 'routing'"),
        ({"layer": "tea"}, "layer 'tea'"),
        ({"speed": 3}, "speed"),
    ],
)
def test_a_value_that_the_schema_does_not_know_is_refused(
    change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        read_proposal(reply(variant(**change)), INCUMBENT)


@pytest.mark.parametrize(
    "text", ["", "no JSON", '{"genome": {"chunk_count": 3', "<think>hm</think>"]
)
def test_a_reply_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(UnreadableReply):
        read_proposal(reply(text), INCUMBENT)


def test_a_truncated_reply_is_refused() -> None:
    with pytest.raises(UnreadableReply, match="finish_reason=length"):
        read_proposal(reply(variant(), finish="length"), INCUMBENT)


def test_the_schema_shows_the_model_every_bound_and_closes_every_object() -> None:
    genome = proposal_schema(INCUMBENT)["properties"]["genome"]
    assert genome["properties"]["chunk_count"] == {"type": "integer", "minimum": 1, "maximum": 12}
    assert genome["additionalProperties"] is False
    routing = proposal_schema(DEFAULT_GENOMES["routing"])["properties"]["genome"]
    assert set(routing["properties"]["profiles"]["required"]) == {
        "factual_lookup", "explanation", "how_to", "bsl_help",
    }  # fmt: skip
