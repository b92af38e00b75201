"""A server in this process, whose synthesizer speaks tones at once; and requests to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import uvicorn

from shared.dataset import Contract
from shared.errors import UserError
from trainer.server.app import make_app
from trainer.server.settings import ServerSettings
from trainer.speech.options import SpeechOptions
from trainer.speech.reference import Reference
from trainer.speech.request import SynthesisRequest, TextFrontEnd
from trainer.speech.sentences import TextPiece
from trainer.speech.speech import SpokenPiece, SpokenPieces
from trainer.speech.voice import Voice, make_voice
from trainer.speech.voice_store import VoiceStore

RATE_HZ = 22_050
WITHIN_S = 60.0


class ToneSynthesizer:
    """Speaks every sentence as a tenth of a second of a tone; `before_piece` runs before each sentence."""

    rate_hz, languages, speaks_without_voice = RATE_HZ, ("eng_Latn", "deu_Latn"), True
    checkpoint = SimpleNamespace(step=7)

    def __init__(self, run: Path, *, contract: Contract):
        self.run, self.voices, self._contract = run, VoiceStore(run / "voices"), contract
        self.front_end = TextFrontEnd(run, languages=self.languages)
        self.before_piece: Callable[[], object] = lambda: None
        self.problems: tuple[str, ...] = ()
        self.samples: np.ndarray | None = None  # of each sentence, in the place of the tone
        self.said: list[str] = []  # in the server's log
        self.closed = 0  # texts that were spoken to their end, or given up

    def make_voice(self, references: list[Reference], *, name: str) -> Voice:
        return make_voice(references, contract=self._contract, name=name)

    def speak(
        self,
        request: SynthesisRequest,
        *,
        voice: Voice | None,
        options: SpeechOptions,
        in_batches: bool,
        log: Callable[[str], object],
    ) -> SpokenPieces:
        assert not in_batches, "a batch would make others wait"
        options.check()
        if voice is not None and voice.name == "broken":
            raise UserError("voice broken: made for other mels")
        return SpokenPieces(len(request.pieces), self._pieces(request.pieces))

    def _pieces(self, pieces: tuple[TextPiece, ...]) -> Iterator[SpokenPiece]:
        try:
            for piece in pieces:
                self.before_piece()
                spoken = tone_piece(piece)._replace(problems=self.problems)
                yield spoken if self.samples is None else spoken._replace(samples=self.samples)
        finally:
            self.closed += 1


def tone_piece(piece: TextPiece) -> SpokenPiece:
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(RATE_HZ // 10) / RATE_HZ)
    return SpokenPiece(
        text=piece.text,
        tokens=np.arange(5, dtype=np.int32),
        mel=np.linspace(-11, 0, 80 * 8, dtype=np.float32).reshape(8, 80),
        alignment=np.eye(2, 5, dtype=np.float32),
        samples=tone.astype(np.float32),
        pause_s=piece.pause_s,
    )


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """The message of an error."""
        return json.loads(self.body)["error"]["message"]


class RunningServer(NamedTuple):
    """A server that answers at a port of this machine."""

    port: int
    synthesizer: ToneSynthesizer

    def request(
        self, method: str, path: str, body: bytes | dict | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request and read the whole answer; a dict is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S)
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        with contextlib.closing(connection):
            connection.request(method, path, body=content, headers=headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())

    def upload(self, name: str | None, *clips: bytes, filename: str = "clip.wav") -> Answer:
        """Upload a voice as a browser does."""
        boundary = "b0undary"
        parts = [] if name is None else [(b'name="name"', name.encode())]
        parts += [(f'name="clips"; filename="{filename}"'.encode(), clip) for clip in clips]
        body = b"".join(
            b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (boundary.encode(), head, content)
            for head, content in parts
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self.request("POST", "/v1/audio/voices", body + f"--{boundary}--\r\n".encode(), headers)


@contextlib.contextmanager
def running(run: Path, *, contract: Contract, settings: ServerSettings) -> Iterator[RunningServer]:
    """Run a server in a thread until the block ends."""
    synthesizer = ToneSynthesizer(run, contract=contract)
    app = make_app(synthesizer, settings=settings, log=synthesizer.said.append)  # type: ignore[arg-type]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    await_true(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield RunningServer(port, synthesizer)
    finally:
        server.should_exit = True
        thread.join(WITHIN_S)
        assert not thread.is_alive(), "the server has not ended"


def await_true(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.01)
