"""Errors of a request, in the form that clients of OpenAI's API read."""

from __future__ import annotations

import pydantic
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from shared.errors import UserError

RETRY_AFTER_S = 1


class ApiError(Exception):
    """An error that ends a request, with its HTTP status."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None):
        super().__init__(message)
        self.status, self.param = status, param


def error_response(message: str, *, status: int, param: str | None = None) -> JSONResponse:
    """The body and headers of an error."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 429 else {}
    headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    error = {"message": message, "type": kind, "param": param, "code": None}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


async def answer_api_error(_: Request, error: Exception) -> JSONResponse:
    """The response to an ApiError."""
    assert isinstance(error, ApiError)
    return error_response(str(error), status=error.status, param=error.param)


async def answer_user_error(_: Request, error: Exception) -> JSONResponse:
    """The response to a mistake that the synthesizer found."""
    return error_response(str(error), status=400)


async def answer_invalid_body(_: Request, error: Exception) -> JSONResponse:
    """The response to a body that is not as expected."""
    assert isinstance(error, pydantic.ValidationError)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return error_response(f"{where or 'body'}: {first['msg']}", status=400, param=where or None)


async def answer_http_error(_: Request, error: Exception) -> JSONResponse:
    """The response to an unknown path, a wrong method, or a form that cannot be parsed."""
    assert isinstance(error, HTTPException)
    return error_response(str(error.detail), status=error.status_code)


async def answer_fault(_: Request, error: Exception) -> JSONResponse:
    """The response to a fault of the server; the server's log has its traceback."""
    return error_response("the server failed; its log tells why", status=500)


HANDLERS = {
    ApiError: answer_api_error,
    UserError: answer_user_error,
    pydantic.ValidationError: answer_invalid_body,
    HTTPException: answer_http_error,
    Exception: answer_fault,
}
