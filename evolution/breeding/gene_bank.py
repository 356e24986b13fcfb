"""The gene bank: every instruction that was ever tried in a domain and layer, and its worth."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from models.contract import Frozen
from models.genes import Instruction
from models.genome import Genome, Layer
from models.tables import BankedGene, Cycle
from models.tables.base import utc_now

MEASURED_FROM = 0.2
"""Share of the tried genomes that must have a gene, and that must lack it, for a measured worth."""

BY_HAND = "hand"


@dataclass(frozen=True)
class GeneWorth:
    """One instruction of a prompt and what it is worth."""

    path: str
    """The prompt that it stands in, dotted (`system_prompt`, `profiles.how_to.system_prompt`)."""
    gene_id: str
    text: str
    origin: str = BY_HAND
    tried: int = 0
    """Judged search answers under genomes that have it: all that the caller knows of."""
    worth: float | None = None
    """Points of 10 that it adds; None where it was not measured. `low` and `high`: interval."""
    low: float | None = None
    high: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one gene: its prompt and its text; the id is only a name."""
        return self.path, text_hash(self.text)


def is_measured(present: int, absent: int) -> bool:
    """Tell whether a gene was both there and away often enough for its worth to be said."""
    return min(present, absent) >= MEASURED_FROM * (present + absent) > 0


def genes_in(genome: Genome) -> tuple[GeneWorth, ...]:
    """List the instructions of all prompts of `genome`, in order, not measured."""
    return tuple(
        GeneWorth(path, gene.id, gene.text, gene.origin)
        for path, prompt in prompts_of(genome).items()
        for gene in prompt
    )


def prompts_of(genome: Genome) -> dict[str, tuple[Instruction, ...]]:
    """Give the prompts of `genome` by their dotted paths, in the order of the schema."""
    return dict(_prompts(genome, ""))


async def load_bank(tx: AsyncSession, domain: str, layer: Layer) -> tuple[GeneWorth, ...]:
    """Give the genes that were there by hand or came from this tenant's cycles.

    What is worth most comes first, then what was not measured. Genes that another tenant's
    evidence brought are left out: row-level security hides the cycles that they came from.
    """
    mine = or_(BankedGene.cycle_id.is_(None), BankedGene.cycle_id.in_(select(Cycle.id)))
    rows = await tx.scalars(
        select(BankedGene)
        .filter_by(domain=domain, layer=layer)
        .where(mine)
        .order_by(BankedGene.worth.desc().nulls_last(), BankedGene.path, BankedGene.text_hash)
    )
    return tuple(_read(row) for row in rows)


async def bank_genes(
    tx: AsyncSession,
    domain: str,
    layer: Layer,
    cycle_id: UUID | None,
    genes: Sequence[GeneWorth],
) -> None:
    """Bank `genes`: new ones come in, known ones get their newest measured worth.

    Doing it again changes nothing: of two numbers of trials the larger one stays, and a worth
    that was measured once is kept where this time it was not. Who brought a gene first stays.
    A cycle banks in the transaction that ends it: its mutator reads the bank until then, and
    a resumed cycle must read the same.
    """
    rows = {gene.key: _row(gene, domain, layer, cycle_id) for gene in genes}
    if not rows:
        return
    fresh = insert(BankedGene).values([rows[key] for key in sorted(rows)])
    new = fresh.excluded
    await tx.execute(
        fresh.on_conflict_do_update(
            index_elements=["domain", "layer", "path", "text_hash"],
            set_={
                "tried": func.greatest(BankedGene.tried, new.tried),
                "worth": func.coalesce(new.worth, BankedGene.worth),
                "low": func.coalesce(new.low, BankedGene.low),
                "high": func.coalesce(new.high, BankedGene.high),
                "updated_at": new.updated_at,
            },
        )
    )


def text_hash(text: str) -> str:
    """SHA-256 of an instruction's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _row(gene: GeneWorth, domain: str, layer: Layer, cycle_id: UUID | None) -> dict[str, Any]:
    if gene.worth is None:
        gene = replace(gene, low=None, high=None)
    return {
        "domain": domain,
        "layer": layer,
        "path": gene.path,
        "gene_id": gene.gene_id,
        "text": gene.text,
        "text_hash": text_hash(gene.text),
        "origin": gene.origin,
        "cycle_id": None if gene.origin == BY_HAND else cycle_id,
        "tried": gene.tried,
        "worth": gene.worth,
        "low": gene.low,
        "high": gene.high,
        "updated_at": utc_now(),
    }


def _read(row: BankedGene) -> GeneWorth:
    return GeneWorth(
        row.path, row.gene_id, row.text, row.origin, row.tried, row.worth, row.low, row.high
    )


def _prompts(value: Frozen, path: str) -> Iterator[tuple[str, tuple[Instruction, ...]]]:
    for name in type(value).model_fields:
        here, item = f"{path}.{name}" if path else name, getattr(value, name)
        if isinstance(item, tuple):
            yield here, item
        elif isinstance(item, dict):
            for key, part in item.items():
                yield from _prompts(part, f"{here}.{key}")
