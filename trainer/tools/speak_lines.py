"""`myxtts-speak lines`: each text of a file to an audio file of its own, in batches; resumable.

OUT/<id>.wav           the speech of a text
OUT/manifest.jsonl     a line for each: id, file, text, language, voice, duration_s, problems, request
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress

from shared.errors import UserError, writing
from shared.files import write_bytes
from shared.messages import counted, first_few
from trainer.speech.lines import Line
from trainer.speech.options import SpeechOptions
from trainer.speech.request import SynthesisRequest
from trainer.speech.speech import Speech
from trainer.speech.synthesizer import Synthesizer
from trainer.speech.voice import Voice

MAX_NAMED = 10  # texts in a message
CHUNK_LINES = 64  # whose sentences are spoken in common batches
MANIFEST = "manifest.jsonl"
ROW_KEYS = {"id", "file", "request", "problems"}

Row = dict[str, Any]


class LinesResult(NamedTuple):
    """What was spoken into a folder."""

    spoken: int
    skipped: int  # spoken by an earlier run
    duration_s: float
    implausible: list[str]  # ids, of earlier runs too


class _Task(NamedTuple):
    """A text that is to be spoken."""

    line: Line
    request: SynthesisRequest
    file: str
    key: str  # of everything that determines the speech


class LinesSpeaker:
    """Speaks lines into a folder."""

    def __init__(
        self, synthesizer: Synthesizer, *, voices: Mapping[str | None, Voice | None], options: SpeechOptions, out: Path
    ):
        """`voices` has the voice of each name in the lines; that of None is the voice of lines without a name."""
        self._synthesizer, self._voices, self._options, self._out = synthesizer, voices, options, out
        self._digests = {name: _digest(voice) for name, voice in voices.items()}
        self._weights = [_state(path) for path in synthesizer.weight_files]

    def speak(
        self, lines: Sequence[Line], *, language: str | None, suffix: str, log: Callable[[str], object]
    ) -> LinesResult:
        """Speak the lines that the folder does not hold yet.

        Args:
            language: of lines that have none.
            suffix: of the audio files, such as ".wav".
            log: receives what a user should know.

        Raises:
            UserError: a text cannot be spoken, or the folder cannot be written.
        """
        tasks = [self._task(line, language=language, suffix=suffix) for line in lines]
        with writing(self._out, advice="run the same command again"):
            self._out.mkdir(parents=True, exist_ok=True)
            rows = read_manifest(self._out)
            left = [task for task in tasks if not self._is_done(task, rows.get(task.line.id))]
            if len(left) < len(tasks):
                log(f"{self._out}: {len(tasks) - len(left)} of {counted(len(tasks), 'text')} are there already")
            new = {row["id"]: row for row in self._with_progress(left, log=log)}
            found = [new.get(task.line.id) or rows[task.line.id] for task in tasks]
            self._log_others(rows, tasks=tasks, log=log)
            write_bytes(self._out / MANIFEST, b"".join(map(_encoded, found)))
        return LinesResult(
            spoken=len(left),
            skipped=len(tasks) - len(left),
            duration_s=sum(float(row["duration_s"]) for row in new.values()),
            implausible=[row["id"] for row in found if row["problems"]],
        )

    def _log_others(self, rows: dict[str, Row], *, tasks: list[_Task], log: Callable[[str], object]) -> None:
        """Tell of the files that the manifest will no longer list."""
        listed = {str(row["file"]) for row in rows.values()} - {task.file for task in tasks}
        others = sorted(name for name in listed if (self._out / name).is_file())
        if others:
            named = first_few(others, most=MAX_NAMED)
            log(f"{self._out}: not of these texts, left by earlier ones: {named}")

    def _task(self, line: Line, *, language: str | None, suffix: str) -> _Task:
        try:
            request = self._synthesizer.front_end.prepare(line.text, language=line.language or language)
        except UserError as error:
            raise UserError(f"{line.id}: {error}") from error
        said = (line.text, request, self._digests[line.voice], self._options, self._weights)
        key = hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()
        return _Task(line, request, file=f"{line.id}{suffix}", key=key)

    def _is_done(self, task: _Task, row: Row | None) -> bool:
        is_same = row is not None and (row.get("request"), row.get("file")) == (task.key, task.file)
        return is_same and (self._out / task.file).is_file()

    def _with_progress(self, tasks: list[_Task], *, log: Callable[[str], object]) -> Iterator[Row]:
        bar = Progress(console=Console(stderr=True), transient=True)
        with bar, (self._out / MANIFEST).open("ab", buffering=0) as manifest:
            manifest.write(b"\n")  # ends a row that a killed process cut off
            for row in bar.track(self._speak(tasks, log=log), total=len(tasks), description="texts"):
                manifest.write(_encoded(row))
                yield row

    def _speak(self, tasks: list[_Task], *, log: Callable[[str], object]) -> Iterator[Row]:
        """Speak tasks into their files; a row follows when its file is written."""
        for start in range(0, len(tasks), CHUNK_LINES):
            chunk = sorted(tasks[start : start + CHUNK_LINES], key=_voice_of)
            for _, group in itertools.groupby(chunk, key=_voice_of):
                alike = list(group)
                voice = alike[0].line.voice
                speeches = self._synthesizer.speak_batch(
                    [task.request for task in alike], voice=self._voices[voice], options=self._options, log=log
                )
                for task, speech in zip(alike, speeches, strict=True):
                    speech.write(self._out / task.file)
                    yield _row(task, speech)


def read_manifest(folder: Path) -> dict[str, Row]:
    """The last row of each text; a row that a killed process cut off is left out."""
    path = folder / MANIFEST
    rows: dict[str, Row] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []:
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict) and row.keys() >= ROW_KEYS:
                rows[str(row["id"])] = row
    return rows


def _row(task: _Task, speech: Speech) -> Row:
    problems = [problem for piece in speech.pieces for problem in piece.problems]
    return {
        "id": task.line.id,
        "file": task.file,
        "text": task.line.text,
        "language": task.request.language,
        "voice": task.line.voice,
        "duration_s": round(speech.duration_s, 3),
        "problems": problems,
        "request": task.key,
    }


def _voice_of(task: _Task) -> tuple[str, str]:
    """The language and the voice of a text; texts of the same ones are spoken in common batches."""
    return task.request.language, task.line.voice or ""


def _digest(voice: Voice | None) -> str:
    """A hash of the clips of a voice."""
    digest = hashlib.blake2b(digest_size=16)
    for mel in () if voice is None else voice.mels:
        digest.update(mel.tobytes() + str(mel.shape).encode())
    return digest.hexdigest()


def _state(path: Path) -> tuple[str, int, int]:
    """What changes when a file is another one."""
    state = path.stat()
    return str(path.resolve()), state.st_mtime_ns, state.st_size


def _encoded(row: Row) -> bytes:
    return f"{json.dumps(row, ensure_ascii=False)}\n".encode()


def result_lines(result: LinesResult, *, out: Path) -> Iterator[str]:
    """What was spoken, and which texts are implausible, for a user."""
    spoken = counted(result.spoken, "text")
    yield f"{out}: {spoken} spoken, {result.duration_s:.1f} s; {result.skipped} were there already"
    if result.implausible:
        named = first_few(result.implausible, most=MAX_NAMED)
        yield f"may not be what the text says ({MANIFEST} tells why): {named}"
