"""Checks of each request before it reaches a route: its key, its origin, the size of its body."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainer.server.api_errors import ApiError, error_response
from trainer.server.settings import MAX_CHARACTER_BYTES, ServerSettings

UPLOAD_PATH = "/v1/audio/voices"
OPEN_PATHS = {"/", "/health", "/page.js", "/page.css"}


class RequestGuard:
    """Refuses requests without the key, from pages of other sites, or with bodies that are too large."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings):
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope["path"], Headers(scope=scope))
        except ApiError as error:
            await error_response(str(error), status=error.status)(scope, receive, send)
            return
        await self._app(scope, _limited(receive, most_bytes=self._most_bytes(scope["path"])), send)

    def _most_bytes(self, path: str) -> int:
        settings = self._settings
        if path == UPLOAD_PATH:
            return settings.max_upload_bytes
        return settings.max_json_bytes + MAX_CHARACTER_BYTES * settings.max_characters

    def _check(self, path: str, headers: Headers) -> None:
        if (origin := headers.get("origin")) and _host_of(origin) != headers.get("host"):
            raise ApiError("requests from pages of other sites are refused", status=403)
        key = self._settings.api_key
        if key is not None and path not in OPEN_PATHS:
            given = headers.get("authorization", "")
            if not hmac.compare_digest(given.encode("latin-1"), f"Bearer {key}".encode()):  # as headers are decoded
                raise ApiError("no key, or a wrong one; expected the header `Authorization: Bearer KEY`", status=401)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most_bytes(path):
            raise _too_large(self._most_bytes(path))


def _host_of(origin: str) -> str | None:
    """The host and port of an origin; None if it has none."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


def _limited(receive: Receive, *, most_bytes: int) -> Receive:
    """Wrap `receive`: a body of more than `most_bytes` bytes is refused, whatever its headers say."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most_bytes:
            raise _too_large(most_bytes)
        return message

    return limited


def _too_large(most_bytes: int) -> ApiError:
    return ApiError(f"the request: expected at most {most_bytes:,} bytes", status=413)
