"""The state of what a record is made from: the utterance as the corpus lists it, and its recording's file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from pipelines.build.listing import Element
from preprocess.parts import containing_file
from preprocess.utterance import NO_CUSTOM, Utterance

STATE_BYTES = 16


def input_state(element: Element) -> bytes:
    """Hash of an utterance or a rejected row, and of its audio file's size, modification time and access; 16 bytes.

    The recording is not read. Its state changes if the file is written, replaced or made unreadable. Custom columns
    have no part in it: a record does not depend on them.
    """
    if isinstance(element, Utterance):
        facts = (element.id, element.audio_path, element.text, element.language, element.speaker)
        document = "\0".join((*facts, _file_state(containing_file(element.audio_path))))
    else:
        document = repr(element)
    return hashlib.blake2b(document.encode(errors="backslashreplace"), digest_size=STATE_BYTES).digest()


def _file_state(path: str) -> str:
    try:
        state = os.stat(path)  # noqa: PTH116 - a third of the time of Path.stat, once for every utterance
    except (OSError, ValueError) as error:  # ValueError: a path that can be no file's
        return type(error).__name__
    return f"{state.st_size} {state.st_mtime_ns} {os.access(path, os.R_OK)}"  # chmod leaves a file's time as it is


class InputSum:
    """The sum of the input states and custom columns of a shard, in which their order plays no part.

    A build adds the elements as the corpora list them and holds one number per shard.
    """

    def __init__(self) -> None:
        self._sum = 0

    def add(self, element: Element, *, state: bytes) -> None:
        """Add an element with its input state."""
        if isinstance(element, Utterance) and element.custom != NO_CUSTOM:
            state = hashlib.blake2b(state + element.custom.encode(), digest_size=STATE_BYTES).digest()
        self._sum += int.from_bytes(state, "big")

    def hexdigest(self, *, fingerprint: str) -> str:
        """The hash of the sum and of everything else that determines the prepared rows; 32 hexadecimal digits."""
        total = self._sum % (1 << 8 * STATE_BYTES)
        document = f"{fingerprint} {total:032x}".encode()
        return hashlib.blake2b(document, digest_size=16).hexdigest()


def shard_inputs(elements: Iterable[tuple[Element, bytes]], *, fingerprint: str) -> str:
    """The hash of a shard's inputs, from all its utterances and rejected rows with their input states."""
    total = InputSum()
    for element, state in elements:
        total.add(element, state=state)
    return total.hexdigest(fingerprint=fingerprint)
