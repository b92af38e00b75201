"""Limits of the server."""

from __future__ import annotations

from typing import NamedTuple

MAX_CLIPS = 8  # of an uploaded voice
MAX_VOICES = 200  # that clients may save
MAX_CHARACTER_BYTES = 6  # of a character in JSON: \uXXXX


class ServerSettings(NamedTuple):
    """What a client may ask for."""

    api_key: str | None = None  # None: everyone who reaches the server may use it
    max_characters: int = 4096  # of a text, as in OpenAI's API
    max_requests: int = 8  # spoken or waiting at a time; further ones are refused with 429
    max_upload_bytes: int = 25 << 20  # of a form with clips
    max_upload_s: float = 120.0  # of the clips of an uploaded voice together
    max_sentence_s: float = 20.0
    max_client_wait_s: float = 60.0  # for a part of a request's body, or until a client reads more
    max_json_bytes: int = 1 << 16  # of any other request, beside MAX_CHARACTER_BYTES for each character of a text
    allowed_hosts: tuple[str, ...] = ("*",)  # names by which clients may call the server
