"""Genoma's search and proof, plugged into the peers' bench through its HTTP harness.

    run.py --methods external --url "cmd:PYTHON -m benchmarks.evolution.plug"

Reads the address of the harness from HARNESS_URL. Its budget is that of the search and of a proof
with all confirm questions; the proof is held to the error rate of a lab's first one.
"""

import json
import os
import urllib.request
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.evolution.bench_space import BenchSpace, make_bench_space
from benchmarks.evolution.one_night import Night
from evolution.proof.wealth import next_alpha
from evolution.search.space import Point

PROOF_SHARE = 3
"""At most two thirds of all answers are kept for the proof: two a question."""


@dataclass
class Harness:
    """The other end of the line."""

    url: str

    def get(self, path: str) -> dict[str, Any]:
        return self._call(urllib.request.Request(self.url + path))

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        return self._call(urllib.request.Request(self.url + path, data, headers))

    def _call(self, request: urllib.request.Request) -> dict[str, Any]:
        with urllib.request.urlopen(request) as reply:
            answer: dict[str, Any] = json.load(reply)
        return answer


@dataclass(frozen=True)
class HarnessJudge:
    """Has answers judged by the harness, and brings its scores to 0-10."""

    harness: Harness
    bench: BenchSpace
    low: float
    high: float

    def __call__(self, point: Point, questions: Sequence[Hashable]) -> list[float | None]:
        body = {"genome": self.bench.config_at(point), "query_ids": list(questions)}
        scores = self.harness.post("/evaluate", body)["scores"]
        return [None if s is None else 10 * (s - self.low) / (self.high - self.low) for s in scores]


def solve(harness: Harness) -> dict[str, Any]:
    """Search, prove, and give what to submit: {genome, promote, val_gain}."""
    task, offer = harness.get("/task"), harness.get("/space")
    bench = make_bench_space(offer["genes"], offer.get("sentences") or [], task["incumbent"])
    low, high = task.get("score_range") or (0, 10)
    judge, start = HarnessJudge(harness, bench, low, high), bench.point_of(task["incumbent"])
    ids = task["ids"]
    known = [*(ids.get("train") or []), *(ids.get("val") or [])]
    left = task.get("left", task["budget"])
    fresh = (ids.get("confirm") or [])[: left // PROOF_SHARE]
    night = Night(bench.space, start, judge, int(task.get("seed", 0)))
    nominee = night.search(known, left - 2 * len(fresh))
    if nominee.point == start or not nominee.is_promising:
        return {"genome": task["incumbent"], "promote": False, "val_gain": 0.0}
    promote = bool(fresh) and night.prove(nominee.point, fresh, next_alpha([])).is_proven
    gain = nominee.gain * (high - low) / 10
    return {"genome": bench.config_at(nominee.point), "promote": promote, "val_gain": gain}


def main() -> None:
    harness = Harness(os.environ["HARNESS_URL"].rstrip("/"))
    harness.post("/submit", solve(harness))


if __name__ == "__main__":
    main()
