"""The threshold between questions that a corpus answers and those that it does not."""

from corpus.calibrate import best_threshold


def test_kinds_that_can_be_parted_are_parted_half_way() -> None:
    found = best_threshold([0.9, 0.91, 0.92, 0.93, 0.94], [0.7, 0.71, 0.72, 0.73, 0.8])
    assert found is not None
    assert (found.threshold, found.refused, found.invented) == (0.85, 0.0, 0.0)


def test_kinds_that_overlap_give_the_least_cost() -> None:
    found = best_threshold([0.6, 0.9, 0.9, 0.9, 0.9], [0.5, 0.5, 0.5, 0.5, 0.95])
    assert found is not None
    assert (found.threshold, found.refused, found.invented) == (0.55, 0.0, 0.2)


def test_a_rare_invention_is_not_worth_many_refusals() -> None:
    found = best_threshold([0.8] * 20 + [0.9] * 20, [0.85] * 5)
    assert found is not None
    assert found.threshold == 0.8
    assert (found.refused, found.invented) == (0.0, 1.0)


def test_too_few_questions_of_a_kind_give_no_threshold() -> None:
    assert best_threshold([0.9] * 50, [0.1] * 4) is None
    assert best_threshold([0.9] * 4, [0.1] * 50) is None
