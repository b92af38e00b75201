"""The saved voices of a run: files in a folder, found by the name that each file holds.

No name becomes part of a path: a file is named after the hash of its voice's name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shared.errors import UserError
from trainer.speech.voice import Voice, read_voice, write_voice

MAX_NAME_CHARACTERS = 64
SUFFIX = ".safetensors"
NO_VOICE = "default"  # the name of the voice that a model chooses


class SavedVoice(NamedTuple):
    """A voice and its file."""

    voice: Voice
    path: Path


class VoiceStore:
    """The voices in a folder; any voice file may be copied into it."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._loaded: dict[tuple[Path, int, int], Voice] = {}  # by path, time of change and size

    def list_voices(self, *, log: Callable[[str], object] = lambda _: None) -> list[SavedVoice]:
        """All voices, by name; `log` receives a line for each file that is no voice."""
        loaded: dict[tuple[Path, int, int], Voice] = {}
        for path in self._folder.glob(f"*{SUFFIX}"):
            try:
                state = path.stat()
                key = path, state.st_mtime_ns, state.st_size
                loaded[key] = self._loaded.get(key) or read_voice(path)
            except (UserError, FileNotFoundError) as error:  # another process may have deleted it
                log(str(error))
        self._loaded = loaded
        found = [SavedVoice(voice, path) for (path, _, _), voice in loaded.items()]
        return sorted(found, key=lambda one: (one.voice.name, one.path))

    def find(self, name: str) -> SavedVoice:
        """The voice of a name.

        Raises:
            UserError: there is none of this name, or several.
        """
        saved = self.list_voices()
        found = [one for one in saved if one.voice.name == name]
        if len(found) > 1:
            raise UserError(f"voice {name}: several files hold it: {', '.join(str(one.path) for one in found)}")
        if not found:
            names = ", ".join(one.voice.name for one in saved) or "none; `myxtts-speak voice save` makes one"
            raise UserError(f"voice {name}: not saved; there are: {names}")
        return found[0]

    def save(self, voice: Voice, *, replace: bool = False) -> Path:
        """Save a voice under its name; return its file.

        Raises:
            UserError: the name is not usable or is taken, or the folder cannot be written.
        """
        check_name(voice.name)
        path = self._folder / f"{hashlib.blake2b(voice.name.encode(), digest_size=12).hexdigest()}{SUFFIX}"
        older = self._files(voice.name)
        if (older or path.exists()) and not replace:
            raise UserError(f"voice {voice.name}: there is one already; delete it first, or choose another name")
        write_voice(path, voice)
        for other in older:
            if other != path:
                other.unlink(missing_ok=True)
        return path

    def delete(self, name: str) -> None:
        """Delete all voices of a name.

        Raises:
            UserError: there is none of this name.
        """
        for path in self._files(name) or [self.find(name).path]:
            path.unlink(missing_ok=True)

    def _files(self, name: str) -> list[Path]:
        return [one.path for one in self.list_voices() if one.voice.name == name]


def check_name(name: str) -> None:
    """Raises UserError if a voice cannot have a name."""
    if not (name.strip() == name and name.isprintable() and 1 <= len(name) <= MAX_NAME_CHARACTERS):
        shown = repr(name[:MAX_NAME_CHARACTERS])
        raise UserError(f"voice {shown}: not a name; expected 1 to {MAX_NAME_CHARACTERS} printable characters")
    if name == NO_VOICE or name.endswith(SUFFIX):
        raise UserError(f"voice {name}: not a name; {NO_VOICE} is the model's own voice, and {SUFFIX} ends a path")
