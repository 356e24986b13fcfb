"""Parents are drawn by the questions they win, and noise makes no winner."""

import random
from collections import Counter

import numpy as np
import pytest

from evolution.breeding.frontier import (
    USUAL_NOISE,
    best_sets,
    draw_parent,
    drop_dominated,
    estimate_noise,
)

SPECIALISTS = {
    "facts": {"q1": 9.0, "q2": 9.0, "q3": 9.0, "q4": 2.0},
    "steps": {"q1": 2.0, "q2": 2.0, "q3": 2.0, "q4": 9.0},
    "average": {"q1": 5.0, "q2": 5.0, "q3": 5.0, "q4": 5.0},
}


def test_each_question_has_its_best_ones() -> None:
    sets = best_sets(SPECIALISTS, noise=0.5)
    assert sets == [frozenset({"facts"})] * 3 + [frozenset({"steps"})]


def test_within_one_standard_error_of_the_best_is_a_tie() -> None:
    scores = {"a": {"q": 7.0}, "b": {"q": 6.1}, "c": {"q": 5.9}}
    assert best_sets(scores, noise=1.0) == [frozenset({"a", "b"})]


def test_a_question_that_one_alone_answered_says_nothing() -> None:
    assert best_sets({"a": {"q1": 9.0}, "b": {"q2": 1.0}}, noise=1.0) == []


def test_parents_are_drawn_in_proportion_to_the_questions_they_win() -> None:
    rng = random.Random(5)
    drawn = Counter(draw_parent(SPECIALISTS, rng, noise=0.5) for _ in range(4_000))
    assert drawn["average"] == 0
    assert drawn["facts"] / drawn["steps"] == pytest.approx(3, rel=0.1)


def test_who_wins_only_what_others_win_too_is_dominated() -> None:
    sets = [frozenset({"a", "c"}), frozenset({"b", "c"}), frozenset({"a"}), frozenset({"b"})]
    assert drop_dominated(sets, ["c", "a", "b"]) == {"a": 2, "b": 2}


def test_of_two_equals_one_stays() -> None:
    sets = [frozenset({"a", "b"})] * 3
    assert drop_dominated(sets, ["a", "b"]) == {"b": 3}


def test_without_a_common_question_all_are_alike() -> None:
    rng = random.Random(1)
    scores = {"a": {"q1": 9.0}, "b": {"q2": 1.0}, "silent": {}}
    assert {draw_parent(scores, rng) for _ in range(100)} == {"a", "b"}


def test_without_any_score_there_is_no_parent() -> None:
    with pytest.raises(ValueError, match="no genome has a score"):
        draw_parent({"a": {}}, random.Random(1))


def test_the_draw_does_not_hang_on_the_order_of_genomes() -> None:
    turned = dict(reversed(SPECIALISTS.items()))
    draws = [
        [draw_parent(scores, rng, noise=0.5) for _ in range(50)]
        for scores, rng in ((SPECIALISTS, random.Random(7)), (turned, random.Random(7)))
    ]
    assert draws[0] == draws[1]


@pytest.mark.parametrize("noise", [0.3, 1.5])
def test_the_noise_is_told_from_scores_with_gaps(noise: float) -> None:
    rng = np.random.default_rng(2)
    scores = {
        g: {q: 5 + g / 4 + q / 8 + rng.normal(0, noise) for q in range(40) if rng.random() < 0.6}
        for g in range(12)
    }
    assert estimate_noise(scores) == pytest.approx(noise, rel=0.12)


def test_of_a_few_scores_no_noise_can_be_told() -> None:
    assert estimate_noise(SPECIALISTS) == USUAL_NOISE
