"""What an approval is bound to: if any of it moves, the approval is void."""

import hashlib
import json

from sqlalchemy.ext.asyncio import AsyncSession

from evolution.genomes import load_incumbent
from models.contract import Frozen
from models.genome import LAYERS, Layer, short_name

BOUND_ROLES = ("reader", "router", "embedder", "judge")
"""Roles whose model stands behind a proof; who wrote the mutation does not matter to it."""

ROLLOUT = "all traffic at once; roll back at any moment"


class Binding(Frozen):
    """Everything that the proof holds for."""

    genome: str
    active: dict[Layer, str]
    """Layer -> content hash of what live serves; the genome's own layer holds the incumbent."""
    models: dict[str, str]
    evaluation: str
    """Hash of the proof with all its pairs."""
    rollout: str = ROLLOUT

    def digest(self) -> str:
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def moved(self, now: "Binding") -> list[str]:
        """Say in words what differs between the proof and `now`."""
        layers = [
            f"the active {layer} genome is now {short_name(now.active[layer])}"
            for layer in LAYERS
            if self.active[layer] != now.active[layer]
        ]
        roles = [
            f"the {role} is now {now.models.get(role, 'none')}"
            for role in BOUND_ROLES
            if self.models.get(role) != now.models.get(role)
        ]
        return layers + roles


async def bind(
    tx: AsyncSession, domain: str, genome_hash: str, models: dict[str, str], evaluation: str
) -> Binding:
    """Read what live serves in `domain` now and bind it to the genome and its evaluation."""
    active = {layer: (await load_incumbent(tx, domain, layer)).content_hash for layer in LAYERS}
    return Binding(
        genome=genome_hash,
        active=active,
        models={role: models[role] for role in BOUND_ROLES if role in models},
        evaluation=evaluation,
    )
