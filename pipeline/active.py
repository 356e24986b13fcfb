"""The active genomes: one immutable snapshot in memory, swapped whole when a decision is made."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import psycopg
import structlog
from pydantic import ValidationError
from sqlalchemy import select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from kit.db import Database, listen
from kit.errors import Unavailable
from models.defaults import DEFAULT_GENOMES
from models.genome import LAYERS, Genome, GenomeSet, Layer
from models.lifecycle import Status
from models.tables import EvolutionGenome
from models.upgrade import load_genome

CHANNEL = "genoma_active"
DEFAULT_DOMAIN = "default"
POLL_S = 30.0
RECONNECT_S = 1.0
"""Between two tries to listen again; meanwhile the poll goes on."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Snapshot:
    """All active genomes at one moment."""

    genomes: Mapping[tuple[str, Layer], Genome] = field(default_factory=dict)

    def genomes_for(self, domain: str) -> GenomeSet:
        """Give the domain's genome of each layer, else `default`'s, else DEFAULT_GENOMES'."""
        return GenomeSet.model_validate({layer: self._find(domain, layer) for layer in LAYERS})

    def _find(self, domain: str, layer: Layer) -> Genome:
        own = self.genomes.get((domain, layer))
        return own or self.genomes.get((DEFAULT_DOMAIN, layer)) or DEFAULT_GENOMES[layer]


class ActiveGenomes:
    """Holds the snapshot. A request takes it once and keeps it; reading does no I/O."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self.snapshot = snapshot or Snapshot()

    async def refresh(self, db: Database) -> None:
        """Read all active genomes and swap the snapshot whole."""
        async with db.transaction() as tx:
            self.snapshot = await load_snapshot(tx)


async def load_snapshot(tx: AsyncSession) -> Snapshot:
    rows = await tx.scalars(select(EvolutionGenome).filter_by(status=Status.ACTIVE))
    genomes = [(row.domain, load_genome(row.content)) for row in rows]
    return Snapshot(MappingProxyType({(domain, g.layer): g for domain, g in genomes}))


async def notify_active(tx: AsyncSession) -> None:
    """Tell every process, when this transaction commits, that another genome is active."""
    await tx.execute(text("select pg_notify(:channel, '')"), {"channel": CHANNEL})


async def follow(url: str, db: Database, active: ActiveGenomes, poll_s: float = POLL_S) -> None:
    """Keep `active` fresh until cancelled: on each notice, and by a slow poll.

    Where the database is away, or holds a genome that this version cannot read, the last
    snapshot goes on serving.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(_poll(db, active, poll_s))
        group.create_task(_hear(url, db, active))


async def _poll(db: Database, active: ActiveGenomes, poll_s: float) -> None:
    while True:
        await asyncio.sleep(poll_s)
        await _try_refresh(db, active)


async def _hear(url: str, db: Database, active: ActiveGenomes) -> None:
    while True:
        try:
            async for _ in listen(url, CHANNEL):
                await _try_refresh(db, active)
        except (psycopg.Error, OSError) as error:
            log.warning("not listening for active genomes; trying again", error=str(error))
        await asyncio.sleep(RECONNECT_S)


async def _try_refresh(db: Database, active: ActiveGenomes) -> None:
    try:
        await active.refresh(db)
    except (SQLAlchemyError, Unavailable, ValidationError) as error:
        log.warning("active genomes could not be read; the last ones serve", error=str(error))
