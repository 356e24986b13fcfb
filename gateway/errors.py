"""Errors as OpenAI's clients expect them: {"error": {message, type, param, code}}."""

from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from kit.errors import (
    BadInput,
    BudgetExhausted,
    Conflict,
    GenomaError,
    NotAllowed,
    NotFound,
    ProviderBusy,
    ProviderError,
    TooLong,
    Unavailable,
)

_KINDS: tuple[tuple[type[GenomaError], int, str, str], ...] = (
    (TooLong, 413, "invalid_request_error", "string_above_max_length"),
    (BadInput, 400, "invalid_request_error", "invalid_value"),
    (NotAllowed, 401, "authentication_error", "invalid_api_key"),
    (NotFound, 404, "invalid_request_error", "model_not_found"),
    (Conflict, 409, "invalid_request_error", "conflict"),
    (BudgetExhausted, 429, "insufficient_quota", "insufficient_quota"),
    (Unavailable, 503, "api_error", "service_unavailable"),
    (ProviderBusy, 429, "rate_limit_error", "rate_limit_exceeded"),
    (ProviderError, 502, "api_error", "upstream_error"),
)

log = structlog.get_logger()


def install_errors(app: FastAPI) -> None:
    """Answer every failure of `app` in this one shape."""
    app.add_exception_handler(GenomaError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unknown)


def error_body(message: str, kind: str, code: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


async def _known(request: Request, error: Exception) -> JSONResponse:
    status, kind, code = next(
        ((s, k, c) for cls, s, k, c in _KINDS if isinstance(error, cls)),
        (500, "api_error", "internal_error"),
    )
    message = _logged(request, error) if status in (500, 502) else str(error)
    return JSONResponse(error_body(message, kind, code), status, _headers(error, status))


def _headers(error: Exception, status: int) -> dict[str, str]:
    """Say when to come again. A failed model was asked again already: clients should not."""
    headers = {}
    if isinstance(error, ProviderBusy) and error.retry_after_s is not None:
        headers["retry-after"] = str(round(error.retry_after_s))
    if isinstance(error, BudgetExhausted) or status == 502:
        headers["x-should-retry"] = "false"
    return headers


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Of the alternatives that a value could have been, the one that went deepest was meant.
    found = max(error.errors(), key=lambda e: len(e["loc"]))
    if found["type"] == "json_invalid":
        message = f"the body is not JSON: {found['ctx']['error']} at character {found['loc'][-1]}"
        return JSONResponse(error_body(message, "invalid_request_error", "invalid_json"), 400)
    names = [str(part) for part in found["loc"][1:]]
    param = ".".join(name for name in names if name.isidentifier() or name.isdecimal())
    message = f"{param}: {found['msg']}" if param else found["msg"]
    return JSONResponse(error_body(message, "invalid_request_error", "invalid_value", param), 400)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).name.lower()
    body = error_body(str(error.detail), "invalid_request_error", code)
    return JSONResponse(body, error.status_code, error.headers)


async def _unknown(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse(error_body(_logged(request, error), "api_error", "internal_error"), 500)


def _logged(request: Request, error: Exception) -> str:
    """Keep the cause for the operator: it may name addresses that are none of a client's business.

    Give the sentence that the client reads instead.
    """
    name = request.state.request_id
    log.error("an API request failed", request_id=name, path=request.url.path, exc_info=error)
    what = "a model" if isinstance(error, ProviderError) else "something"
    return f"{what} failed on this side; the log has it as {name}"
