"""Ten nights in a row on the peers' bench: from the live configuration, with what was learned.

    python -m benchmarks.evolution.nightly FOLDER [--start null] [--seeds 20]

Every night's proof draws questions that no night before it has spent, for the peers too. Genoma
keeps all judged answers from night to night, as the product does, and is held to the error rate
that the book of its former proofs leaves it. FOLDER is that of the bench; its peers need optuna
and gepa.
"""

import argparse
import copy
import importlib
import random
import sys
from collections.abc import Hashable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.evolution.bench_space import BenchSpace, Config, make_bench_space
from benchmarks.evolution.one_night import Judge, Night
from evolution.breeding.memory import MOST_REMEMBERED
from evolution.proof.wealth import Entry, next_alpha
from evolution.search.space import Point
from evolution.search.surrogate import Observation

OURS = ("genoma", "book of proofs")

CONTESTANTS = [
    ("naive_cycle", "own best"),
    ("optuna_tpe", "own best"),
    ("gepa", "own best"),
    ("gepa_all", "own best"),
    ("gepa_all", "OBF .05"),
    ("optuna_tpe", "OBF .05"),
    ("surrogate", "own best"),
    ("surrogate", "OBF .05"),
    OURS,
]


@dataclass(frozen=True)
class Setting:
    """What all contestants of a table share."""

    folder: str
    start: str = "cold"
    nights: int = 10
    budget: int = 800
    """Judged answers a night, those of the proof included."""
    pairs: int = 120
    noise: float = 1.0
    interact: float = 0.0


@dataclass
class Run:
    """What one contestant did from one seed."""

    quality: list[float]
    """True, at the start and after each night."""
    false: list[float] = field(default_factory=list)
    """True loss of each promotion that was not better."""
    promoted: int = 0
    used: int = 0


class _World:
    """One problem of the bench, its live configuration, and who changes it."""

    def __init__(self, setting: Setting, seed: int) -> None:
        if setting.folder not in sys.path:
            sys.path.insert(0, setting.folder)
        self.bench: Any = importlib.import_module("problem")
        self.setting, self.seed = setting, seed
        fresh = setting.nights * setting.pairs
        self.problem = self.bench.Problem(
            seed, noise=setting.noise, n_confirm=fresh, interact=setting.interact
        )
        best = self.problem.climb(self.bench.DEFAULT, random.Random(1000 + seed))
        self.live: Config = self.bench.validate(self.problem.scenario(setting.start, *best))
        self.run = Run([self.problem.value(self.live)])

    def judge_for(self, night: int, answers: int) -> Any:
        return self.bench.Evaluator(self.problem, answers, seed=self.seed * 1000 + night)

    def fresh_questions(self, night: int) -> list[int]:
        pairs = self.setting.pairs
        return [int(i) for i in self.problem.ids["confirm"][night * pairs : (night + 1) * pairs]]

    def go_live(self, config: Config) -> None:
        self.live, value = config, self.problem.value(config)
        self.run.promoted += 1
        if value <= self.run.quality[-1]:
            self.run.false.append(value - self.run.quality[-1])

    def end_night(self) -> None:
        self.run.quality.append(self.problem.value(self.live))


def play(setting: Setting, seed: int, who: str, rule: str) -> Run:
    """Let a contestant have all nights of one seed."""
    world = _World(setting, seed)
    return _play_ours(world) if (who, rule) == OURS else _play_peer(world, who, rule)


def _play_ours(world: _World) -> Run:
    genes = [
        {"layer": layer, "name": name, "kind": kind, "range": span}
        for layer, name, kind, span in world.bench.SPACE
    ]
    bench = make_bench_space(genes, world.bench.SENT_TXT, world.live)
    live, memory, book = bench.point_of(world.live), list[Observation](), list[Entry]()
    known = [int(i) for name in ("train", "val") for i in world.problem.ids[name]]
    for number in range(world.setting.nights):
        evaluator = world.judge_for(number, world.setting.budget)
        night = Night(
            bench.space,
            live,
            _judge_by(evaluator, bench),
            world.seed * 1000 + number,
            memory[-MOST_REMEMBERED:],
        )
        kept = len(night.observations)
        nominee = night.search(known, world.setting.budget - 2 * world.setting.pairs)
        if nominee.is_promising and nominee.point != live:
            alpha = next_alpha(book)
            proof = night.prove(nominee.point, world.fresh_questions(number), alpha)
            book.append(Entry(alpha, proof.is_proven, number))
            if proof.is_proven:
                live = nominee.point
                world.go_live(bench.config_at(live))
        memory += night.observations[kept:]
        world.run.used += evaluator.used
        world.end_night()
    return world.run


