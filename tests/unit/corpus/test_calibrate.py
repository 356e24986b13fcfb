"""The threshold between questions that a corpus answers and those that it does not."""

from corpus.calibrate import best_threshold


def test_kinds_that_can_be_parted_are_parted_half_way() -> None:
    found = best_threshold([0.9, 0.91, 0.92, 0.93, 0.94], [0.7, 0.71, 0.72, 0.73, 0.8])
    assert found is not None
    assert (found.threshold, found.balanced_accuracy) == (0.85, 1.0)


def test_kinds_that_overlap_give_the_best_balanced_accuracy() -> None:
    found = best_threshold([0.6, 0.9, 0.9, 0.9, 0.9], [0.5, 0.5, 0.5, 0.5, 0.95])
    assert found is not None
    assert (found.threshold, found.balanced_accuracy) == (0.55, 0.9)


def test_too_few_questions_of_a_kind_give_no_threshold() -> None:
    assert best_threshold([0.9] * 50, [0.1] * 4) is None
    assert best_threshold([0.9] * 4, [0.1] * 50) is None
