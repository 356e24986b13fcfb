"""Errors as OpenAI's clients expect them: {"error": {message, type, param, code}}."""

from typing import Any

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
)

_KINDS: tuple[tuple[type[GenomaError], int, str, str], ...] = (
    (TooLong, 413, "invalid_request_error", "string_above_max_length"),
    (BadInput, 400, "invalid_request_error", "invalid_value"),
    (NotAllowed, 401, "authentication_error", "invalid_api_key"),
    (NotFound, 404, "invalid_request_error", "model_not_found"),
    (Conflict, 409, "invalid_request_error", "conflict"),
    (BudgetExhausted, 429, "insufficient_quota", "insufficient_quota"),
    (ProviderBusy, 429, "rate_limit_error", "rate_limit_exceeded"),
    (ProviderError, 502, "api_error", "upstream_error"),
)


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
    headers = {}
    if isinstance(error, ProviderBusy) and error.retry_after_s is not None:
        headers["retry-after"] = str(round(error.retry_after_s))
    if isinstance(error, BudgetExhausted):
        headers["x-should-retry"] = "false"
    return JSONResponse(error_body(str(error), kind, code), status, headers)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    param = ".".join(str(part) for part in first["loc"] if part != "body")
    message = f"{param}: {first['msg']}" if param else first["msg"]
    return JSONResponse(error_body(message, "invalid_request_error", "invalid_value", param), 400)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    body = error_body(str(error.detail), "invalid_request_error", "not_found")
    return JSONResponse(body, error.status_code)


async def _unknown(request: Request, error: Exception) -> JSONResponse:
    body = error_body("something went wrong here", "api_error", "internal_error")
    return JSONResponse(body, 500)