def _judge_by(evaluator: Any, bench: BenchSpace) -> Judge:
    def judge(point: Point, questions: Sequence[Hashable]) -> list[float | None]:
        scores: list[float | None] = evaluator(bench.config_at(point), list(questions))[0].tolist()
        return scores

    return judge


def _play_peer(world: _World, who: str, rule: str) -> Run:
    search = importlib.import_module("optimizers").METHODS[who]
    setting, rng = world.setting, np.random.default_rng([world.seed, 31])
    for night in range(setting.nights):
        free = setting.budget - (0 if rule == "own best" else 2 * setting.pairs)
        evaluator = world.judge_for(night, free)
        seed = world.seed * 1000 + night
        found = search(world.problem, evaluator, copy.deepcopy(world.live), seed)["genome"]
        world.run.used += evaluator.used
        try:
            config = world.bench.validate(found)
        except world.bench.InvalidGenome:
            config = world.live
        if world.bench.genome_key(config) != world.bench.genome_key(world.live) and (
            rule == "own best" or _confirm(world, config, night, rng)
        ):
            world.go_live(config)
        world.end_night()
    return world.run


def _confirm(world: _World, config: Config, night: int, rng: np.random.Generator) -> bool:
    """Hold a peer's own best to the bench's O'Brien-Fleming rule on unspent questions."""
    ids, pairs = world.fresh_questions(night), world.setting.pairs
    theirs, ours = (world.problem.judge(g, ids, rng).mean(1) for g in (config, world.live))
    looks = [pairs * k // 4 for k in (1, 2, 3, 4)]
    decide = importlib.import_module("stats").decide
    shown, used = decide(theirs - ours, "obf", 0.05, looks, rng)
    world.run.used += 2 * used
    return bool(shown)


def make_rows(
    setting: Setting, seeds: Sequence[int], contestants: Sequence[tuple[str, str]], jobs: int
) -> list[str]:
    """Run all contestants over all seeds, side by side; give a markdown table."""
    shown = sorted({n for n in (1, 3, 5) if n < setting.nights} | {setting.nights})
    heads = "".join(f" night {n} |" for n in shown)
    title = f"| search / promotion |{heads} promoted | false | runs with a false one | worst drop"
    rows = [title + " | answers a night |", "| --- |" + " --- |" * (len(shown) + 5)]
    with ProcessPoolExecutor(jobs) as pool:
        futures = [[pool.submit(play, setting, s, *who) for s in seeds] for who in contestants]
        for who, of_who in zip(contestants, futures, strict=True):
            rows.append(_row(who, [f.result() for f in of_who], shown, setting.nights))
    return rows


def _row(who: tuple[str, str], runs: Sequence[Run], shown: Sequence[int], nights: int) -> str:
    quality = np.array([run.quality for run in runs])
    cells = [f"{quality[:, n].mean():.2f}" for n in shown]
    error = quality[:, -1].std() / np.sqrt(len(runs))
    cells[-1] += f" ± {error:.2f}"
    false = [loss for run in runs for loss in run.false]
    promoted = sum(run.promoted for run in runs)
    cells += [str(promoted), str(len(false)), f"{sum(bool(r.false) for r in runs)} of {len(runs)}"]
    cells += [f"{min(false, default=0.0):+.2f}"]
    cells += [f"{sum(run.used for run in runs) / len(runs) / nights:.0f}"]
    return f"| {who[0]} / {who[1]} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--start", default="cold", choices=["cold", "warm", "null"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="+", help="names of contestants")
    for name, kind in (("nights", int), ("budget", int), ("pairs", int)):
        parser.add_argument(f"--{name}", type=kind, default=getattr(Setting, name))
    parser.add_argument("--noise", type=float, default=1.0)
    parser.add_argument("--interact", type=float, default=0.0)
    args = vars(parser.parse_args())
    first, count = args.pop("first"), args.pop("seeds")
    jobs, only = args.pop("jobs"), args.pop("only")
    who = [c for c in CONTESTANTS if not only or c[0] in only]
    print("\n".join(make_rows(Setting(**args), range(first, first + count), who, jobs)))


if __name__ == "__main__":
    main()
