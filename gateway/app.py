"""The OpenAI-compatible API: a thin face over accounts and pipeline."""

from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from accounts.profiles import list_profiles
from gateway.deps import Caller, GatewayParts, Parts
from gateway.errors import install_errors
from gateway.wire import MODEL, ChatCompletionRequest, completion, read_request


class RequestId:
    """Names each response, so that a client's report can be found in the logs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = f"req_{uuid4().hex}".encode()

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"x-request-id", name)]
            await send(message)

        await self._app(scope, receive, send_named)


def make_gateway(parts: GatewayParts) -> FastAPI:
    """Make the app that the lab mounts at `/v1`."""
    app = FastAPI(title="Genoma", docs_url=None, redoc_url=None)
    app.state.parts = parts
    app.add_middleware(RequestId)
    install_errors(app)
    app.post("/chat/completions")(complete_chat)
    app.get("/models")(list_models)
    return app


async def complete_chat(body: ChatCompletionRequest, parts: Parts, tenant: Caller) -> Any:
    """Answer the last user message out of the tenant's documents."""
    profile, question, history = read_request(body)
    state = await parts.ask(tenant, profile, question, history)
    return completion(state, body.model)


async def list_models(parts: Parts, tenant: Caller) -> Any:
    """List the tenant's profiles as models."""
    async with parts.db.transaction(tenant) as tx:
        profiles = await list_profiles(tx)
    return {"object": "list", "data": [_model(p.name, p.created_at.timestamp()) for p in profiles]}


def _model(profile: str, created: float) -> dict[str, Any]:
    name = MODEL if profile == "default" else f"{MODEL}/{profile}"
    return {"id": name, "object": "model", "created": int(created), "owned_by": "genoma"}
