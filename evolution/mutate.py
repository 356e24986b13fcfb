"""generate_mutations: variants of the incumbent, refused before any is paid for where not valid."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pydantic import ValidationError

from evolution.evidence import Evidence
from evolution.operators import mutate
from evolution.proposals import propose
from evolution.shapes import Refusal
from kit.chat import ChatModel
from kit.errors import BadInput, ProviderBusy, ProviderError, UnreadableReply
from models.genome import Genome, content_hash

PayFor = Callable[[int], AbstractContextManager[None]]

ATTEMPTS_A_CHILD = 10
"""Draws of a typed child before the neighbourhood counts as exhausted."""


@dataclass(frozen=True)
class Mutation:
    genome: Genome
    operator: str
    notes: str


async def generate_mutations(
    incumbent: Genome,
    evidence: Evidence,
    count: int,
    *,
    model: ChatModel | None,
    inert: frozenset[str],
    known: frozenset[str],
    rng: random.Random,
    pay: PayFor = lambda number: nullcontext(),
) -> tuple[list[Mutation], list[Refusal]]:
    """Make up to `count` different children of `incumbent`, half of them by the model if any.

    `known` holds content hashes that this domain and layer has seen: no such child is made
    again. What a model writes that is not valid, or out of reach, is a refusal with its reason.
    `pay(number)` is entered around the call for variant `number`.
    """
    seen = known | {content_hash(incumbent)}
    written, refused = await _written(model, incumbent, evidence, (count + 1) // 2, seen, pay)
    seen |= {content_hash(m.genome) for m in written}
    drawn = _drawn(incumbent, count - len(written), inert, seen, rng)
    return [*written, *drawn], refused


async def _written(
    model: ChatModel | None,
    incumbent: Genome,
    evidence: Evidence,
    count: int,
    seen: frozenset[str],
    pay: PayFor,
) -> tuple[list[Mutation], list[Refusal]]:
    mutations: list[Mutation] = []
    refused: list[Refusal] = []
    if model is None:
        return mutations, refused
    for number in range(1, count + 1):
        try:
            with pay(number):
                genome, notes = await propose(model, incumbent, evidence, number)
            _refuse_known(genome, seen, mutations)
            mutations.append(Mutation(genome, "llm", notes))
        except ProviderBusy as error:
            cause = f"the mutator is unavailable: {error}"
            raise ProviderBusy(cause, error.retry_after_s) from error
        except (BadInput, UnreadableReply, ProviderError) as error:
            refused.append(Refusal(operator="llm", reason=str(error)))
            if isinstance(error, ProviderError):
                break  # a mutator that is out of reach is not asked for the rest
    return mutations, refused


def _refuse_known(genome: Genome, seen: frozenset[str], mutations: Sequence[Mutation]) -> None:
    digest = content_hash(genome)
    if digest in seen or digest in {content_hash(m.genome) for m in mutations}:
        raise BadInput("the same genome was there before")


def _drawn(
    incumbent: Genome, count: int, inert: frozenset[str], seen: frozenset[str], rng: random.Random
) -> list[Mutation]:
    children: dict[str, Mutation] = {}
    for _ in range(count * ATTEMPTS_A_CHILD):
        if len(children) >= count:
            break
        try:
            genome, notes = mutate(incumbent, inert, rng)
        except ValidationError:
            continue  # two bounds of one gene can exclude a draw; another draw is free
        if (digest := content_hash(genome)) not in seen:
            children.setdefault(digest, Mutation(genome, "typed", notes))
    return list(children.values())
