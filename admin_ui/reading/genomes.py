"""What serves in each domain and layer, since when, and what served before."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

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
    genome_id: UUID
    previous_id: UUID | None
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
    history: dict[tuple[str, str], tuple[Served, ...]],
) -> Serving:
    lines = history.get((domain, layer), ())
    if own := active.get((domain, layer)):
        earlier = _earlier(own.id, lines)
        return Serving(domain, layer, *_read(own), "own", lines, earlier)
    if fallback := active.get((DEFAULT_DOMAIN, layer)):
        return Serving(domain, layer, *_read(fallback), "default", lines, None)
    genome = DEFAULT_GENOMES[layer]
    return Serving(domain, layer, genome_name(genome), genome, "built-in", lines, None)


def _read(row: EvolutionGenome) -> tuple[str, Genome]:
    return short_name(row.content_hash), load_genome(row.content)


def _earlier(active_id: UUID, lines: tuple[Served, ...]) -> str | None:
    """Name what served when the active genome first came, as a roll-back finds it."""
    came = (s for s in lines if s.genome_id == active_id and s.action != "rollback")
    previous = next((s.previous_id for s in came), None)
    return next((s.name for s in lines if s.genome_id == previous), None)


async def _load_history(tx: AsyncSession) -> dict[tuple[str, str], tuple[Served, ...]]:
    rows = await tx.execute(
        select(Deployment, EvolutionGenome.content_hash)
        .join(EvolutionGenome, EvolutionGenome.id == Deployment.genome_id)
        .order_by(Deployment.created_at.desc(), Deployment.id.desc())
    )
    history: dict[tuple[str, str], list[Served]] = {}
    for row, digest in rows:
        line = Served(
            name=short_name(digest),
            genome_id=row.genome_id,
            previous_id=row.previous_id,
            action=row.action,
            actor=row.actor,
            reason=row.reason,
            since=row.created_at,
        )
        history.setdefault((row.domain, row.layer), []).append(line)
    return {key: tuple(lines) for key, lines in history.items()}
