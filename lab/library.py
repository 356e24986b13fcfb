"""How documents and questions come into the lab: text at once, vectors as they are computed."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from accounts.profiles import create_profile
from corpus.beir import import_beir
from corpus.calibrate import calibrate
from corpus.ingest import IngestReport, ingest_folder
from corpus.questions import import_questions
from corpus.vectors import embed_pending
from evolution.genomes import TUTORIAL_DOMAIN
from kit.errors import BadInput
from lab.wiring import Lab
from pipeline.active import DEFAULT_DOMAIN
from pipeline.postgres_retriever import PostgresRetriever
from pipeline.scope import load_scope

Progress = Callable[[str, int, int], None]
"""(what, done, total)"""

HANDBOOK = Path(__file__).resolve().parent.parent / "handbook"
HANDBOOK_CORPUS = "handbook"


TAKEN = (HANDBOOK_CORPUS, DEFAULT_DOMAIN, TUTORIAL_DOMAIN)
"""Names of the handbook's corpus and of the profiles that serve it."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report to nobody."""


async def take_folder(
    lab: Lab, tenant: UUID, folder: Path, corpus: str, progress: Progress
) -> IngestReport:
    """Ingest Markdown and text files into a corpus that a profile of its name serves.

    Raises BadInput where the name is one of the handbook's.
    """
    check_name(corpus)
    report = await ingest_folder(lab.db, tenant, folder, corpus, _of(progress, "documents"))
    await _serve(lab, tenant, report, corpus)
    return report


async def take_beir(
    lab: Lab, tenant: UUID, folder: Path, corpus: str, progress: Progress
) -> IngestReport:
    """Import a BEIR folder, documents and questions, into a corpus that a profile serves.

    Raises BadInput where the name is one of the handbook's.
    """
    check_name(corpus)
    report = await import_beir(lab.db, tenant, folder, corpus, _of(progress, "documents"))
    await _serve(lab, tenant, report, corpus)
    return report


async def take_handbook(lab: Lab, tenant: UUID, progress: Progress = no_progress) -> int:
    """Bring Genoma's own handbook with its questions in; give the number of chunks written.

    The profiles `default` and `tutorial` serve it.
    """
    documents = _of(progress, "documents")
    report = await ingest_folder(lab.db, tenant, HANDBOOK, HANDBOOK_CORPUS, documents)
    await import_questions(lab.db, tenant, HANDBOOK_CORPUS, HANDBOOK)
    async with lab.db.transaction(tenant) as tx:
        assert report.corpus_id is not None
        for name in (DEFAULT_DOMAIN, TUTORIAL_DOMAIN):
            await create_profile(tx, tenant, name, report.corpus_id)
    return report.chunks


async def complete_corpus(
    lab: Lab, tenant: UUID, profile: str, progress: Progress = no_progress
) -> None:
    """Compute the vectors that are missing, then the similarity under which nothing is answered."""
    async with lab.db.transaction(tenant) as tx:
        scope = await load_scope(tx, tenant, profile)
    done = await embed_pending(
        lab.db, lab.embedder, tenant, scope.corpus_id, _of(progress, "vectors")
    )
    if done:
        retriever = PostgresRetriever(lab.db, lab.embedder)
        await calibrate(lab.db, retriever, scope, _of(progress, "calibration"))


def check_name(corpus: str) -> None:
    """Keep a user's documents out of the handbook's corpus and profiles. Raises BadInput."""
    if not corpus.strip():
        raise BadInput("a corpus needs a name")
    if corpus in TAKEN:
        raise BadInput(
            f"the name {corpus!r} belongs to Genoma's own handbook: give another with --corpus"
        )


async def _serve(lab: Lab, tenant: UUID, report: IngestReport, name: str) -> None:
    assert report.corpus_id is not None
    async with lab.db.transaction(tenant) as tx:
        await create_profile(tx, tenant, name, report.corpus_id)


def _of(progress: Progress, what: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(what, done, total)
