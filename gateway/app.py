"""The OpenAI-compatible API: a thin face over accounts and pipeline."""

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from accounts.profiles import list_profiles
from gateway.deps import Caller, GatewayParts, Parts
from gateway.envelope import LimitBody, NameRequest
from gateway.errors import install_errors
from gateway.wire import MODEL, ChatCompletionRequest, completion, read_request


def make_gateway(parts: GatewayParts) -> ASGIApp:
    """Make the app that the lab mounts at `/v1`."""
    app = FastAPI(title="Genoma", openapi_url=None)
    app.state.parts = parts
    app.add_middleware(LimitBody)
    install_errors(app)
    app.post("/chat/completions")(complete_chat)
    app.get("/models")(list_models)
    # Around all of the app, so that its answer to an unforeseen error has a name as well.
    return NameRequest(app)


async def complete_chat(body: ChatCompletionRequest, parts: Parts, tenant: Caller) -> Any:
    """Answer the last user message out of the tenant's documents."""
    request = read_request(body)
    state = await parts.ask(tenant, request.profile, request.question, request.history)
    return completion(state, body.model, request.notes)


async def list_models(parts: Parts, tenant: Caller) -> Any:
    """List the tenant's profiles as models."""
    async with parts.db.transaction(tenant) as tx:
        profiles = await list_profiles(tx)
    return {"object": "list", "data": [_model(p.name, p.created_at.timestamp()) for p in profiles]}


def _model(profile: str, created: float) -> dict[str, Any]:
    name = MODEL if profile == "default" else f"{MODEL}/{profile}"
    return {"id": name, "object": "model", "created": int(created), "owned_by": "genoma"}
