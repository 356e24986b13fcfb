"""What serves in each domain and layer, since when, and what served before."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from evolution.decide import served_before
from models.defaults import DEFAULT_GENOMES
from models.diff import genes_of
from models.genome import LAYERS, Genome, Layer, genome_name, short_name
from models.lifecycle import Status
from models.tables import Deployment, EvolutionGenome, Profile
from models.upgrade import load_genome
from pipeline.active import DEFAULT_DOMAIN


@dataclass(frozen=True)
class Served:
    """One line of the history: which genome began to serve when, by whom and why."""

    name: str
    action: str
    actor: str
    reason: str
    since: datetime


@dataclass(frozen=True)
class Serving:
    """What a request to this domain and layer is answered under."""

    domain: str
    layer: Layer
    name: str
    genome: Genome
    source: str
    """`own`, `default` (the domain has none) or `built-in` (no domain has one)."""
    history: tuple[Served, ...]
    """Newest first; only of the domain itself."""
    earlier: str | None
    """What a roll-back would bring back; None where nothing served before."""

    @property
    def since(self) -> datetime | None:
        return self.history[0].since if self.source == "own" and self.history else None

    @property
    def genes(self) -> dict[str, Any]:
        return genes_of(self.genome)


@dataclass(frozen=True)
class History:
    """What began to serve in which domain and layer, newest first, and the genomes' names."""

    deployments: dict[tuple[str, str], list[Deployment]]
    names: dict[UUID, str]

    def lines(self, domain: str, layer: str) -> tuple[Served, ...]:
        return tuple(
            Served(self.names[d.genome_id], d.action, d.actor, d.reason, d.created_at)
            for d in self.deployments.get((domain, layer), ())
        )

    def earlier(self, active: EvolutionGenome) -> str | None:
        """Name what a roll-back would bring back."""
        own = self.deployments.get((active.domain, active.layer), ())
        earlier = served_before(active.id, own)
        return self.names.get(earlier) if earlier else None


async def list_domains(tx: AsyncSession) -> tuple[str, ...]:
    """Name every domain that has a profile or a genome; `default` is always first."""
    named = set(await tx.scalars(select(Profile.domain).distinct()))
    named |= set(await tx.scalars(select(EvolutionGenome.domain).distinct()))
    return (DEFAULT_DOMAIN, *sorted(named - {DEFAULT_DOMAIN}))


async def list_profiles(tx: AsyncSession) -> tuple[str, ...]:
    """Name the tenant's profiles, `default` first."""
    names = await tx.scalars(select(Profile.name).order_by(Profile.name))
    return tuple(sorted(names, key=lambda name: (name != DEFAULT_DOMAIN, name)))


async def load_serving(tx: AsyncSession) -> tuple[Serving, ...]:
    """Give what serves in every domain and layer, fallbacks resolved as live resolves them."""
    rows = await tx.scalars(select(EvolutionGenome).filter_by(status=Status.ACTIVE))
    active = {(row.domain, row.layer): row for row in rows}
    history = await _load_history(tx)
    domains = await list_domains(tx)
    return tuple(_serving(d, layer, active, history) for d in domains for layer in LAYERS)


def _serving(
    domain: str,
    layer: Layer,
    active: dict[tuple[str, str], EvolutionGenome],
    history: History,
) -> Serving:
    lines = history.lines(domain, layer)
    if own := active.get((domain, layer)):
        earlier = history.earlier(own)
        return Serving(domain, layer, *_read(own), "own", lines, earlier)
    if fallback := active.get((DEFAULT_DOMAIN, layer)):
        return Serving(domain, layer, *_read(fallback), "default", lines, None)
    genome = DEFAULT_GENOMES[layer]
    return Serving(domain, layer, genome_name(genome), genome, "built-in", lines, None)


def _read(row: EvolutionGenome) -> tuple[str, Genome]:
    return short_name(row.content_hash), load_genome(row.content)


async def _load_history(tx: AsyncSession) -> History:
    rows = await tx.execute(
        select(Deployment, EvolutionGenome.content_hash)
        .join(EvolutionGenome, EvolutionGenome.id == Deployment.genome_id)
        .order_by(Deployment.created_at.desc(), Deployment.id.desc())
    )
    history = History(defaultdict(list), {})
    for row, digest in rows:
        history.deployments[row.domain, row.layer].append(row)
        history.names[row.genome_id] = short_name(digest)
    return history
