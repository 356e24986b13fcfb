"""A cycle before it runs: asked for, checked, and fixed in a plan that a resume follows again."""

import random
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from corpus.traffic import take_traffic
from evolution.allotment import BudgetPlan, least_answers, plan_budget
from evolution.breeding.evidence import load_dialogues, load_tried
from evolution.breeding.memory import context_of, find_remembered
from evolution.buying.limits import NONE_CALLED, UNLIMITED, Called, Division, Limits, plan_limits
from evolution.genomes import load_incumbent
from evolution.parts import CycleParts
from evolution.proof.group_sequential import planned_looks
from evolution.questions import MIN_CONFIRM, Split, split_questions
from evolution.shapes import CyclePlan
from kit.errors import BadInput, NotFound
from models.genome import LAYERS, GenomeSet, Layer
from models.tables import Cycle, Profile
from models.upgrade import load_genome

MIN_QUESTIONS = 15
DEFAULT_MAX_MUTATIONS = 500


@dataclass(frozen=True)
class CycleOrder:
    """What somebody, or the night, asks for."""

    layer: str
    domain: str
    budget: int
    max_mutations: int = DEFAULT_MAX_MUTATIONS
    seed: int | None = None
    due_key: str | None = None
    limits: Limits = UNLIMITED
    called: Called = NONE_CALLED


async def create_cycle(tx: AsyncSession, tenant: UUID, order: CycleOrder) -> UUID | None:
    """Queue a cycle; give its id, or None where its due time has one already.

    Raises NotFound where no profile serves the domain, BadInput where the layer is unknown,
    there are too few questions, or the budget does not pay for the least cycle.
    """
    layer = _layer(order.layer)
    if order.max_mutations < 1:
        raise BadInput("a cycle needs at least 1 mutation")
    profile = await find_profile(tx, order.domain)
    await take_traffic(tx, tenant, profile.corpus_id)
    seed = random.SystemRandom().randrange(2**31) if order.seed is None else order.seed
    split = await split_questions(tx, profile.corpus_id, order.domain, layer, seed)
    check_order(order, split)
    row: dict[str, Any] = {
        "limits": await _limits(tx, order, layer, split),
        "tenant_id": tenant,
        "profile_id": profile.id,
        "seed": seed,
        **{k: getattr(order, k) for k in ("layer", "domain", "budget", "max_mutations", "due_key")},
    }
    once = insert(Cycle).values(row).on_conflict_do_nothing(index_elements=["due_key"])
    created: UUID | None = await tx.scalar(once.returning(Cycle.id))
    return created


async def _limits(
    tx: AsyncSession, order: CycleOrder, layer: Layer, split: Split
) -> dict[str, Any]:
    least = least_answers(layer, len(split.search), len(_confirm(split)))
    proof = check_order(order, split).proof
    return await plan_limits(
        tx, layer, order.limits, Division(order.budget, least, proof), order.called
    )


async def find_profile(tx: AsyncSession, domain: str) -> Profile:
    """Give the profile that serves `domain`. Raises NotFound with the names that there are."""
    profile = await tx.scalar(select(Profile).filter_by(domain=domain).order_by(Profile.name))
    if profile is None:
        names = ", ".join(sorted(set(await tx.scalars(select(Profile.domain))))) or "none yet"
        raise NotFound(f"no profile serves the domain {domain!r} (there are: {names})")
    return profile


async def preview(tx: AsyncSession, order: CycleOrder) -> str:
    """Say what the order's budget buys, before anything is spent. Raises like `create_cycle`."""
    layer = _layer(order.layer)
    profile = await find_profile(tx, order.domain)
    await take_traffic(tx, profile.tenant_id, profile.corpus_id)
    split = await split_questions(tx, profile.corpus_id, order.domain, layer, order.seed or 0)
    budget = check_order(order, split)
    proof = f"a proof on up to {len(_confirm(split))} fresh questions"
    return (
        f"{order.budget} judged answers pay for up to {budget.proposals} candidates "
        f"and {proof if _confirm(split) else 'no proof: too few fresh questions are left'}."
    )


def check_order(order: CycleOrder, split: Split) -> BudgetPlan:
    """Give how the budget is divided; refuse what cannot end in anything. Raises BadInput."""
    count = len(split.search) + len(split.confirm)
    if count < MIN_QUESTIONS:
        raise BadInput(
            f"the corpus of domain {order.domain!r} has {count} usable questions and a cycle "
            f"needs {MIN_QUESTIONS}: import some with `genoma import beir FOLDER`"
        )
    return plan_budget(
        _layer(order.layer),
        order.budget,
        order.max_mutations,
        len(split.search),
        len(_confirm(split)),
    )


async def make_plan(tx: AsyncSession, parts: CycleParts, cycle: Cycle) -> CyclePlan:
    """Fix everything that the cycle depends on, so that a resumed one is the same cycle."""
    layer = _layer(cycle.layer)
    split = await split_questions(tx, parts.scope.corpus_id, cycle.domain, layer, cycle.seed)
    rows = {each: await load_incumbent(tx, cycle.domain, each) for each in LAYERS}
    confirm = _confirm(split)
    genomes = GenomeSet.model_validate({e: load_genome(row.content) for e, row in rows.items()})
    context = context_of(layer, genomes, parts.scope, parts.models)
    return CyclePlan(
        layer=layer,
        incumbent_id=rows[layer].id,
        genomes=genomes,
        context=context,
        concurrency=parts.concurrency,
        remembered=await find_remembered(tx, cycle.domain, layer, context),
        corpus_version=parts.scope.corpus_version,
        models=parts.models,
        search_questions=split.search,
        confirm_questions=confirm,
        looks=planned_looks(len(confirm)) if confirm else (),
        dialogues=await load_dialogues(tx, parts.scope.corpus_id, split.confirm),
        tried=await load_tried(tx, cycle.domain, layer),
        note="" if confirm else _too_few(split),
    )


def _confirm(split: Split) -> tuple[UUID, ...]:
    return split.confirm if len(split.confirm) >= MIN_CONFIRM else ()


def _too_few(split: Split) -> str:
    return (
        f"only {len(split.confirm)} fresh questions are left and a proof needs {MIN_CONFIRM}: "
        "this cycle only explores"
    )


def _layer(name: str) -> Layer:
    for layer in LAYERS:
        if layer == name:
            return layer
    raise BadInput(f"there is no layer {name!r}: it is one of {', '.join(LAYERS)}")
