"""Work that nobody does any more is taken up again, whoever began it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text, update

from kit.db import Database
from kit.errors import BadInput, Conflict, ProviderRefused, ProviderUnreachable
from kit.settings import Settings
from lab.database import DatabaseUrls
from lab.jobs import GoOn, make_jobs, take_up_lost
from lab.library import take_folder
from lab.wiring import Lab, open_lab
from models.tables import DEFAULT_TENANT, Corpus, Cycle, Profile, utc_now


@pytest.fixture
async def lab(database_urls: DatabaseUrls, tmp_path: Path) -> AsyncIterator[Lab]:
    settings = Settings(home=tmp_path, database_url=SecretStr(database_urls.service))
    opened = await asyncio.to_thread(open_lab, settings)
    yield opened
    await opened.close()


async def add_cycle(db: Database, status: str) -> None:
    """A cycle that began two minutes ago and for which no job stands."""
    async with db.transaction(DEFAULT_TENANT) as tx:
        corpus = Corpus(tenant_id=DEFAULT_TENANT, name=f"c-{status}")
        tx.add(corpus)
        await tx.flush()
        profile = Profile(tenant_id=DEFAULT_TENANT, name=status, domain=status,
                          corpus_id=corpus.id, settings={})  # fmt: skip
        tx.add(profile)
        await tx.flush()
        tx.add(Cycle(tenant_id=DEFAULT_TENANT, layer="routing", domain=status, budget=9, seed=1,
                     profile_id=profile.id, max_mutations=1, status=status))  # fmt: skip
        await tx.flush()
        await tx.execute(update(Cycle).values(created_at=utc_now() - timedelta(minutes=2)))


async def test_a_cycle_without_a_job_gets_one_and_only_one(lab: Lab, db: Database) -> None:
    for status in ("queued", "running", "done", "failed"):
        await add_cycle(db, status)
    jobs = make_jobs(lab)
    async with jobs.open_async():
        assert await take_up_lost(lab, jobs) == 2
        assert await take_up_lost(lab, jobs) == 0
    async with db.transaction() as tx:
        locks = await tx.scalars(text("select lock from procrastinate_jobs order by lock"))
        assert list(locks) == ["cycle:queued:routing", "cycle:running:routing"]


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        (Conflict("locked"), True),
        (ProviderUnreachable("away"), True),
        (OSError("the server closed the connection"), True),
        (ProviderRefused("bad key"), False),
        (ValueError("a defect"), False),
    ],
)
def test_what_passes_is_waited_for_and_what_does_not_is_not(
    error: Exception, goes_on: bool
) -> None:
    job = type("Job", (), {"attempts": 3})()
    decision = GoOn().get_retry_decision(exception=error, job=job)
    assert (decision is not None) == goes_on


@pytest.mark.parametrize("name", ["handbook", "default", "tutorial", " "])
async def test_documents_of_a_user_never_mix_with_the_handbook(
    lab: Lab, tmp_path: Path, name: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n\nText.\n")
    with pytest.raises(BadInput):
        await take_folder(lab, DEFAULT_TENANT, tmp_path / "notes", name, lambda *_: None)
