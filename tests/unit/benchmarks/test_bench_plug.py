"""The plug solves problems of another shape than those of the bench that it was written for."""

import random
from typing import Any

import pytest

from benchmarks.evolution.bench_space import make_bench_space
from benchmarks.evolution.plug import Harness, solve

GENES = [
    {"layer": "oven", "name": "heat", "kind": "float", "range": [0, 1]},
    {"layer": "oven", "name": "minutes", "kind": "logint", "range": [2, 200]},
    {"layer": "dough", "name": "flour", "kind": "cat", "range": ["rye", "wheat", "oat"]},
    {"layer": "dough", "name": "rests", "kind": "bool", "range": []},
]
START = {"oven": {"heat": 0.13, "minutes": 7}, "dough": {"flour": "oat", "rests": False}, "v": 1}


class Bakery(Harness):
    """A harness in memory: scores of 0-1, one kind of search question, no sentences."""

    def __init__(self, budget: int, confirm: int, *, flat: bool = False) -> None:
        super().__init__("")
        self.left = budget
        self.flat = flat
        self.confirm = list(range(100, 100 + confirm))
        self.rng = random.Random(1)

    def get(self, path: str) -> dict[str, Any]:
        if path == "/space":
            return {"genes": GENES}
        ids = {"train": list(range(40)), "confirm": self.confirm}
        task = {"incumbent": START, "ids": ids, "seed": 3, "score_range": [0, 1]}
        return task | {"budget": self.left, "left": self.left}

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "/evaluate"
        self.left -= len(body["query_ids"])
        assert self.left >= 0, "more answers than the budget holds"
        true = 0.6 if self.flat else _quality(body["genome"])
        return {"scores": [_judge(true, self.rng) for _ in body["query_ids"]]}


def _quality(genome: dict[str, Any]) -> float:
    oven, dough = genome["oven"], genome["dough"]
    return 0.4 + 0.2 * oven["heat"] + 0.15 * (dough["flour"] == "rye") + 0.1 * dough["rests"]


def _judge(true: float, rng: random.Random) -> float:
    return min(1.0, max(0.0, rng.gauss(true, 0.08)))


def test_it_finds_and_proves_what_is_better_within_its_budget() -> None:
    answer = solve(Bakery(500, 60))
    assert answer["promote"] is True
    assert _quality(answer["genome"]) > _quality(START) + 0.2
    assert answer["val_gain"] == pytest.approx(
        _quality(answer["genome"]) - _quality(START), abs=0.1
    )


def test_without_fresh_questions_nothing_is_put_up() -> None:
    assert solve(Bakery(300, 0))["promote"] is False


def test_where_all_is_equal_the_incumbent_stays() -> None:
    answer = solve(Bakery(500, 60, flat=True))
    assert answer["promote"] is False


def test_a_configuration_survives_the_way_to_a_point_and_back() -> None:
    start = START | {"prompt": ["Be kind.", "A sentence of nobody's list."]}
    bench = make_bench_space(GENES, ["Be brief.", "Be kind."], start)
    assert bench.config_at(bench.point_of(start)) == start | {
        "prompt": ["A sentence of nobody's list.", "Be kind."]
    }
