"""The built-in reader: verbatim, numbered, obedient to every gene that is no prompt."""

from fnmatch import fnmatch

import pytest

from kit.fakes import HashEmbedder
from models.diff import genes_of
from pipeline.citations import check_citations
from pipeline.extractive_reader import ExtractiveReader
from pipeline.ports import Reading
from tests.unit.pipeline.readings import (
    FINES,
    HOURS,
    LIBRARY,
    make_chunk,
    make_genomes,
    make_reading,
)

CLOSING = "The library closes at 18:00 on weekdays."


async def answer_to(reading: Reading) -> str:
    return (await ExtractiveReader().read(reading)).answer


async def test_it_quotes_the_best_sentence_with_its_fragment() -> None:
    answer = await ExtractiveReader().read(make_reading(genomes=make_genomes(verbosity="concise")))
    assert answer.answer == f"{CLOSING} [1]"
    assert [(s.number, s.chunk_id) for s in answer.sources] == [(1, "c1")]
    assert answer.key_points == (CLOSING,)
    assert (answer.supportedness, answer.finish_reason) == (1.0, "stop")
    assert answer.reader == "built-in extractive reader"


async def test_the_same_reading_gives_the_same_answer() -> None:
    reading = make_reading(genomes=make_genomes(verbosity="comprehensive"))
    assert await ExtractiveReader().read(reading) == await ExtractiveReader().read(reading)


async def test_every_sentence_of_an_answer_stands_in_its_fragment() -> None:
    genomes = make_genomes("bullets", verbosity="comprehensive")
    answer = await answer_to(make_reading(genomes=genomes))
    for line in answer.splitlines():
        text, _, mark = line.removeprefix("- ").rpartition(" ")
        assert text in {"[1]": HOURS, "[2]": FINES}[mark]


@pytest.mark.parametrize(("policy", "marks"), [("always", 3), ("inline", 1), ("sources_only", 0)])
async def test_the_citation_policy_decides_where_marks_stand(policy: str, marks: int) -> None:
    genomes = make_genomes(verbosity="comprehensive", citation_policy=policy)
    answer = await ExtractiveReader().read(make_reading(chunks=LIBRARY[:1], genomes=genomes))
    assert answer.answer.count("[1]") == marks
    assert [s.number for s in answer.sources] == [1]


async def test_verbosity_decides_how_much_is_quoted() -> None:
    lengths = [
        len(await answer_to(make_reading(genomes=make_genomes(verbosity=verbosity))))
        for verbosity in ("concise", "adaptive", "comprehensive")
    ]
    assert lengths[0] <= lengths[1] < lengths[2]


async def test_steps_are_numbered_in_the_order_of_the_document() -> None:
    chunk = make_chunk(1, "Unpack the press. Fill the press with ink. Start the press at last.")
    genomes = make_genomes("steps", verbosity="comprehensive", citation_policy="sources_only")
    answer = await answer_to(
        make_reading("How do I start the press?", (chunk,), genomes, query_type="how_to")
    )
    assert answer.splitlines() == [
        "1. Unpack the press.",
        "2. Fill the press with ink.",
        "3. Start the press at last.",
    ]


async def test_a_mark_of_the_document_itself_is_no_citation() -> None:
    chunk = make_chunk(1, "The library closes at 18:00 [2].")
    answer = await ExtractiveReader().read(make_reading(chunks=(chunk,)))
    assert answer.answer == r"The library closes at 18:00 \[2\]. [1]"
    assert check_citations(answer, (chunk,)) == (answer, 0)


async def test_code_is_quoted_whole_with_its_mark_outside() -> None:
    code = "```bsl\nPress.Start();\nPress.Run();\n```"
    chunk = make_chunk(1, f"Start the press so:\n\n{code}\n\nThen wait for the press.")
    question = "How do I start the press?"
    prose = make_genomes(verbosity="comprehensive")
    assert await answer_to(make_reading(question, (chunk,), prose)) == (
        f"Start the press so: [1]\n\n{code}\n\n[1]\n\nThen wait for the press. [1]"
    )
    steps = make_genomes("steps", verbosity="comprehensive")
    assert "\n2. ```bsl\n   Press.Start();\n   Press.Run();\n   ```\n\n   [1]\n3. Then" in (
        await answer_to(make_reading(question, (chunk,), steps))
    )


