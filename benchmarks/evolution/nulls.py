"""How often luck is put up as better: in one proof, and over many nights.

    python -m benchmarks.evolution.nulls [--runs 2000]

The proofs go through `evolution.proof` as it is; the nights through its `next_alpha`, with two
other rules beside it.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.evolution.nights import Rule, run_nights
from benchmarks.evolution.planted import Truth, find_shown
from evolution.proof.wealth import RATE, Entry, next_alpha
from evolution.shapes import Claim

FIRST = next_alpha([])

Row = tuple[str, Truth, Claim, float, int]

NULLS: list[Row] = [
    ("better: gain 0, SD 1.26", Truth(), "better", 0.05, 120),
    ("better: gain 0, SD 1.26", Truth(), "better", FIRST, 120),
    ("better: gain 0, SD 2, 3 % outliers", Truth(sd=2.0, outliers=0.03), "better", 0.05, 150),
    ("better: 2 % fail by 5, SD 0.3", Truth(sd=0.3, rare_failure=0.02), "better", FIRST, 120),
    ("better: gain +1, cost +10 %", Truth(gain=1.0, cost_growth=0.10), "better", 0.05, 120),
    ("better: gain 0 and cost +10 %", Truth(cost_growth=0.10), "better", 0.05, 120),
    ("cheaper: loss 0.3, cost -40 %", Truth(gain=-0.3, cost_growth=-0.4), "cheaper", 0.05, 120),
    ("cheaper: loss 0, cost -20 %", Truth(cost_growth=-0.2), "cheaper", 0.05, 120),
]

POWER: list[Row] = [
    ("better: +0.30, SD 1.26", Truth(gain=0.3), "better", 0.05, 120),
    ("better: +0.30, SD 1.26", Truth(gain=0.3), "better", FIRST, 120),
    ("better: +0.50, SD 2", Truth(gain=0.5, sd=2.0), "better", 0.05, 150),
    ("better: +0.50, SD 2", Truth(gain=0.5, sd=2.0), "better", FIRST, 150),
    ("better: +0.50, SD 2", Truth(gain=0.5, sd=2.0), "better", 0.0025, 150),
    ("better: +0.50, SD 1.26, same cost", Truth(gain=0.5, cost_growth=0.0), "better", FIRST, 120),
    ("cheaper: loss 0, cost -35 %", Truth(cost_growth=-0.35), "cheaper", FIRST, 120),
]

LATENCIES: list[tuple[str, float, float]] = [
    (f"latency {growth:+.0%}, spread {spread:.2f}", growth, spread)
    for spread in (0.2, 0.35, 0.5)
    for growth in (0.0, 0.1, 0.3, 0.5)
]
"""Growth at every percentile; spread of the logarithm, half of its variance the question's."""

SURE = 9.0
ISSUE = 0.5 / 2.0 * np.sqrt(150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2_000)
    runs = parser.parse_args().runs
    print(f"{runs} runs a line, four looks; 'shown' is a false alarm in the first table\n")
    _print_proofs("What is not true", NULLS, runs)
    _print_proofs("What is true", POWER, runs)
    _print_latencies(runs)
    _print_nights(runs)


def _print_proofs(title: str, rows: Sequence[Row], runs: int) -> None:
    print(f"| {title} | alpha | pairs | shown | ± | pairs used |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, truth, claim, alpha, pairs in rows:
        shown, used = find_shown(truth, alpha, claim, pairs=pairs, runs=runs)
        error = 2 * np.sqrt(shown * (1 - shown) / runs)
        print(f"| {name} | {alpha:.4f} | {pairs} | {shown:.3f} | {error:.3f} | {used:.0f} |")
    print()


def _print_latencies(runs: int) -> None:
    print("| 120 pairs | put up, gain +1 | put up, gain +0.35 |\n| --- | --- | --- |")
    for name, growth, spread in LATENCIES:
        sd = spread / np.sqrt(2)
        early, late = (
            find_shown(Truth(gain=gain, latency_growth=growth, latency_sd=sd), runs=runs)[0]
            for gain in (1.0, 0.35)
        )
        print(f"| {name} | {early:.3f} | {late:.3f} |")
    print()


def give_fixed(history: Sequence[Entry]) -> float:
    """Give every proof the same rate, as if it were the only one."""
    return RATE


def give_lond(history: Sequence[Entry]) -> float:
    """LOND (Javanmard & Montanari 2015), with the same shares."""
    night = len(history) + 1
    return RATE * (sum(e.proven is True for e in history) + 1) / (night * (night + 1))


RULES: dict[str, Rule] = {
    "always 5 %": give_fixed,
    "LOND": give_lond,
    "**alpha-investing**": next_alpha,
}


def _print_nights(runs: int) -> None:
    rng = np.random.default_rng(2)
    half = np.where(rng.random((runs, 10)) < 0.5, ISSUE, 0.0)
    few = np.where(rng.random((runs, 60)) < 0.1, ISSUE, 0.0)
    gains = np.array([1.0, 0.4, 0.3, 0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.1])
    fading = np.tile(gains / 1.26 * np.sqrt(120), (runs, 1))
    sure = np.hstack([np.full((runs, 5), SURE), np.zeros((runs, 95))])
    print(
        "| rule | nulls alone, 100 nights: ever put up | half of 10 nights true: power 1st / 10th"
        " night, false | a tenth of 60 true: power, false | ten fading gains: put up of 10 |"
        " 5 sure, then 95 nulls: false |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name, rule in RULES.items():
        nulls = run_nights(rule, np.zeros((runs, 100)))
        a, b, c, d = (run_nights(rule, effects) for effects in (half, few, fading, sure))
        print(
            f"| {name} | {nulls.any_false:.3f} "
            f"| {a.power(0):.2f} / {a.power(9):.2f}, {a.false_share:.3f} "
            f"| {b.power():.2f}, {b.false_share:.3f} "
            f"| {c.shown.sum(axis=1).mean():.1f} | {d.false_share:.3f} |"
        )


if __name__ == "__main__":
    main()
