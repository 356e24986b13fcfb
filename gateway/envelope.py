"""What surrounds each request, as pure ASGI: a name for the logs, and a limit of size."""

from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 2_000_000
"""A question has at most 8,000 characters: this is room for a long conversation before it."""


class NameRequest:
    """Gives each request an id: in `x-request-id`, in its errors, and in the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = f"req_{uuid4().hex}"

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-request-id", name.encode())]
            await send(message)

        named = {**scope, "state": {**scope.get("state", {}), "request_id": name}}
        await self._app(named, receive, send_named)


class LimitBody:
    """Stops to read a body that is larger than MAX_BODY_BYTES, whatever length it claims."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken = 0

        async def receive_limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MAX_BODY_BYTES:
                raise HTTPException(413, f"the body is larger than {MAX_BODY_BYTES:,} bytes")
            return message

        await self._app(scope, receive_limited, send)
