"""What a first start puts in place; doing it again changes nothing."""

import os
from dataclasses import dataclass
from pathlib import Path

from procrastinate import App
from sqlalchemy import select

from accounts.keys import create_key, has_keys
from accounts.profiles import list_profiles
from admin_ui.accounts import create_setup_link, has_admins
from evolution.genomes import TUTORIAL_DOMAIN, seed_genomes
from evolution.plan import CycleOrder, create_cycle
from kit.errors import Misconfigured
from lab.jobs import enqueue, enqueue_cycle
from lab.library import Progress, take_handbook
from lab.limits import called_models, make_limits
from lab.wiring import Lab
from models.tables import DEFAULT_TENANT, Cycle

WELCOME_LAYER = "postprocess"
WELCOME_SEED = 7


@dataclass(frozen=True)
class FirstStart:
    """What the person at the terminal is told."""

    setup_link: str | None
    """Path of the one-time link for the first admin; None where there is an admin."""
    key_file: Path


async def prepare(lab: Lab, jobs: App, progress: Progress) -> FirstStart:
    """Seed genomes, bring the handbook in, queue its vectors and the welcome cycle, make a key."""
    async with lab.db.transaction() as tx:
        await seed_genomes(tx)
    await take_handbook(lab, DEFAULT_TENANT, progress)
    await _queue(lab, jobs)
    await lab.active.refresh(lab.db)
    return FirstStart(await new_setup_link(lab), await _ensure_key(lab))


async def new_setup_link(lab: Lab, *, always: bool = False) -> str | None:
    """Make a one-time link, valid 24 hours, where no admin exists yet (or always)."""
    async with lab.db.transaction() as tx:
        if not always and await has_admins(tx):
            return None
        return f"/admin/setup?token={await create_setup_link(tx, lab.clock)}"


async def _queue(lab: Lab, jobs: App) -> None:
    """Queue the vectors that any corpus lacks, and the welcome cycle where no cycle ever was."""
    tenant = DEFAULT_TENANT
    async with lab.db.transaction(tenant) as tx:
        served = {profile.corpus_id: profile.name for profile in await list_profiles(tx)}
        for corpus_id, name in served.items():  # several profiles may serve one corpus
            lock = f"corpus:{corpus_id}"
            await enqueue(tx, jobs, "complete_corpus", lock, tenant=str(tenant), profile=name)
        if not lab.settings.welcome or await tx.scalar(select(Cycle.id).limit(1)):
            return
        order = CycleOrder(
            WELCOME_LAYER,
            TUTORIAL_DOMAIN,
            lab.settings.cycle_budget,
            seed=WELCOME_SEED,
            limits=make_limits(lab.settings),
            called=called_models(lab.settings, lab.bare_chat),
        )
        cycle_id = await create_cycle(tx, tenant, order)
        assert cycle_id is not None
        await enqueue_cycle(tx, jobs, tenant, cycle_id, TUTORIAL_DOMAIN, WELCOME_LAYER)


async def _ensure_key(lab: Lab) -> Path:
    """Write an API key into the lab's home, readable by its owner alone, if there is none."""
    path = lab.settings.home / "api-key"
    async with lab.db.transaction() as tx:
        if path.exists() and await has_keys(tx, DEFAULT_TENANT):
            return path
        key = await create_key(tx, DEFAULT_TENANT)
        write_secret(path, key)
    return path


def write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read. Raises Misconfigured."""
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secret + "\n")
    except OSError as error:
        raise Misconfigured(f"{path} cannot be written: {error.strerror}") from error
