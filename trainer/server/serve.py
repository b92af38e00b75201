"""Runs the server until a signal ends it; requests that are being answered are finished first."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from trainer.server.address import is_loopback
from trainer.server.app import make_app
from trainer.server.settings import ServerSettings
from trainer.speech.synthesizer import Synthesizer
from trainer.training.signals import HANDLED, Interrupted

KEY_VARIABLE = "MYXTTS_API_KEY"
GRACE_S = 30  # after a signal, for the requests that the server is answering
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")


def serve(
    synthesizer: Synthesizer,
    *,
    address: socket.socket,
    settings: ServerSettings,
    log: Callable[[str], object],
) -> None:
    """Serve at a bound socket.

    Args:
        settings: its key and host names are replaced by those that the environment and the address say.

    Raises:
        Interrupted: SIGINT or SIGTERM ended the server.
    """
    host, port = address.getsockname()[:2]
    is_local = is_loopback(host)
    key = os.environ.get(KEY_VARIABLE) or None
    settings = settings._replace(api_key=key, allowed_hosts=(host, *LOCAL_NAMES) if is_local else ("*",))
    if not is_local and key is None:
        log(f"everyone who reaches {host}:{port} may use this server; set {KEY_VARIABLE} to ask for a key")
    log(f"http://{f'[{host}]' if ':' in host else host}:{port}: {synthesizer.run}, {synthesizer.checkpoint}")
    config = uvicorn.Config(
        make_app(synthesizer, settings=settings, log=log),
        log_level="warning",
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
    )
    with _signals_as_exceptions():  # uvicorn finishes its requests, and then raises the signal once more
        uvicorn.Server(config).run(sockets=[address])


@contextlib.contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    def end(number: int, _: FrameType | None) -> None:
        raise Interrupted(f"{signal.Signals(number).name}: the server has ended", signal_number=number)

    before = {number: signal.signal(number, end) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
