"""Checks of each request: its key, its origin, the size of its body; and bounds on how long the server waits for it."""

from __future__ import annotations

import asyncio
import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainer.server.api_errors import ApiError, error_response
from trainer.server.settings import MAX_CHARACTER_BYTES, ServerSettings

UPLOAD_PATH = "/v1/audio/voices"
OPEN_PATHS = {"/", "/health", "/page.js", "/page.css"}


class RequestGuard:
    """Refuses requests without the key, from pages of other sites, with bodies that are too large or do not arrive."""

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
        wait_s = self._settings.max_client_wait_s
        received = _limited(receive, most_bytes=self._most_bytes(scope["path"]), wait_s=wait_s)
        await self._app(scope, received, _within(send, wait_s=wait_s))

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


def _limited(receive: Receive, *, most_bytes: int, wait_s: float) -> Receive:
    """Wrap `receive`: refuse a body that has more than `most_bytes` bytes, whatever its headers say, or that stalls.

    Args:
        wait_s: for the next part of the body; behind the body, a message can only tell that the client has left.
    """
    received, is_whole = 0, False

    async def limited() -> Message:
        nonlocal received, is_whole
        try:
            async with asyncio.timeout(None if is_whole else wait_s):
                message = await receive()
        except TimeoutError:
            raise ApiError(f"the request: nothing came for {wait_s:g} s", status=408) from None
        is_whole = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > most_bytes:
            raise _too_large(most_bytes)
        return message

    return limited


def _within(send: Send, *, wait_s: float) -> Send:
    """Wrap `send`: raise TimeoutError, an OSError, if the client reads nothing for so long."""

    async def timed(message: Message) -> None:
        async with asyncio.timeout(wait_s):
            await send(message)

    return timed


def _too_large(most_bytes: int) -> ApiError:
    return ApiError(f"the request: expected at most {most_bytes:,} bytes", status=413)
