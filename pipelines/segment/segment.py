"""Finds the parts with speech of many recordings, each in a process of its own."""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from preprocess.clip_division import ClipLengths, Division
from preprocess.corpora.cues import CUE_SUFFIXES
from preprocess.corpora.folder import TEXT_SUFFIXES
from preprocess.corpora.folders import walk
from preprocess.corpora.sidecar import NamedFile, audio_files, files_with_suffix
from preprocess.corpora.source import audio_path
from preprocess.isolated import ONE_THREAD, signal_name
from preprocess.speech_activity import Region
from preprocess.utterance import Rejected
from shared.errors import UserError

MAX_PROCESS_S = 3600.0  # the longest recording, of a day, takes six minutes


class Segmented(NamedTuple):
    """A recording, and its parts."""

    path: Path
    duration_s: float = 0.0
    division: Division = Division([], [], [])
    problem: str = ""  # why the recording could not be read; empty if it was


def find_recordings(root: Path) -> list[Path]:
    """All recordings below a folder, in the order of their folders and names.

    Raises:
        UserError: there is none; or a text lies beside one; or two differ in their suffixes alone; or a name cannot
            stand in a table.
    """
    if not root.is_dir():
        raise UserError(f"{root}: no such directory; expected the folder of the recordings")
    recordings = list[Path]()
    for _, files in walk(root):
        audio = audio_files(files)
        _refuse_texts(audio, texts=files_with_suffix(files, (*TEXT_SUFFIXES, *CUE_SUFFIXES)))
        recordings += [file.path for file in audio]
    if not recordings:
        raise UserError(f"{root}: no recording below it; expected files such as chapter1.flac")
    for path in recordings:
        try:
            audio_path(root, *path.relative_to(root).parts)
        except Rejected as error:
            raise UserError(f"{path!r}: {error.message}; rename the file") from error
    return recordings


def _refuse_texts(audio: Sequence[NamedFile], *, texts: Sequence[NamedFile]) -> None:
    """Raise UserError if a recording has its text already, which times found by pauses alone could not divide."""
    counts = collections.Counter(file.stem for file in audio)
    if twice := [file.path for file in audio if counts[file.stem] > 1]:
        raise UserError(f"{twice[0]}: another recording has this name, {twice[1].name}; move one of them away")
    for text in texts:
        if text.stem in counts:
            raise UserError(
                f"{text.path}: the text of a whole recording, which pauses alone cannot divide; expected recordings "
                "without texts. If the file has times, the reader `transcripts` cuts by them (`make corpora`); if not, "
                "an aligner writes times, such as the Montreal Forced Aligner or WhisperX"
            )


def segment(recordings: Sequence[Path], *, lengths: ClipLengths, workers: int | None = None) -> Iterator[Segmented]:
    """Find the parts with speech of each recording; yield each recording when it is done.

    Args:
        workers: processes at a time; None: one for each core.
    """
    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        futures = [pool.submit(segment_recording, path, lengths=lengths) for path in recordings]
        try:
            for future in concurrent.futures.as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def segment_recording(path: Path, *, lengths: ClipLengths) -> Segmented:
    """Find the parts with speech of one recording, in a process of its own."""
    request = json.dumps({"path": str(path), "lengths": lengths._asdict()})
    words = [sys.executable, "-P", "-m", "pipelines.segment.process"]
    try:
        ended = subprocess.run(
            words,
            input=request,
            env=os.environ | ONE_THREAD,
            capture_output=True,
            text=True,
            timeout=MAX_PROCESS_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Segmented(path, problem=f"not done within {MAX_PROCESS_S:,.0f} s")
    if ended.returncode < 0:
        return Segmented(path, problem=f"its decoder was ended by {signal_name(-ended.returncode)}")
    if ended.returncode > 0:
        raise RuntimeError(f"{path}: {ended.stderr}")
    found = json.loads(ended.stdout)
    if "problem" in found:
        return Segmented(path, problem=found["problem"])
    groups = ([Region(*pair) for pair in found[name]] for name in Division._fields)
    return Segmented(path, found["duration_s"], Division(*groups))
