"""How a question becomes an answer, step by step, without a model and without a database."""

from typing import Any

import pytest

from kit.errors import BadInput, ProviderUnreachable, TooLong
from kit.fakes import ScriptedChat
from kit.metering import Metered
from models.contract import Turn
from models.defaults import DEFAULT_SET
from models.genome import MAX_FRAGMENTS, GenomeSet
from pipeline.ask import ask, clean_question
from pipeline.assemble import Ports, assemble
from pipeline.cache import MemoryAnswerCache
from pipeline.fakes import CannedClassifier, CannedReader, CannedRetriever
from pipeline.llm_classifier import LlmClassifier
from pipeline.run import Step
from tests.support.pipelines import CLOSES, FINES, HOURS, QUESTION, HandClock, make_scope

ALL_STEPS = ["cache lookup", "route", "retrieve", "postprocess", "check citations"]


class Bench:
    """A pipeline of canned parts, and one scope to ask it in."""

    def __init__(self, **ports: Any) -> None:
        self.retriever = CannedRetriever([HOURS, FINES])
        self.reader = CannedReader(CLOSES)
        self.scope = make_scope()
        parts = {
            "retriever": self.retriever,
            "classifier": CannedClassifier("how_to"),
            "reader": self.reader,
            "embedder": "none",
            "cache": MemoryAnswerCache(HandClock()),
        }
        self.steps: tuple[Step, ...] = assemble(Ports(**parts | ports))

    async def ask(
        self, question: str = QUESTION, genomes: GenomeSet = DEFAULT_SET, history: Any = ()
    ) -> Any:
        return await ask(question, history, self.scope, genomes, self.steps)


async def test_a_question_passes_all_steps_in_order() -> None:
    state = await Bench().ask()
    assert [step.name for step in state.steps] == [*ALL_STEPS, "cache admission"]
    assert (state.answer.answer, state.query_type) == (CLOSES.answer, "how_to")
    assert (state.from_cache, state.admitted) == (False, True)


async def test_the_trace_says_what_each_step_did() -> None:
    state = await Bench().ask()
    assert [step.note for step in state.steps] == [
        "miss",
        "how_to (by canned classifier)",
        f"2 of {DEFAULT_SET.postprocess.chunk_count} fragments",
        "44 characters (by canned reader)",
        "0 removed",
        "kept",
    ]


async def test_a_hit_ends_the_run_before_anything_is_paid() -> None:
    bench = Bench()
    first = await bench.ask()
    again = await bench.ask("Please tell me: when does the library close")
    assert [step.name for step in again.steps] == ["cache lookup"]
    assert (again.answer, again.from_cache) == (first.answer, True)
    assert len(bench.reader.readings) == len(bench.retriever.queries) == 1


async def test_without_a_cache_nothing_is_looked_up_or_kept() -> None:
    state = await Bench(cache=None).ask()
    assert [step.name for step in state.steps] == ALL_STEPS[1:]
    assert state.admitted is False


@pytest.mark.parametrize(("chunk_count", "depth", "limit"), [(5, 2, 10), (1, 1, 1), (12, 4, 24)])
async def test_as_many_fragments_are_read_as_the_genomes_say(
    chunk_count: int, depth: int, limit: int
) -> None:
    bench = Bench()
    routing = DEFAULT_SET.routing
    deep = routing.profiles["how_to"].model_copy(update={"depth_budget": depth})
    genomes = DEFAULT_SET.with_genome(
        routing.model_copy(update={"profiles": {**routing.profiles, "how_to": deep}})
    ).with_genome(DEFAULT_SET.postprocess.model_copy(update={"chunk_count": chunk_count}))
    await bench.ask(genomes=genomes)
    assert bench.retriever.queries[0].limit == limit <= MAX_FRAGMENTS


async def test_a_citation_of_a_fragment_that_was_not_given_is_removed() -> None:
    invented = CLOSES.model_copy(update={"answer": CLOSES.answer + " It is free [7]."})
    state = await Bench(reader=CannedReader(invented)).ask()
    assert "[7]" not in state.answer.answer
    assert state.steps[4].note == "1 removed"


async def test_the_whole_conversation_reaches_the_reader() -> None:
    bench = Bench()
    history = [Turn(role="user", content="Hello\0"), Turn(role="assistant", content="Hi")]
    state = await bench.ask(history=history)
    assert [turn.content for turn in bench.reader.readings[0].history] == ["Hello", "Hi"]
    assert (state.steps[0].name, state.steps[0].note) == ("conversation", "2 turns before")


async def test_braces_and_closing_marks_arrive_unchanged() -> None:
    odd = 'What does {config.setting} {{slot:context}} %s </answer> {x | x ∈ ℝ} {"a": 1} mean?'
    bench = Bench()
    state = await bench.ask(odd)
    assert state.question == bench.reader.readings[0].question == odd


async def test_the_calls_of_models_are_collected_for_the_books() -> None:
    model = Metered(ScriptedChat(['{"query_type": "how_to"}'], name="small"))
    state = await Bench(classifier=LlmClassifier(model)).ask()
    assert [call.model for call in state.calls] == ["small"]
    assert state.calls[0].usage.total > 0


async def test_a_model_that_is_out_of_reach_is_an_error_and_nothing_is_kept() -> None:
    reader = CannedReader(ProviderUnreachable("gone"))
    bench = Bench(reader=reader)
    with pytest.raises(ProviderUnreachable):
        await bench.ask()
    reader.says = CLOSES
    assert (await bench.ask()).from_cache is False


@pytest.mark.parametrize("question", ["", "  \n\t ", "\0", " \0 "])
def test_an_empty_question_is_refused(question: str) -> None:
    with pytest.raises(BadInput, match="empty"):
        clean_question(question)


def test_a_question_of_8001_characters_is_refused_and_one_of_8000_is_not() -> None:
    assert len(clean_question("x" * 8_000)) == 8_000
    with pytest.raises(TooLong, match="8,001"):
        clean_question("x" * 8_001)


def test_what_no_database_stores_is_taken_out_of_a_question() -> None:
    assert clean_question(" Where\0 is \ud83d it? ") == "Where is ? it?"


async def test_a_question_is_answered_in_its_own_language() -> None:
    bench = Bench()
    for question in (QUESTION, "¿Cuándo cierra la biblioteca?", "Когда закрывается библиотека?"):
        await bench.ask(question)
    assert [reading.language for reading in bench.reader.readings] == ["en", "es", "ru"]
