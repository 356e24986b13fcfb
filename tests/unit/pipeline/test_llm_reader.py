"""The model reader: prompts rendered once, data never parsed, replies read strictly."""

import json
from typing import Any

import pytest

from kit.chat import ChatReply
from kit.errors import ProviderBusy
from kit.fakes import ScriptedChat
from models.contract import Turn
from models.genes import Instruction
from pipeline.llm_reader import LlmReader
from tests.unit.pipeline.readings import HOURS, make_chunk, make_genomes, make_reading

NASTY = (
    '{"key": "value"} {CACHE_VERSION} {config.setting} {x | x ∈ ℝ} {{ user }} {{slot:question}} '
    "{{slot:nothing}} %s %(name)s </answer> $HOME \\n"
)


def make_reply(answer: str = "At 18:00 [1].", **changes: Any) -> str:
    fields = {"abstained": False, "answer": answer, "key_points": ["18:00"]}
    return json.dumps(fields | {"sources": [1], "warnings": []} | changes, ensure_ascii=False)


async def test_a_reply_becomes_an_answer_with_its_citations() -> None:
    answer = await LlmReader(ScriptedChat([make_reply()], name="m")).read(make_reading())
    assert (answer.answer, answer.key_points, answer.reader) == ("At 18:00 [1].", ("18:00",), "m")
    assert [(s.number, s.chunk_id) for s in answer.sources] == [(1, "c1")]
    assert (answer.abstained, answer.finish_reason) == (False, "stop")


async def test_braces_in_prompt_fragment_and_question_reach_the_model_unchanged() -> None:
    clean = NASTY.replace("{{slot:question}} {{slot:nothing}} ", "")
    prompt = (
        Instruction(id="system", text=f"Obey {clean}"),
        Instruction(id="user", text="Fragments:\n{{slot:context}}\nQuestion: {{slot:question}}"),
    )
    chat = ScriptedChat([make_reply()])
    genomes = make_genomes(system_prompt=prompt)
    await LlmReader(chat).read(make_reading(NASTY, (make_chunk(1, NASTY),), genomes))
    system, user = chat.requests[0].messages
    assert system.content.startswith(f"Obey {clean}\n")
    assert user.content == f"Fragments:\n[1] Document 1\n{NASTY}\nQuestion: {NASTY}"


async def test_braces_in_a_reply_reach_the_asker_unchanged() -> None:
    answer = await LlmReader(ScriptedChat([make_reply(NASTY)])).read(make_reading())
    assert answer.answer == NASTY


async def test_no_fragment_ever_speaks_as_the_system() -> None:
    chat = ScriptedChat([make_reply()])
    await LlmReader(chat).read(make_reading())
    assert HOURS not in chat.requests[0].messages[0].content
    assert HOURS in chat.requests[0].messages[1].content


async def test_the_heading_path_stands_above_the_fragment() -> None:
    chat = ScriptedChat([make_reply()])
    chunk = make_chunk(1, "At nine.", title="Guide", heading_path=("Guide", "Hours"))
    await LlmReader(chat).read(make_reading(chunks=(chunk,)))
    assert "[1] Guide > Hours\nAt nine." in chat.requests[0].messages[1].content


async def test_the_conversation_stands_between_rules_and_question() -> None:
    chat = ScriptedChat([make_reply()])
    history = (Turn(role="user", content="Hello"), Turn(role="assistant", content="Good day"))
    await LlmReader(chat).read(make_reading(history=history))
    roles = [(m.role, m.content) for m in chat.requests[0].messages[1:3]]
    assert roles == [("user", "Hello"), ("assistant", "Good day")]


async def test_every_gene_of_choice_changes_what_the_model_is_told() -> None:
    variants = [
        make_genomes(),
        make_genomes("bullets"),
        make_genomes(verbosity="concise"),
        make_genomes(citation_policy="sources_only"),
        make_genomes(max_tokens=99),
    ]
    chat = ScriptedChat(lambda _: make_reply())
    for genomes in variants:
        await LlmReader(chat).read(make_reading(genomes=genomes))
    assert len({(r.messages[0].content, r.max_tokens) for r in chat.requests}) == len(variants)
    assert chat.requests[-1].max_tokens == 99


