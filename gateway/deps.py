"""What the API is given, and who calls."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from accounts.keys import resolve_tenant
from kit.db import Database
from kit.errors import NotAllowed
from models.contract import Turn
from pipeline.state import State

Ask = Callable[[UUID, str, str, Sequence[Turn]], Awaitable[State]]
"""(tenant, profile, question, history) -> the finished run, its trace and ledger committed."""


@dataclass(frozen=True)
class GatewayParts:
    db: Database
    ask: Ask


def get_parts(request: Request) -> GatewayParts:
    parts: GatewayParts = request.app.state.parts
    return parts


Parts = Annotated[GatewayParts, Depends(get_parts)]


async def resolve_caller(request: Request, parts: Parts) -> UUID:
    """Tell whose key the request carries: nothing in a body ever names a tenant."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise NotAllowed("give your API key as `Authorization: Bearer KEY`")
    async with parts.db.transaction() as tx:
        return await resolve_tenant(tx, key.strip())


Caller = Annotated[UUID, Depends(resolve_caller)]
