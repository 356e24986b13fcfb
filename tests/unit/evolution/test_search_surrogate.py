"""The surrogate is plain Bayesian regression, and a question's difficulty is no genome's merit."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evolution.search.features import make_features
from evolution.search.pairing import paired_gains
from evolution.search.space import Point, SearchSpace, choice, number, switch
from evolution.search.surrogate import LEVEL_SD, TYPICAL, Observation, Surrogate

SPACE = SearchSpace(
    (number("count", 1, 5, whole=True), choice("style", ("short", "long")), switch("rule", "p"))
)
FEATURES = make_features(SPACE)
INCUMBENT: Point = (2, 0, 0)
EVERY = [p for p in product(range(5), range(2), range(2)) if p != INCUMBENT]


def truth(point: Point) -> float:
    return 0.4 * (point[0] - 2) + 0.8 * point[1] - 0.5 * point[2]


def hardness(question: int) -> float:
    return -4.0 * (question % 2)


def answers(questions: int, seed: int = 3, noise: float = 0.3) -> list[Observation]:
    rng = np.random.default_rng(seed)
    return [
        Observation(p, q, 7 + hardness(q) + truth(p) + noise * rng.normal())
        for p in [INCUMBENT, *EVERY]
        for q in range(questions)
    ]


def test_the_incumbent_gains_nothing_for_certain() -> None:
    gain, error = Surrogate(FEATURES, INCUMBENT, answers(3)).gain([INCUMBENT])
    assert (gain[0], error[0]) == (0.0, 0.0)


def test_gain_and_error_are_the_closed_form_of_the_same_gaussian_model() -> None:
    seen = answers(2)[::3]
    model = Surrogate(FEATURES, INCUMBENT, seen)
    scales, paired = model.scales, model.is_paired
    scale = np.full(model.weights.size, scales.pair)
    scale[: FEATURES.main_size] = [getattr(scales, kind) for kind in FEATURES.kind_of_main]

    def rows(points: list[Point]) -> np.ndarray:
        known = FEATURES.rows(points, paired=paired) - FEATURES.rows([INCUMBENT], paired=paired)
        return known * scale

    x, new = rows([o.point for o in seen]), rows(EVERY)
    same = np.array([[a.question == b.question for a in seen] for b in seen])
    cover = x @ x.T + scales.question**2 * same + LEVEL_SD**2 + scales.noise**2 * np.eye(len(seen))
    pull = np.linalg.solve(cover, (new @ x.T).T).T
    mean = pull @ np.array([o.score for o in seen])
    variance = np.diag(new @ new.T - pull @ (x @ new.T))
    gain, error = model.gain(EVERY)
    np.testing.assert_allclose(gain, mean, atol=1e-6)
    np.testing.assert_allclose(error, np.sqrt(variance), atol=1e-6)


def test_a_few_answers_that_tell_nothing_do_not_make_it_sure_that_there_is_nothing() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        noise = [replace(o, score=5 + 2 * rng.normal()) for o in answers(3)]
        _, error = Surrogate(FEATURES, INCUMBENT, noise).gain(EVERY)
        assert error.max() > TYPICAL / 2


def test_questions_may_differ_by_more_than_the_genes_do() -> None:
    model = Surrogate(FEATURES, INCUMBENT, answers(12))
    assert model.scales.question > 1.8  # they are 4 points apart
    np.testing.assert_allclose(model.gain(EVERY)[0], [truth(p) for p in EVERY], atol=0.35)


def test_a_judge_that_fails_on_the_hard_half_raises_no_gain() -> None:
    lucky = [p for p in EVERY if p[1]]
    whole = answers(12)
    kept = [o for o in whole if not (o.point in lucky and hardness(o.question))]
    plain = np.mean([o.score for o in kept if o.point in lucky])
    assert plain > np.mean([o.score for o in whole if o.point in lucky]) + 1.5
    full, _ = Surrogate(FEATURES, INCUMBENT, whole).gain(EVERY)
    halved, _ = Surrogate(FEATURES, INCUMBENT, kept).gain(EVERY)
    np.testing.assert_allclose(halved, full, atol=0.25)
    np.testing.assert_allclose(halved, [truth(p) for p in EVERY], atol=0.35)


def test_a_worth_is_the_difference_of_two_gains() -> None:
    model = Surrogate(FEATURES, INCUMBENT, answers(4))
    ruled: Point = (2, 0, 1)
    mean, error = model.combine(model.relative([ruled], paired=model.is_paired))
    gain, spread = model.gain([ruled])
    assert (mean[0], error[0]) == (gain[0], spread[0])
    assert abs(gain[0] - truth(ruled)) < 3 * error[0]


def test_draws_of_the_weights_have_the_spread_that_is_told() -> None:
    model = Surrogate(FEATURES, INCUMBENT, answers(1))
    rng = np.random.default_rng(1)
    rows = model.relative(EVERY, paired=model.is_paired)
    draws = np.array([rows @ model.sample(rng) for _ in range(4_000)])
    gain, error = model.gain(EVERY)
    np.testing.assert_allclose(draws.mean(axis=0), gain, atol=0.05)
    np.testing.assert_allclose(draws.std(axis=0), error, rtol=0.08, atol=0.01)


def test_repeated_scores_of_a_question_are_one_pair() -> None:
    other: Point = (3, 0, 0)
    seen = [Observation(INCUMBENT, q, 5.0) for q in range(3)]
    seen += [Observation(other, 0, 6.0), Observation(other, 0, 8.0)]
    seen += [Observation(other, 1, 5.0), Observation(other, 9, 10.0)]
    gain = paired_gains(seen, INCUMBENT)[other]
    assert (gain.mean, gain.pairs) == (1.0, 2)
    assert gain.error == pytest.approx(1.0)
