"""Whatever a mutator writes costs no answer until it is valid, new, and its own."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolution.breeding.components import components_of
from evolution.breeding.copying import CopyGuard
from evolution.breeding.evidence import Evidence, Failure
from evolution.breeding.proposals import Mode, part_for, proposal_schema, propose, read_proposal
from evolution.breeding.reflection import UNUSABLE_IN_A_ROW, Reflection, Written
from evolution.breeding.refused import Refused
from kit.chat import ChatReply
from kit.errors import (
    BadInput,
    ProviderBusy,
    ProviderError,
    ProviderUnreachable,
    UnreadableReply,
)
from kit.fakes import Script, ScriptedChat
from models.defaults import DEFAULT_GENOMES
from models.genome import Layer, PostprocessGenome, content_hash, dump_genome, parse_genome

OLD = DEFAULT_GENOMES["postprocess"]
assert isinstance(OLD, PostprocessGenome)
NOTHING_SEEN = Evidence(failures=(), dialogues=(), tried=())
PARENT = UUID(int=1)


def said(**changes: Any) -> str:
    return json.dumps({"genome": {**dump_genome(OLD), **changes}, "notes": "more of it"})


def genes_with(text: str) -> list[dict[str, str]]:
    return [*dump_genome(OLD)["system_prompt"], {"id": "new", "text": text}]


class Talk:
    """A reflection over a scripted mutator, and what it refused."""

    def __init__(self, script: Script, known: dict[str, str] | None = None, exam: Sequence[str] = ()
                 ) -> None:  # fmt: skip
        self.model = ScriptedChat(script)
        self.refused: list[Refused] = []
        self.reflection = Reflection(
            self.model, OLD, frozenset(), known or {}, CopyGuard(exam), self._keep
        )

    async def ask(
        self, number: int = 1, evidence: Evidence = NOTHING_SEEN, mode: Mode = "all"
    ) -> Written | None:
        return await self.reflection.propose(OLD, PARENT, evidence, number, mode)

    async def _keep(self, refused: Refused) -> None:
        self.refused.append(refused)


UNUSABLE = {
    "prose": ("I would raise chunk_count to 6.", "not JSON alone"),
    "prose around a fence": (f"Here you are:\n```json\n{said(chunk_count=6)}\n```", "text around"),
    "prose after the JSON": (said(chunk_count=6) + " Hope it helps!", "text around"),
    "thoughts": (f"<think>hm</think>{said(chunk_count=6)}", "text around"),
    "thoughts alone": ("<think>six, or rather seven</think>", "not JSON alone"),
    "half of the JSON": (said(chunk_count=6)[:300], "no end"),
    "an empty reply": ("", "empty"),
    "50 kB": (said(system_prompt=genes_with("x" * 50_000)), "over 32,000"),
    "a dropped slot": (said(system_prompt=genes_with("x")[:5]), "required slot missing"),
    "a misspelt slot": (said(system_prompt=genes_with("{{slot:contxt}}")), "unknown slot: contxt"),
    "an unknown slot": (said(system_prompt=genes_with("{{slot:day}}")), "unknown slot: day"),
    "no change": (said(), "changes nothing"),
    "a number in a string": (said(chunk_count="6"), "chunk_count"),
    "out of bounds": (said(chunk_count=60), "chunk_count"),
    "another layer": (said(layer="routing"), "layer 'routing'"),
    "NUL": (said(system_prompt=genes_with("a\0b")), "text"),
    "half a surrogate pair": (said(system_prompt=genes_with("\ud800")), "not valid JSON"),
    "no notes": (json.dumps({"genome": dump_genome(OLD)}), "notes"),
    "an unknown gene": (said(speed=3), "speed"),
    "a list": ("[]", "text around"),
    "NaN": (said(chunk_count=float("nan")), "NaN"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
async def test_an_unusable_reply_is_refused_with_its_reason_and_its_text(fault: str) -> None:
    text, reason = UNUSABLE[fault]
    talk = Talk([ChatReply(text, "stop", "m")])
    assert await talk.ask(number=4) is None
    [refused] = talk.refused
    assert reason in refused.reason
    assert (refused.number, refused.operator, refused.parent_id) == (4, "reflect_all", PARENT)
    assert refused.text == text


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "~~~\n{}\n~~~", "{}"])
async def test_a_code_fence_around_valid_json_is_taken_off(fence: str) -> None:
    talk = Talk([fence.replace("{}", said(chunk_count=6))])
    written = await talk.ask()
    assert written == Written(
        OLD.model_copy(update={"chunk_count": 6}), "reflect_all", "more of it"
    )
    assert talk.refused == []


@given(
    st.integers(0, len(said())), st.integers(0, 40),
    st.text(alphabet='{}[]",:\\0123e.-truefalsn \0\ud800я<`', max_size=12),
)  # fmt: skip
def test_a_reply_that_was_damaged_anywhere_is_a_valid_variant_or_refused(
    start: int, length: int, text: str
) -> None:
    damaged = said(chunk_count=6)[:start] + text + said(chunk_count=6)[start + length :]
    try:
        genome, _ = read_proposal(ChatReply(damaged, "stop", "m"), OLD)
    except (BadInput, UnreadableReply):
        return
    assert parse_genome(dump_genome(genome)) == genome != OLD


async def test_a_slot_that_stands_twice_is_accepted() -> None:
    talk = Talk([said(system_prompt=genes_with("Again: {{slot:context}}"))])
    assert await talk.ask() is not None


async def test_a_reply_that_was_cut_off_is_refused() -> None:
    talk = Talk([ChatReply(said(chunk_count=6), "length", "m")])
    assert await talk.ask() is None
    assert "finish_reason=length" in talk.refused[0].reason


async def test_the_same_proposal_for_ever_is_taken_once_and_its_refusal_is_read() -> None:
    talk = Talk(lambda request: said(chunk_count=6))
    assert await talk.ask(1) is not None
    for number in range(2, 2 + UNUSABLE_IN_A_ROW):
        assert not talk.reflection.gave_up
        assert await talk.ask(number) is None
    assert talk.reflection.gave_up
    assert {r.reason for r in talk.refused} == {
        "the same genome was there before: it was proposed before in this cycle"
    }
    last = talk.model.requests[-1].messages[-1].content
    assert last.count("it was proposed before in this cycle") == 1


async def test_a_dead_proposal_of_an_earlier_night_is_refused_with_what_became_of_it() -> None:
    dead = OLD.model_copy(update={"chunk_count": 6})
    talk = Talk([said(chunk_count=6)], known={content_hash(dead): "it is g-1, tried before: −0.3"})
    assert await talk.ask() is None
    assert talk.refused[0].reason == (
        "the same genome was there before: it is g-1, tried before: −0.3"
    )


async def test_a_gene_that_copies_the_exam_or_what_was_read_is_refused() -> None:
    exam = "the least budget of a cycle is two hundred and eighty-eight"
    read = Failure(question="?", answer="nine old sailors sold their boats to the harbour", score=1)
    evidence = Evidence(failures=(read,), dialogues=(), tried=())
    for copied in (exam, read.answer):
        talk = Talk([said(system_prompt=genes_with(f"Say: {copied}"))], exam=[exam])
        assert await talk.ask(evidence=evidence) is None
        assert "copies 8 or more words" in talk.refused[0].reason


async def test_a_usable_proposal_ends_the_row_of_refusals() -> None:
    talk = Talk(["no", "no", said(chunk_count=6), "no", "no", "no", "no"])
    for number in range(1, 8):
        await talk.ask(number)
    assert not talk.reflection.gave_up


@pytest.mark.parametrize("error", [ProviderBusy("429", 3.0), ProviderUnreachable("no route")])
async def test_a_mutator_that_stays_out_of_reach_is_no_refusal(error: ProviderError) -> None:
    talk = Talk([error])
    with pytest.raises(type(error), match="the mutator is unavailable") as caught:
        await talk.ask()
    assert caught.value.retry_after_s == error.retry_after_s
    assert talk.refused == []


async def test_components_are_edited_in_turn_and_nothing_beside_them() -> None:
    parts = components_of(OLD, frozenset())
    assert parts == ("system_prompt", "system_prompt_reduce", "typed")
    model = ScriptedChat(lambda request: json.dumps({"genome": {"chunk_count": 6}, "notes": ""}))
    for number, part in enumerate((*parts, *parts), start=1):
        if part == "typed":
            genome, _ = await propose(model, OLD, NOTHING_SEEN, number, "component")
            assert genome == OLD.model_copy(update={"chunk_count": 6})
        else:
            with pytest.raises(BadInput, match=f"changes chunk_count beside {part}"):
                await propose(model, OLD, NOTHING_SEEN, number, "component")


async def test_inert_components_are_not_asked_for() -> None:
    model = ScriptedChat(lambda request: json.dumps({"genome": {"chunk_count": 6}, "notes": ""}))
    inert = frozenset({"postprocess.system_prompt*"})
    for number in range(1, 4):
        genome, _ = await propose(model, OLD, NOTHING_SEEN, number, "component", inert)
        assert genome == OLD.model_copy(update={"chunk_count": 6})


@pytest.mark.parametrize("layer", ["postprocess", "routing", "cache_policy"])
def test_who_asks_for_every_other_number_comes_to_all_components_too(layer: Layer) -> None:
    genome = DEFAULT_GENOMES[layer]
    parts = set(components_of(genome, frozenset()))
    every = [part_for(genome, number, frozenset()) for number in range(1, 25)]
    assert set(every[: len(parts)]) == set(every[1::2]) == set(every[::2]) == parts


def test_the_components_of_a_routing_genome_are_its_prompts_and_its_typed_genes() -> None:
    assert components_of(DEFAULT_GENOMES["routing"], frozenset()) == (
        "classifier_prompt",
        *(f"profiles.{t}.system_prompt" for t in
          ("factual_lookup", "explanation", "how_to", "bsl_help")),
        "typed",
    )  # fmt: skip
    assert components_of(DEFAULT_GENOMES["cache_policy"], frozenset()) == ("typed",)


def test_the_schema_of_a_component_holds_that_component_alone() -> None:
    typed = proposal_schema(OLD, "typed")["properties"]["genome"]
    assert typed["required"] == ["chunk_count", "max_tokens", "citation_policy", "verbosity"]
    routing = DEFAULT_GENOMES["routing"]
    one = proposal_schema(routing, "profiles.how_to.system_prompt")["properties"]["genome"]
    assert one["required"] == ["profiles"]
    assert one["properties"]["profiles"]["required"] == ["how_to"]
    how_to = one["properties"]["profiles"]["properties"]["how_to"]
    assert how_to["required"] == ["system_prompt"]


async def test_a_part_of_a_nested_component_leaves_its_neighbours_alone() -> None:
    routing = DEFAULT_GENOMES["routing"]
    edit = {"profiles": {"how_to": {"system_prompt": [{"id": "steps", "text": "Count steps."}]}}}
    model = ScriptedChat([json.dumps({"genome": edit, "notes": "n"})])
    genome, _ = await propose(model, routing, NOTHING_SEEN, 4, "component")
    profiles = genome.profiles  # type: ignore[union-attr]
    assert profiles["how_to"].system_prompt[0].text == "Count steps."
    assert profiles["how_to"].system_prompt[0].origin == "mutator"
    assert profiles["bsl_help"] == routing.profiles["bsl_help"]  # type: ignore[union-attr]
