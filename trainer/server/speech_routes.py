"""Routes that speak: audio as a stream, and sentences with their pictures as JSON lines."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Generator

import numpy as np
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from trainer.server.api_errors import ApiError
from trainer.server.model_thread import ModelThread
from trainer.server.settings import ServerSettings
from trainer.server.speech_body import SpeechBody
from trainer.speech.audio_file import STREAM_FORMATS, encode_stream, encode_wav
from trainer.speech.speech import SpokenPiece, SpokenPieces, with_problems_logged
from trainer.speech.synthesizer import Synthesizer

POLL_S = 0.25  # between looks whether a client that waits for its first sentence is still there


class ClosingResponse(StreamingResponse):
    """A stream whose generator is closed when the response ends, also when the client has left."""

    def __init__(self, content: AsyncIterator[bytes], *, media_type: str, log: Callable[[str], object]):
        super().__init__(content, media_type=media_type)
        self._content, self._log = content, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except TimeoutError:
            self._log("a client read nothing any more; the rest of its text is not spoken")
        finally:
            await self._content.aclose()  # type: ignore[attr-defined]


class SpeechRoutes:
    """Speak texts."""

    def __init__(
        self, synthesizer: Synthesizer, *, thread: ModelThread, settings: ServerSettings, log: Callable[[str], object]
    ):
        """`log` receives what the answer does not tell: unknown characters, sentences that may not be what they say."""
        self._synthesizer, self._thread, self._settings, self._log = synthesizer, thread, settings, log

    async def speech(self, request: Request) -> ClosingResponse:
        """POST /v1/audio/speech: the audio, sentence by sentence as it is spoken."""
        body = await self._body(request)
        rate_hz, name = self._synthesizer.rate_hz, body.response_format

        def encoded() -> Generator[bytes, None, None]:
            blocks = (piece.samples_with_pause(rate_hz) for piece in self._spoken(body).pieces)
            return encode_stream(blocks, name=name, rate_hz=rate_hz)

        return await self._response(request, encoded, media_type=STREAM_FORMATS[name].media_type)

    async def sentences(self, request: Request) -> ClosingResponse:
        """POST /v1/audio/sentences: a line of JSON for each sentence, with audio, mel and alignment."""
        body = await self._body(request)

        def lines() -> Generator[bytes, None, None]:
            spoken = self._spoken(body)
            rate_hz = self._synthesizer.rate_hz
            return (sentence_line(piece, total=spoken.total, rate_hz=rate_hz) for piece in spoken.pieces)

        return await self._response(request, lines, media_type="application/x-ndjson")

    async def _body(self, request: Request) -> SpeechBody:
        body = SpeechBody.model_validate_json(await request.body())
        if len(body.input) > self._settings.max_characters:
            most = self._settings.max_characters
            raise ApiError(f"input: {len(body.input):,} characters, expected at most {most:,}", param="input")
        return body

    def _spoken(self, body: SpeechBody) -> SpokenPieces:
        prepared = self._synthesizer.front_end.prepare(body.input, language=body.language)
        voice = None if body.voice_name is None else self._synthesizer.voices.find(body.voice_name).voice
        options = body.options(max_sentence_s=self._settings.max_sentence_s)
        spoken = self._synthesizer.speak(prepared, voice=voice, options=options, in_batches=False, log=self._log)
        return spoken._replace(pieces=with_problems_logged(spoken.pieces, log=self._log))

    async def _response(
        self, request: Request, make: Callable[[], Generator[bytes, None, None]], *, media_type: str
    ) -> ClosingResponse:
        """The response, once its first bytes are there: until then an error has a status of its own."""
        chunks = self._thread.iterate(make)
        try:
            first = await _unless_left(request, chunks)
        except BaseException:
            await chunks.aclose()  # type: ignore[attr-defined]
            raise

        async def content() -> AsyncIterator[bytes]:
            async with contextlib.aclosing(chunks):  # type: ignore[type-var]
                yield first
                async for chunk in chunks:
                    yield chunk

        return ClosingResponse(content(), media_type=media_type, log=self._log)


async def _unless_left(request: Request, chunks: AsyncIterator[bytes]) -> bytes:
    """The first chunk; raises ApiError if the client leaves before it is there."""
    first = asyncio.ensure_future(anext(chunks))
    try:
        while not (await asyncio.wait([first], timeout=POLL_S))[0]:
            if await request.is_disconnected():
                raise ApiError("the client has left", status=408)
        return first.result()
    finally:
        if not first.done():
            first.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await first


def sentence_line(piece: SpokenPiece, *, total: int, rate_hz: int) -> bytes:
    """A sentence as a line of JSON: numbers of pictures are bytes in base64, rows from bottom to top."""
    audio = encode_wav(piece.samples_with_pause(rate_hz), rate_hz=rate_hz)
    line = {
        "total": total,
        "text": piece.text,
        "duration_s": len(piece.samples) / rate_hz,
        "problems": piece.problems,
        "audio": base64.b64encode(audio).decode(),
        "mel": _picture(piece.mel),
        "alignment": _picture(piece.alignment),
    }
    return json.dumps(line).encode() + b"\n"


def _picture(values: np.ndarray) -> dict[str, object]:
    """Values [columns, rows] as bytes from 0, the least, to 255."""
    least, most = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    scaled = (values - least) * (255.0 / max(most - least, 1e-9))
    data = np.ascontiguousarray(scaled.T).astype(np.uint8).tobytes()
    return {"columns": values.shape[0], "rows": values.shape[1], "values": base64.b64encode(data).decode()}
