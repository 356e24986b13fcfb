"""Opening the lab for one command, and closing it again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evolution.genomes import seed_genomes
from kit.settings import load_settings
from lab.wiring import Lab, open_lab


@asynccontextmanager
async def opened() -> AsyncIterator[Lab]:
    """Open database and models as the environment says, with genomes in it that serve.

    Raises Misconfigured.
    """
    lab = open_lab(load_settings())
    try:
        async with lab.db.transaction() as tx:
            await seed_genomes(tx)
        await lab.active.refresh(lab.db)
        yield lab
    finally:
        await lab.close()
