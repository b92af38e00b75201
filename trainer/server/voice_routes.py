"""Routes of the saved voices: list, save from uploaded clips, delete. No name from a client becomes a path."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse

from shared.errors import UserError
from trainer.server.api_errors import ApiError
from trainer.server.model_thread import ModelThread
from trainer.server.settings import MAX_CLIPS, MAX_VOICES, ServerSettings
from trainer.speech.reference import Reference, decode_reference
from trainer.speech.synthesizer import Synthesizer
from trainer.speech.voice import Voice
from trainer.speech.voice_store import NO_VOICE, check_name

EXPECTED = "expected a form with the field `name` and clips of the voice"


class VoiceRoutes:
    """List, save and delete voices."""

    def __init__(self, synthesizer: Synthesizer, *, thread: ModelThread, settings: ServerSettings):
        self._synthesizer, self._thread, self._settings = synthesizer, thread, settings

    async def list_voices(self, _: Request) -> JSONResponse:
        """GET /v1/audio/voices: all voices that a request may name."""
        own = [{"id": NO_VOICE, "name": NO_VOICE}] if self._synthesizer.speaks_without_voice else []
        saved = await asyncio.to_thread(self._synthesizer.voices.list_voices)
        return JSONResponse({"object": "list", "data": own + [_described(one.voice) for one in saved]})

    async def save(self, request: Request) -> JSONResponse:
        """POST /v1/audio/voices: a form with `name` and one or several clips."""
        async with self._form(request) as form:
            name = form.get("name")
            files = [one for one in form.values() if isinstance(one, UploadFile)]
            if not isinstance(name, str):
                raise ApiError(f"name: absent; {EXPECTED}", param="name")
            if not files:
                raise ApiError(f"no clip; {EXPECTED}")
            with self._thread.admitted():  # the form is on the disk until then
                clips = [await one.read() for one in files]
                voice = await self._thread.run(self._saved, name, clips)
        return JSONResponse(_described(voice))

    @contextlib.asynccontextmanager
    async def _form(self, request: Request) -> AsyncIterator[FormData]:
        try:
            form = await request.form(max_files=MAX_CLIPS, max_fields=MAX_CLIPS)
        except (UnicodeError, LookupError) as error:  # of the charset that the client names
            raise ApiError(f"the form: {error}; {EXPECTED}, in UTF-8") from error
        try:
            yield form
        finally:
            await form.close()

    def _saved(self, name: str, clips: list[bytes]) -> Voice:
        check_name(name)
        store, most_s = self._synthesizer.voices, self._settings.max_upload_s
        if len(store.list_voices()) >= MAX_VOICES:
            raise ApiError(f"voice {name}: not saved; there are {MAX_VOICES} voices already, delete one")
        references: list[Reference] = []
        for number, clip in enumerate(clips, 1):
            left_s = most_s - sum(one.signal.duration_s for one in references)
            references.append(decode_reference(clip, name=f"{number}", max_duration_s=left_s))
        voice = self._synthesizer.make_voice(references, name=name)
        store.save(voice)
        return voice

    async def delete(self, request: Request) -> JSONResponse:
        """DELETE /v1/audio/voices/NAME."""
        name = request.path_params["name"]
        try:
            await asyncio.to_thread(self._synthesizer.voices.delete, name)
        except UserError as error:
            raise ApiError(str(error), status=404, param="voice") from error
        return JSONResponse({"id": name, "deleted": True})


def _described(voice: Voice) -> dict[str, object]:
    return {"id": voice.name, "name": voice.name, "object": "audio.voice", "duration_s": round(voice.duration_s, 2)}