async def test_the_profile_of_the_query_type_speaks_too() -> None:
    chat = ScriptedChat([make_reply()])
    await LlmReader(chat).read(make_reading(query_type="how_to"))
    assert "Give the steps in the order" in chat.requests[0].messages[0].content


async def test_the_schema_is_strict_and_named() -> None:
    chat = ScriptedChat([make_reply()])
    await LlmReader(chat).read(make_reading())
    schema = chat.requests[0].json_schema
    assert schema is not None
    assert schema["title"] == "answer"
    assert schema["required"] == ["abstained", "answer", "key_points", "sources", "warnings"]


async def test_a_truncated_reply_is_no_answer() -> None:
    cut = ChatReply('{"answer": "At 18', "length", "m")
    answer = await LlmReader(ScriptedChat([cut])).read(make_reading())
    assert (answer.answer, answer.finish_reason) == ("", "length")


@pytest.mark.parametrize(
    "reply",
    ["At 18:00 [1].", "", '{"answer": "x"}', make_reply(sources=["1"]), make_reply(extra=1)],
)
async def test_an_unreadable_reply_is_a_failed_answer(reply: str) -> None:
    answer = await LlmReader(ScriptedChat([reply])).read(make_reading())
    assert (answer.answer, answer.finish_reason) == ("", "error")
    assert "could not be read" in answer.warnings[0]


async def test_an_outage_passes_through() -> None:
    with pytest.raises(ProviderBusy):
        await LlmReader(ScriptedChat([ProviderBusy("busy")])).read(make_reading())


async def test_who_abstains_cites_nothing() -> None:
    chat = ScriptedChat([make_reply("The fragments do not say.", abstained=True)])
    answer = await LlmReader(chat).read(make_reading())
    assert (answer.abstained, answer.sources) == (True, ())


async def test_a_citation_of_nothing_is_kept_for_the_check_to_find() -> None:
    chat = ScriptedChat([make_reply("At 18:00 [9].", sources=[1, 8, 0, -3])])
    answer = await LlmReader(chat).read(make_reading())
    assert [s.number for s in answer.sources] == [1, 8, 9]


async def test_without_fragments_no_model_is_asked() -> None:
    chat = ScriptedChat([])
    answer = await LlmReader(chat).read(make_reading(chunks=(), language="ru"))
    assert (answer.answer, answer.abstained) == ("В источниках этого нет.", True)
    assert chat.calls == 0


class TestFragmentsThatDoNotFit:
    """Read in groups, then merged."""

    chunks = tuple(make_chunk(n, f"Fact {n}. " * 400) for n in range(1, 4))

    async def test_they_are_read_in_groups_and_merged_by_the_reduce_prompt(self) -> None:
        replies = [make_reply(f"Part {n} [{n}].", sources=[n]) for n in (1, 2, 3)]
        chat = ScriptedChat([*replies, make_reply("All [1] [3].", sources=[1, 3])])
        answer = await LlmReader(chat, context_tokens=2_500).read(make_reading(chunks=self.chunks))
        assert (answer.answer, [s.number for s in answer.sources]) == ("All [1] [3].", [1, 3])
        merged = chat.requests[-1].messages[-1].content
        assert "Part 1 [1].\n\nPart 2 [2].\n\nPart 3 [3]." in merged

    async def test_one_part_that_tells_needs_no_merging(self) -> None:
        silent = make_reply("Nothing.", abstained=True, sources=[])
        chat = ScriptedChat([silent, make_reply("Part 2 [2].", sources=[2]), silent])
        answer = await LlmReader(chat, context_tokens=2_500).read(make_reading(chunks=self.chunks))
        assert (answer.answer, chat.calls) == ("Part 2 [2].", 3)

    async def test_a_failed_part_fails_the_whole(self) -> None:
        chat = ScriptedChat([make_reply(), "prose", make_reply()])
        answer = await LlmReader(chat, context_tokens=2_500).read(make_reading(chunks=self.chunks))
        assert answer.finish_reason == "error"


def test_the_merging_prompt_is_inert_only_where_everything_fits() -> None:
    assert LlmReader(ScriptedChat([]), 8_192).inert_genes == frozenset()
    assert LlmReader(ScriptedChat([]), 32_000).inert_genes == {"postprocess.system_prompt_reduce*"}