async def test_whole_sentences_are_dropped_until_the_answer_fits() -> None:
    genomes = make_genomes(verbosity="comprehensive", max_tokens=64)
    chunk = make_chunk(
        1,
        "The library closes at 18:00. "
        + "It is a fine library to sit in. " * 3
        + f"The library has {'very ' * 60}many books.",
    )
    answer = await ExtractiveReader().read(make_reading(chunks=(chunk,), genomes=genomes))
    assert len(answer.answer) <= 64 * 4
    assert answer.finish_reason == "stop"
    assert "very" not in answer.answer


async def test_a_best_sentence_that_does_not_fit_is_never_cut() -> None:
    long = f"The library closes on weekdays {'and so on ' * 40}at 18:00."
    genomes = make_genomes(max_tokens=64)
    answer = await ExtractiveReader().read(
        make_reading(chunks=(make_chunk(1, long),), genomes=genomes)
    )
    assert (answer.answer, answer.finish_reason) == ("", "length")


@pytest.mark.parametrize(
    ("language", "refusal"),
    [
        ("en", "The sources do not say."),
        ("es", "Las fuentes no lo dicen."),
        ("ru", "В источниках этого нет."),
    ],
)
async def test_it_refuses_in_the_language_of_the_question(language: str, refusal: str) -> None:
    answer = await ExtractiveReader().read(make_reading(language=language, abstain_below=0.95))
    assert (answer.answer, answer.abstained, answer.sources) == (refusal, True, ())


async def test_without_similarities_the_words_decide() -> None:
    chunks = tuple(chunk.model_copy(update={"similarity": None}) for chunk in LIBRARY)
    known = await ExtractiveReader().read(make_reading(chunks=chunks))
    foreign = await ExtractiveReader().read(make_reading("Who won yesterday?", chunks))
    assert (known.abstained, foreign.abstained) == (False, True)


async def test_no_fragments_are_no_answer() -> None:
    assert (await ExtractiveReader().read(make_reading(chunks=()))).abstained


async def test_a_question_in_another_language_falls_back_on_the_best_fragment() -> None:
    answer = await ExtractiveReader().read(
        make_reading("¿A qué hora cierra la biblioteca?", language="es")
    )
    assert answer.sources[0].number == 1
    assert "Some sources are in another language than the question." in answer.warnings


async def test_cyrillic_cjk_and_arabic_are_quoted_like_english() -> None:
    cases = {
        "ru": ("Когда закрывается читальный зал?", "Буфет открыт.", "Читальный зал закрыт."),
        "zh": ("阅览室几点关门?", "咖啡厅开放。", "阅览室九点关门。"),
        "ar": ("متى تغلق قاعة المطالعة؟", "المقهى مفتوح.", "تغلق قاعة المطالعة في التاسعة."),
    }
    genomes = make_genomes(verbosity="concise", citation_policy="sources_only")
    for language, (question, other, best) in cases.items():
        chunk = make_chunk(1, f"{other} {best}", language=language)
        reading = make_reading(question, (chunk,), genomes, language=language)
        assert await answer_to(reading) == best, language


async def test_braces_and_marks_in_a_fragment_arrive_unchanged() -> None:
    text = "Set {CACHE_VERSION} and {{ x }} to %s, {x | x ∈ ℝ} and </answer> for the cache."
    genomes = make_genomes(verbosity="concise")
    answer = await answer_to(
        make_reading("What do I set for the cache?", (make_chunk(1, text),), genomes)
    )
    assert answer == f"{text} [1]"


async def test_meaning_puts_the_first_sentences_in_order() -> None:
    answer = await ExtractiveReader(HashEmbedder()).read(
        make_reading(genomes=make_genomes(verbosity="concise"))
    )
    assert answer.answer == f"{CLOSING} [1]"


def test_only_the_texts_of_prompts_are_inert() -> None:
    genomes = make_genomes()
    paths = [
        f"{layer}.{path}"
        for layer in ("postprocess", "routing")
        for path in genes_of(genomes.of(layer))
    ]
    moving = [
        path
        for path in paths
        if not any(fnmatch(path, inert) for inert in ExtractiveReader.inert_genes)
    ]
    assert not [path for path in moving if "system_prompt" in path]
    assert "postprocess.chunk_count" in moving
    assert "routing.profiles.how_to.format" in moving
