"""Crossover: what two genomes changed since their common ancestor, in one child."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import bindparam, text
from sqlalchemy.ext.asyncio import AsyncSession

from kit.errors import BadInput
from models.genome import Genome, dump_genome, parse_genome
from models.tables import EvolutionGenome

_MISSING = object()

# Every ancestor of a genome (itself at 0) with the fewest steps that lead up to it. Of equally near
# ones the content decides: ids are drawn, and two labs would go on differently.
_COMMON = text("""
    with recursive up (side, id, steps) as (
        select side, id, 0 from (values ('a', cast(:a as uuid)), ('b', cast(:b as uuid)))
            as start (side, id)
        union
        select up.side, parent.id, up.steps + 1
        from up
        join evolution_genome child on child.id = up.id
        cross join lateral (values (child.parent_id), (child.mate_id)) as parent (id)
        where parent.id is not null
    ), nearest as (
        select side, id, min(steps) as steps from up group by side, id
    )
    select one.id
    from nearest one join nearest other on other.id = one.id and other.side = 'b'
    join evolution_genome ancestor on ancestor.id = one.id
    where one.side = 'a'
    order by one.steps + other.steps, greatest(one.steps, other.steps), ancestor.content_hash
    limit 1
""").bindparams(bindparam("a"), bindparam("b"))


async def common_ancestor(tx: AsyncSession, a_id: UUID, b_id: UUID) -> EvolutionGenome | None:
    """Find the nearest genome that both descend from, over parents and mates.

    Where one descends from the other, that is the ancestor itself, and a crossover has
    nothing to add. None where they have nothing in common.
    """
    found = await tx.scalar(_COMMON, {"a": a_id, "b": b_id})
    return await tx.get(EvolutionGenome, found) if found else None


def cross(a: Genome, b: Genome, ancestor: Genome) -> Genome:
    """Merge `a` and `b`: of each gene the side that moved away from `ancestor`.

    Where both moved, `a` (the better one) is taken. An instruction is a gene of its own: one
    that either side dropped is dropped, one that either side added is there. Raises BadInput
    where the genomes are of different layers or the child breaks its schema.
    """
    if not a.layer == b.layer == ancestor.layer:
        raise BadInput(f"a genome of layer {a.layer} cannot be crossed with one of {b.layer}")
    content = _merge(dump_genome(a), dump_genome(b), dump_genome(ancestor))
    try:
        return parse_genome(content)
    except ValidationError as error:
        raise BadInput(f"the child is not valid: {error.errors()[0]['msg']}") from error


def _merge(a: Any, b: Any, ancestor: Any) -> Any:
    if isinstance(a, dict) and isinstance(b, dict) and isinstance(ancestor, dict):
        return {key: _merge(a[key], b[key], ancestor[key]) for key in a}
    if isinstance(a, list) and isinstance(b, list) and isinstance(ancestor, list):
        return _merge_prompt(a, b, ancestor)
    return b if a == ancestor else a


def _merge_prompt(
    a: list[dict[str, Any]], b: list[dict[str, Any]], ancestor: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Merge instruction by instruction; the order is that of the side which moved it."""
    one, other, old = _by_id(a), _by_id(b), _by_id(ancestor)
    order = _order(list(one), list(other), list(old))
    merged = [_merge_gene(one.get(i), other.get(i), old.get(i)) for i in order]
    return [gene for gene in merged if gene is not None]


def _merge_gene(a: Any, b: Any, ancestor: Any) -> Any:
    """Compare by the text: an origin is no change."""
    return b if _text(a) == _text(ancestor) else a


def _order(a: Sequence[str], b: Sequence[str], ancestor: Sequence[str]) -> list[str]:
    """Start from the side that moved the old genes; put the other's new ones after their left
    neighbour."""
    common = [i for i in ancestor if i in a and i in b]
    moved = [i for i in a if i in common] != common
    first, second = (a, b) if moved or [i for i in b if i in common] == common else (b, a)
    order = list(first)
    for place, gene in enumerate(second):
        if gene in order:
            continue
        left = next((i for i in reversed(second[:place]) if i in order), None)
        order.insert(order.index(left) + 1 if left is not None else 0, gene)
    return order


def _by_id(prompt: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {gene["id"]: gene for gene in prompt}


def _text(gene: dict[str, Any] | None) -> Any:
    return gene["text"] if gene is not None else _MISSING
