"""What goes wrong at model endpoints; the model's name chooses it.

Besides the names in `BEHAVIOURS`: `hang`, `truncated` (half of the reply, `length`), `slow-250`
(milliseconds), `busy-2` and `broken-2` (that many times, then well), `busy-2-700` (which asks to
wait for 700 ms), `picky` (refuses `max_tokens` and `temperature`, as newer models do). Any other
name answers well.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse


def _error(
    status: int, message: str, headers: dict[str, str] | None = None, **more: str
) -> Response:
    return JSONResponse({"error": {"message": message, **more}}, status, headers)


async def _drip() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


BEHAVIOURS: dict[str, Callable[[], Response]] = {
    "refused": lambda: _error(401, "Incorrect API key provided: the-k**"),
    "forbidden": lambda: _error(403, "Country not supported"),
    "unknown": lambda: _error(404, "The model does not exist"),
    "bad-request": lambda: _error(400, "messages: too many"),
    "busy": lambda: _error(429, "Slow down", {"Retry-After": "7"}),
    "busy-ms": lambda: _error(429, "Slow down", {"Retry-After-Ms": "1500", "Retry-After": "9"}),
    "quota": lambda: _error(429, "Quota exceeded", code="insufficient_quota"),
    "broken": lambda: _error(500, "Internal error"),
    "overloaded": lambda: _error(503, "Overloaded", {"Retry-After": "3"}),
    "html": lambda: Response("<html><body>Welcome</body></html>", media_type="text/html"),
    "html-502": lambda: Response("<html>Bad gateway</html>", 502, media_type="text/html"),
    "empty": lambda: Response(b"", media_type="application/json"),
    "error-in-200": lambda: _error(200, "upstream failed"),
    "no-choices": lambda: JSONResponse({"object": "chat.completion", "choices": []}),
    "null": lambda: Response(b"null", media_type="application/json"),
    "cut": lambda: Response(b'{"choices": [{"mess', media_type="application/json"),
    "deep": lambda: Response(b"[" * 100_000, media_type="application/json"),
    "drip": lambda: StreamingResponse(_drip(), media_type="application/json"),
}
"""Model name -> what it always answers."""


async def fault_of(request: Request, body: dict[str, Any], times: int) -> Response | None:
    """Give what goes wrong for this model, or None: it answers. `times` counts from 1."""
    model = body["model"]
    while model == "hang" and (await request.receive())["type"] != "http.disconnect":
        pass
    if match := re.fullmatch(r"slow-(\d+)", model):
        await asyncio.sleep(int(match[1]) / 1000)
    match = re.fullmatch(r"(busy|broken)-(\d+)(?:-(\d+))?", model)
    if match and times <= int(match[2]):
        busy = _error(429, "Slow down", {"Retry-After-Ms": match[3] or "20"})
        return busy if match[1] == "busy" else _error(500, "Internal error")
    if model == "echoes-key":
        return _error(403, f"No rights for {request.headers['authorization']}")
    if model == "picky":
        for name in ("max_tokens", "temperature"):
            if name in body:
                return _error(400, f"Unsupported parameter: {name}", param=name)
    return BEHAVIOURS[model]() if model in BEHAVIOURS else None
