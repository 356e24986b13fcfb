"""Genoma and its peers side by side on the peers' bench; prints the tables of docs/benchmarks.md.

    uv run --with optuna --with gepa python -m benchmarks.evolution FOLDER [--seeds 24] [--jobs 2]

FOLDER is that of the bench. Its peers need optuna and gepa, which are no part of this project: they
are laid over its environment for this one command. Everybody of a table gets the same problems, the
same seeds and the same judged answers.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evolution.nightly import CONTESTANTS, OURS, Setting, make_rows

PEERS = ["naive_cycle", "optuna_tpe", "gepa", "gepa_all", "race2", "surrogate"]
ROOT = Path(__file__).resolve().parents[2]
GATE = "OBF 4 looks"
"""The bench's rule by which a peer's own best is confirmed, at 5 %."""

HEAD = (
    "| {title} | true gain ± SE | own best is false | put up | of these false | ahead of Genoma"
    " | seconds |\n| --- | --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Table:
    """One run of the bench: what it is called, and its options."""

    title: str
    budget: int
    scenarios: tuple[str, ...]
    options: tuple[str, ...] = ()


TABLES = {
    "1500": Table("", 1500, ("cold", "warm", "null")),
    "600": Table("", 600, ("cold", "warm", "null")),
    "interact": Table(", interactions", 1500, ("cold", "warm"), ("--interact", "0.35")),
    "noise": Table(", double noise", 1500, ("cold", "warm"), ("--noise", "2")),
}
NIGHTS = {"nightly": "cold", "nightly-null": "null"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--peers", nargs="*", default=PEERS)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*TABLES, *NIGHTS],
        metavar="TABLE",
        default=[*TABLES, *NIGHTS],
        help=f"of {', '.join([*TABLES, *NIGHTS])}",
    )
    args = parser.parse_args()
    for name in args.only:
        if name in TABLES:
            _print_table(TABLES[name], args)
        else:
            _print_nights(name, args)


def _print_table(table: Table, args: argparse.Namespace) -> None:
    results = _run_bench(table, args)
    for scenario in table.scenarios:
        rows = [r for r in results if r["scen"] == scenario]
        print(HEAD.format(title=f"{scenario}, {table.budget:,} answers{table.title}"))
        for method in ("external", *args.peers):
            print(_row(method, rows))
        print(flush=True)


def _run_bench(table: Table, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Let the bench run; give what it wrote down."""
    url = f"cmd:{sys.executable} -m benchmarks.evolution.plug"
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out.json"
        command = [sys.executable, "run.py", "--methods", "external", *args.peers, "--url", url]
        command += ["--seeds", str(args.seeds), "--first", str(args.first)]
        command += ["--jobs", str(args.jobs), "--budget", str(table.budget), "--out", str(out)]
        command += ["--scenarios", *table.scenarios, *table.options]
        paths = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run(
            command, cwd=args.folder, env=os.environ | paths, stdout=sys.stderr, check=True
        )
        results: list[dict[str, Any]] = json.loads(out.read_text())
    return results


def _row(method: str, results: Sequence[dict[str, Any]]) -> str:
    """Sum up one method: own best by its true gain, and what a proof let it put up."""
    mine = sorted((r for r in results if r["method"] == method), key=lambda r: r["seed"])
    ours = sorted((r for r in results if r["method"] == "external"), key=lambda r: r["seed"])
    gains = np.array([r["gain"] for r in mine])
    chosen = np.array([r["changed"] for r in mine])
    put_up = chosen & np.array([r["own"] if "own" in r else r["conf"][GATE][0] for r in mine])
    ahead = sum(a["gain"] > b["gain"] for a, b in zip(mine, ours, strict=True))
    cells = [
        "**Genoma**" if method == "external" else method,
        f"{gains.mean():+.2f} ± {gains.std() / np.sqrt(len(mine)):.2f}",
        f"{int((chosen & (gains <= 0)).sum())} of {len(mine)}",
        str(int(put_up.sum())),
        str(int((put_up & (gains <= 0)).sum())),
        "" if method == "external" else f"{ahead} of {len(mine)}",
        f"{np.mean([r['wall'] for r in mine]):.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _print_nights(name: str, args: argparse.Namespace) -> None:
    setting = Setting(str(args.folder.resolve()), NIGHTS[name])
    print(f"Start: {setting.start}; {setting.budget} answers a night, {args.seeds} seeds\n")
    seeds = range(args.first, args.first + args.seeds)
    who = [c for c in CONTESTANTS if c == OURS or c[0] in args.peers]
    print("\n".join(make_rows(setting, seeds, who, args.jobs)) + "\n", flush=True)


if __name__ == "__main__":
    main()
