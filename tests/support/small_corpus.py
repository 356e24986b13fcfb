"""A corpus of six documents (or more) with three questions each, in BEIR layout."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

SUBJECTS = ("tea", "coffee", "cocoa", "juice", "milk", "water")
ASKED = ("How hot is {}?", "How much {} fits into a cup?", "What does {} cost?")


def write_small_corpus(folder: Path, subjects: Sequence[str] = SUBJECTS) -> Path:
    """Write the corpus into a new folder; give the folder."""
    documents = [
        {"_id": s, "title": s, "text": f"{s} is served at {40 + i} degrees. A cup holds {i} ounces."
                                       f" The price of {s} is {i + 2} coins."}
        for i, s in enumerate(subjects)
    ]  # fmt: skip
    queries = [
        {"_id": f"{s}-{n}", "text": text.replace("{}", s), "metadata": {"lang": "en"}}
        for s in subjects
        for n, text in enumerate(ASKED)
    ]
    (folder / "qrels").mkdir(parents=True)
    write_lines(folder / "corpus.jsonl", map(json.dumps, documents))
    write_lines(folder / "queries.jsonl", map(json.dumps, queries))
    judged = [f"{query['_id']}\t{str(query['_id'])[:-2]}\t1" for query in queries]
    write_lines(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *judged])
    return folder


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
