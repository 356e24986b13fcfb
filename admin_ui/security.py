"""What guards every request before a page sees it: scheme and host, origin, size, headers."""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
MAX_BODY_BYTES = 1_000_000
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """Pure ASGI: refuses what must not get in, and puts the headers on what goes out."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = uuid4().hex[:12]
        scope.setdefault("state", {})["request_id"] = request_id
        refusal = find_refusal(scope)
        app = PlainTextResponse(refusal[1], refusal[0]) if refusal else self.app
        await app(scope, receive, _with_headers(send, request_id))


def find_refusal(scope: Scope) -> tuple[int, str] | None:
    """Give (status, sentence) where a request must not be served, else None."""
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if scope["scheme"] == "http" and not is_loopback(host):
        return 400, f"Plain HTTP is served on loopback only, not as {host!r}: use HTTPS.\n"
    if not headers.get("content-length", "0").isdigit():
        return 400, "The Content-Length is not a number.\n"
    if int(headers.get("content-length", "0")) > MAX_BODY_BYTES:
        return 413, f"A form may hold at most {MAX_BODY_BYTES:,} bytes.\n"
    if scope["method"] not in _SAFE and not is_same_origin(headers, scope["scheme"]):
        return 403, "This form was sent by another site: open the page again and send it there.\n"
    return None


def is_loopback(host: str) -> bool:
    """Tell whether a Host header names this machine itself."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def is_same_origin(headers: Headers, scheme: str) -> bool:
    """Tell whether a page of ours sent the request, by Sec-Fetch-Site, else by Origin."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    return headers.get("origin") == f"{scheme}://{headers.get('host', '')}"


def _with_headers(send: Send, request_id: str) -> Send:
    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            _put(MutableHeaders(scope=message), {**HEADERS, "x-request-id": request_id})
        await send(message)

    return send_guarded


def _put(headers: MutableHeaders, pairs: Mapping[str, str]) -> None:
    for name, value in pairs.items():
        headers[name] = value
    headers.setdefault("cache-control", "no-store")
