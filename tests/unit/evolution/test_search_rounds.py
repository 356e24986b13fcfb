"""The search finds what was planted, asks nothing twice, and is the same each time."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import pytest

from evolution.search.effort import Effort, plan_effort
from evolution.search.searcher import Search, Trial
from evolution.search.space import Point, SearchSpace, choice, number, switch
from evolution.search.surrogate import Observation

Truth = Callable[[Point], float]

SPACE = SearchSpace(
    (
        number("count", 1, 20, whole=True),
        number("share", 0.0, 1.0, whole=False),
        choice("style", ("short", "long", "list")),
        choice("policy", (False, True)),
        *(switch(f"rule{n}", "prompt") for n in range(6)),
    )
)
INCUMBENT: Point = (15, 10, 0, 0, *(0,) * 6)
QUESTIONS = range(48)


def additive(point: Point) -> float:
    """What is worth most: few fragments, lists, and the first rule; the last one harms."""
    count = -0.1 * abs(point[0] - 5)
    return count + 0.8 * (point[2] == 2) + 0.9 * point[4] - 1.0 * point[9]


def either(point: Point) -> float:
    """One of two rules helps, both together do not."""
    return 2.0 * (point[4] ^ point[5])


def odd(point: Point) -> float:
    """An odd number of three rules helps: no sum of pairs can say so."""
    return 2.0 * (sum(point[4:7]) % 2)


def nothing(point: Point) -> float:
    return 0.0


class Answers:
    """Judged answers of a planted truth, the same for the same trial."""

    def __init__(self, truth: Truth, noise: float = 0.8) -> None:
        self.truth, self.noise = truth, noise

    def __call__(self, point: Point, question: int) -> Observation:
        rng = np.random.default_rng([*point, question])
        score = 6.0 + np.sin(question) + self.truth(point) + self.noise * rng.normal()
        return Observation(point, question, float(score))


def run(
    truth: Truth, answers: int, seed: int = 5, barred: Collection[Point] = ()
) -> tuple[Search, list[Trial]]:
    """Search with `answers` judged answers; give what is known at the end, and all trials."""
    effort = plan_effort(answers, len(QUESTIONS), 500, 8)
    answer = Answers(truth)
    seen: list[Observation] = []
    trials: list[Trial] = []
    asked, number = _search(seen, seed, barred).open(effort), 0
    while asked:
        seen += [answer(t.point, q) for t in asked for q in t.questions]  # type: ignore[arg-type]
        trials += asked
        number += 1
        search = _search(seen, seed, barred)
        left = answers - len(seen) - search.reserve(effort)
        asked = search.ask(number, _round(effort, left))
    left = replace(effort, check=min(effort.check, answers - len(seen)))
    last = _search(seen, seed, barred).check(left)
    seen += [answer(t.point, q) for t in last for q in t.questions]  # type: ignore[arg-type]
    return _search(seen, seed, barred), [*trials, *last]


def _search(seen: list[Observation], seed: int, barred: Collection[Point]) -> Search:
    return Search(SPACE, INCUMBENT, list(QUESTIONS), seen, seed, barred)


def _round(effort: Effort, left: int) -> Effort:
    size = min(effort.round, left)
    return replace(effort, round=size if size >= effort.per_trial else 0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_planted_is_found_within_its_answers(seed: int) -> None:
    search, trials = run(additive, 360, seed)
    best = search.decide()
    assert best.is_promising
    assert additive(best.point) - additive(INCUMBENT) > 0.75 * 2.7
    assert sum(len(t.questions) for t in trials) <= 360


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rules_that_spoil_each_other_are_not_both_taken(seed: int) -> None:
    search, _ = run(either, 480, seed)
    assert either(search.decide().point) == 2.0


def anywhere(truth: Truth, count: int = 150) -> list[Observation]:
    """Answers of random points, and the incumbent's."""
    rng = np.random.default_rng(8)
    sizes = [len(gene.levels) for gene in SPACE.genes]
    drawn = [tuple(int(rng.integers(size)) for size in sizes) for _ in range(count)]
    answer = Answers(truth)
    own = [answer(INCUMBENT, q) for q in range(20)]
    return own + [answer(p, q) for i, p in enumerate(drawn) for q in (i % 48, 7 * i % 47, 5)]


def test_an_interaction_of_two_rules_brings_the_pairs_in() -> None:
    search = _search(anywhere(either), 5, ())
    assert search.model.is_paired
    one, both = ((*INCUMBENT[:4], 1, on, *INCUMBENT[6:]) for on in (0, 1))
    gain, _ = search.model.gain([one, both])
    assert gain[0] - gain[1] > 0.5
    assert not _search(anywhere(additive), 5, ()).model.is_paired


