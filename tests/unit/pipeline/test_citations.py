"""Citation check: nothing stays that was not given, and support is measured."""

import pytest

from models.contract import Answer, Citation
from pipeline.citations import check_citations, cite
from tests.unit.pipeline.readings import LIBRARY, make_chunk

CLOSING = "The library closes at 18:00 on weekdays"
ONE, TWO = (cite(number, chunk) for number, chunk in enumerate(LIBRARY, start=1))
GHOST = Citation(number=7, source_id="x", title="x", url_or_internal_ref="x", chunk_id="x")


def test_what_was_given_stays_as_it_is() -> None:
    answer = Answer(answer=f"{CLOSING} [1].", sources=(ONE,))
    checked, removed = check_citations(answer, LIBRARY)
    assert removed == 0
    assert checked == answer.model_copy(update={"supportedness": 1.0})


def test_an_invented_mark_goes_from_the_text_and_is_named() -> None:
    answer = Answer(answer=f"{CLOSING} [7] [1].", sources=(ONE, GHOST))
    checked, removed = check_citations(answer, LIBRARY)
    assert (checked.answer, removed) == (f"{CLOSING} [1].", 1)
    assert checked.sources == (ONE,)
    assert checked.warnings == ("Removed citations of fragments that were not given: [7].",)


def test_a_source_whose_fragment_is_another_one_is_removed() -> None:
    wrong = ONE.model_copy(update={"chunk_id": "elsewhere"})
    checked, removed = check_citations(Answer(answer=f"{CLOSING} [1].", sources=(wrong,)), LIBRARY)
    assert (checked.answer, checked.sources, removed) == (f"{CLOSING}.", (), 1)


def test_numbers_stay_those_of_the_fragments() -> None:
    answer = Answer(answer="A late book costs 0.50 a day [2].", sources=(GHOST, TWO))
    assert check_citations(answer, LIBRARY)[0].sources == (TWO,)


def test_a_marked_fragment_becomes_a_source_though_it_was_not_listed() -> None:
    assert check_citations(Answer(answer=f"{CLOSING} [1]."), LIBRARY)[0].sources == (ONE,)


def test_an_index_in_code_is_neither_checked_nor_removed() -> None:
    answer = Answer(answer="Read `a[9]` first.")
    checked, removed = check_citations(answer, LIBRARY)
    assert (checked.answer, removed) == ("Read `a[9]` first.", 0)


@pytest.mark.parametrize(
    ("text", "supportedness"),
    [
        (f"{CLOSING} [1]. A late book costs 0.50 a day [2].", 1.0),
        (f"{CLOSING} [1]. Cats are fond of purple bicycles [2].", 0.5),
        (f"{CLOSING} [2].", 0.0),
        (f"{CLOSING}.", 1.0),
        ("The library closes at 23:00 on weekdays [1].", 0.0),
        ("", 0.0),
    ],
)
def test_supportedness_is_the_share_of_supported_sentences(text: str, supportedness: float) -> None:
    assert check_citations(Answer(answer=text), LIBRARY)[0].supportedness == supportedness


def test_support_is_measured_in_any_script() -> None:
    chunk = make_chunk(1, "咖啡厅开放。阅览室九点关门。", language="zh")
    assert check_citations(Answer(answer="阅览室九点关门[1]。"), (chunk,))[0].supportedness == 1.0


def test_without_fragments_nothing_is_supported() -> None:
    checked, removed = check_citations(Answer(answer=f"{CLOSING} [1]."), ())
    assert (checked.answer, checked.supportedness, removed) == (f"{CLOSING}.", 0.0, 1)
