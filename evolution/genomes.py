"""The genome store: rows in, rows out; the one writer of statuses and deployments."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from kit.errors import Conflict, NotFound
from models.contract import Frozen
from models.defaults import DEFAULT_GENOMES, TUTORIAL_POSTPROCESS
from models.genome import Genome, Layer, content_hash, dump_genome
from models.lifecycle import Status, TransitionError, check_transition
from models.tables import Deployment, EvolutionGenome
from pipeline.active import DEFAULT_DOMAIN

TUTORIAL_DOMAIN = "tutorial"


class Origin(Frozen):
    """Where a genome comes from."""

    operator: str
    notes: str = ""
    parent_id: UUID | None = None
    mate_id: UUID | None = None
    """The second parent of a crossover."""
    cycle_id: UUID | None = None


async def add_genome(
    tx: AsyncSession, domain: str, genome: Genome, origin: Origin
) -> tuple[EvolutionGenome, bool]:
    """Store `genome` as a candidate; give its row and whether it is new to the domain."""
    digest = content_hash(genome)
    fresh = await tx.scalar(
        insert(EvolutionGenome)
        .values(
            domain=domain,
            layer=genome.layer,
            schema_version=genome.schema_version,
            content=dump_genome(genome),
            content_hash=digest,
            **origin.model_dump(),
        )
        .on_conflict_do_nothing(index_elements=["domain", "layer", "content_hash"])
        .returning(EvolutionGenome.id)
    )
    row = await tx.scalar(
        select(EvolutionGenome).filter_by(domain=domain, layer=genome.layer, content_hash=digest)
    )
    assert row is not None
    return row, fresh is not None


async def load_row(tx: AsyncSession, genome_id: UUID, *, lock: bool = False) -> EvolutionGenome:
    """Give the row of a genome, locked until the transaction ends where asked. Raises NotFound."""
    query = select(EvolutionGenome).filter_by(id=genome_id)
    row = await tx.scalar(query.with_for_update() if lock else query)
    if row is None:
        raise NotFound(f"there is no genome {genome_id}")
    return row


async def get_active(
    tx: AsyncSession, domain: str, layer: Layer, *, lock: bool = False
) -> EvolutionGenome | None:
    query = select(EvolutionGenome).filter_by(domain=domain, layer=layer, status=Status.ACTIVE)
    return await tx.scalar(query.with_for_update() if lock else query)


async def load_incumbent(tx: AsyncSession, domain: str, layer: Layer) -> EvolutionGenome:
    """Give the row that live serves for `domain`: its own active genome, else `default`'s."""
    row = await get_active(tx, domain, layer) or await get_active(tx, DEFAULT_DOMAIN, layer)
    if row is None:
        raise Conflict(f"no genome is active in layer {layer}: start the lab once to seed it")
    return row


def move(row: EvolutionGenome, status: Status) -> None:
    """Change a genome's status. Raises Conflict where it may not."""
    try:
        check_transition(row.status, status)
    except TransitionError as error:
        raise Conflict(str(error)) from error
    row.status = status


async def deploy(
    tx: AsyncSession, row: EvolutionGenome, *, action: str, actor: str, reason: str
) -> EvolutionGenome | None:
    """Make `row` the active genome of its domain and layer; give the one that it replaces."""
    previous = await get_active(tx, row.domain, row.layer, lock=True)  # type: ignore[arg-type]
    if previous is not None:
        move(previous, Status.RETIRED)
        await tx.flush()  # the partial unique index allows one active row at any moment
    if row.status is Status.CANDIDATE:  # only a seed comes here without a proof
        move(row, Status.EVALUATED)
        move(row, Status.PENDING_APPROVAL)
    move(row, Status.ACTIVE)
    tx.add(
        Deployment(
            domain=row.domain,
            layer=row.layer,
            genome_id=row.id,
            previous_id=previous.id if previous else None,
            action=action,
            actor=actor,
            reason=reason,
        )
    )
    await tx.flush()
    return previous


async def seed_genomes(tx: AsyncSession) -> int:
    """Put DEFAULT_GENOMES and the tutorial's first draft in place where nothing ever served."""
    seeds = [(DEFAULT_DOMAIN, genome) for genome in DEFAULT_GENOMES.values()]
    seeds.append((TUTORIAL_DOMAIN, TUTORIAL_POSTPROCESS))
    return sum([await _seed(tx, domain, genome) for domain, genome in seeds])


async def _seed(tx: AsyncSession, domain: str, genome: Genome) -> int:
    served = select(Deployment.id).filter_by(domain=domain, layer=genome.layer).limit(1)
    if await tx.scalar(served):
        return 0
    row, _ = await add_genome(tx, domain, genome, Origin(operator="hand", notes="first genome"))
    await deploy(tx, row, action="seed", actor="genoma", reason="first genome of this domain")
    return 1