def test_what_no_pairs_explain_is_decided_by_a_race() -> None:
    effort = plan_effort(600, len(QUESTIONS), 500, 8)
    seen = anywhere(odd)
    search = _search(seen, 5, ())
    assert search.races
    finals = search.check(effort)
    assert len(finals) == effort.check // effort.base
    assert sum(len(t.questions) for t in finals) <= effort.check
    answer = Answers(odd)
    told = [*seen, *(answer(t.point, q) for t in finals for q in t.questions)]  # type: ignore[arg-type]
    best = _search(told, 5, ()).decide()
    assert (odd(best.point), best.is_promising) == (2.0, True)


def test_what_the_model_explains_is_checked_on_one_finalist_and_the_incumbents_questions() -> None:
    effort = plan_effort(600, len(QUESTIONS), 500, 8)
    seen = anywhere(additive)
    search = _search(seen, 5, ())
    assert not search.races
    assert (search.reserve(effort), effort.check) == (effort.base, 3 * effort.base)
    [last] = search.check(effort)
    assert last.point == search.nominate().point
    assert set(last.questions) == set(range(effort.base)) - search.answered[last.point]


def test_a_check_never_costs_more_than_was_kept_for_it() -> None:
    effort = plan_effort(600, len(QUESTIONS), 500, 8)
    for truth in (additive, odd):
        search = _search(anywhere(truth), 5, ())
        for kept in (0, 7, effort.base, 2 * effort.base + 7):
            trials = search.check(replace(effort, check=kept))
            assert sum(len(t.questions) for t in trials) <= kept
            assert len(trials) <= max(1, kept // effort.base)


def test_where_nothing_matters_little_is_promised() -> None:
    promised = [run(nothing, 200, seed)[0].decide() for seed in range(4)]
    assert all(each.gain < 0.6 for each in promised)


def test_no_point_is_put_to_a_question_twice() -> None:
    _, trials = run(additive, 300)
    asked = Counter((t.point, q) for t in trials for q in t.questions)
    assert max(asked.values()) == 1


def test_what_a_person_turned_down_is_neither_tried_nor_nominated() -> None:
    search, _ = run(additive, 240)
    barred = [search.decide().point, search.summit]
    again, trials = run(additive, 240, barred=barred)
    assert not {t.point for t in trials} & set(barred)
    assert again.decide().point not in barred


def test_the_same_seed_and_answers_give_the_same_rounds() -> None:
    effort = plan_effort(360, len(QUESTIONS), 500, 8)
    seen = [Answers(additive)(p, q) for p in [INCUMBENT, (3, 10, 0, 0, *(0,) * 6)] for q in (1, 2)]
    rounds = [_search(seen, 5, ()).ask(number, effort) for number in (1, 1, 2)]
    assert rounds[0] == rounds[1] != rounds[2]
    assert _search(seen, 6, ()).ask(1, effort) != rounds[0]
    assert _search([], 5, ()).open(effort) == _search([], 5, ()).open(effort)


def test_a_search_with_a_memory_draws_no_random_designs() -> None:
    effort = plan_effort(360, len(QUESTIONS), 500, 8)
    assert len(_search([], 5, ()).open(effort)) > 1
    [first] = _search([Answers(additive)(INCUMBENT, 0)], 5, ()).open(effort)
    assert first.point == INCUMBENT
    assert len(first.questions) == effort.base and 0 not in first.questions
    assert [t.point for t in _search([], 5, ()).open(replace(effort, designs=0))] == [INCUMBENT]


def test_what_others_propose_is_tried_first() -> None:
    effort = plan_effort(360, len(QUESTIONS), 500, 8)
    seen = [Answers(additive)(INCUMBENT, q) for q in range(20)]
    other = (1, 1, 1, 1, *(1,) * 6)
    trials = _search(seen, 5, ()).ask(1, effort, [other])
    assert trials[0].point == other
    assert sum(len(t.questions) for t in trials) <= effort.round
    small = replace(effort, round=effort.per_trial)
    assert [t.point for t in _search(seen, 5, ()).ask(1, small, [other, INCUMBENT])] == [other]


def test_all_questions_come_up_about_equally_often() -> None:
    _, trials = run(additive, 480)
    designs = Counter(q for t in trials if t.point != INCUMBENT for q in t.questions)
    assert set(designs) == set(QUESTIONS)
    assert max(designs.values()) <= 3 * min(designs.values())


def test_nobody_is_nominated_who_is_expected_to_be_too_dear() -> None:
    space = SearchSpace((switch("good"), switch("dear and good")))
    points = [(0, 0), (0, 1), (1, 0), (1, 1)]
    observations = [
        Observation(p, q, 5.0 + 2.0 * p[0] + 3.0 * p[1]) for p in points for q in range(12)
    ]
    costs = [Observation(p, q, 1.0 + 0.5 * p[1]) for p in points for q in range(12)]
    free = Search(space, (0, 0), range(12), observations, seed=1)
    assert free.nominate().point == (1, 1)
    bound = Search(space, (0, 0), range(12), observations, 1, costs=costs, dearest=1.05)
    assert bound.nominate().point == (1, 0)
    assert abs(bound.cost_ratios([(0, 1)])[0] - 1.5) < 0.05
