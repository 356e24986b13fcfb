"""Points of a search space, what the surrogate sees of them, and how answers are divided."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evolution.search.ascent import climb
from evolution.search.effort import plan_effort, plan_streams
from evolution.search.features import make_features
from evolution.search.space import Point, SearchSpace, choice, number, switch

SPACE = SearchSpace(
    (
        number("count", 1, 20, whole=True),
        number("share", 0.0, 1.0, whole=False),
        number("tokens", 64, 4096, whole=True),
        choice("style", ("short", "long", "list")),
        switch("rule", "prompt"),
        switch("example", "prompt"),
    )
)
FEATURES = make_features(SPACE)

points = st.tuples(*(st.integers(0, len(gene.levels) - 1) for gene in SPACE.genes))


@given(points)
def test_a_point_and_its_values_are_the_same_thing(point: Point) -> None:
    assert SPACE.encode(SPACE.decode(point)) == point


@given(points)
def test_neighbours_differ_in_one_gene_and_are_all_there(point: Point) -> None:
    near = SPACE.neighbours(point)
    assert len(near) == len(set(near)) == sum(len(gene.levels) - 1 for gene in SPACE.genes)
    assert all(sum(a != b for a, b in zip(point, other, strict=True)) == 1 for other in near)


def test_a_wide_positive_range_is_spread_by_ratios() -> None:
    tokens = SPACE.genes[2]
    middle = tokens.levels[len(tokens.levels) // 2]
    assert abs(middle - (64 * 4096) ** 0.5) < 2
    assert SPACE.genes[0].levels == tuple(range(1, 21))


@settings(max_examples=40)
@given(points, st.integers(0, 10**6), st.booleans())
def test_climbing_ends_where_no_change_of_one_gene_is_better(
    start: Point, seed: int, with_pairs: bool
) -> None:
    size = FEATURES.size if with_pairs else FEATURES.main_size
    weights = np.random.default_rng(seed).normal(size=size)

    def worth(*at: Point) -> np.ndarray:
        return FEATURES.rows(at, paired=with_pairs) @ weights

    top = climb(FEATURES, weights, start)
    assert worth(top)[0] >= worth(start)[0] - 1e-6
    assert worth(*SPACE.neighbours(top)).max() <= worth(top)[0] + 1e-6


@given(st.integers(1, 20_000), st.integers(1, 200), st.integers(1, 1_000), st.integers(1, 100))
def test_no_division_spends_more_than_the_answers(
    answers: int, questions: int, most: int, concurrency: int
) -> None:
    effort = plan_effort(answers, questions, most, concurrency)
    opened = effort.base + effort.designs * effort.per_trial
    assert opened + effort.check <= answers
    assert effort.designs <= most
    assert effort.base <= questions and 1 <= effort.per_trial <= questions
    assert effort.round >= effort.per_trial


@given(st.integers(16, 20_000), st.integers(1, 200), st.integers(1, 1_000))
def test_streams_are_whole_and_stay_within_the_answers(
    answers: int, questions: int, most: int
) -> None:
    effort = plan_streams(answers, questions, most, per_question=2)
    assert 2 * effort.base + effort.designs * effort.per_trial <= answers
    assert effort.base == effort.per_trial <= questions
    assert effort.designs <= most
