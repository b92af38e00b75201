"""Cuts long recordings at pauses: a table of parts, whose texts are filled in before the table is read as a corpus."""

from __future__ import annotations

import concurrent.futures
import csv
import io
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from preprocess.clip_division import ClipLengths, Division, divide
from preprocess.corpora.cues import CUE_SUFFIXES
from preprocess.corpora.folder import TEXT_SUFFIXES
from preprocess.corpora.folders import walk
from preprocess.corpora.sidecar import NamedFile, audio_files, files_with_suffix
from preprocess.sound_blocks import read_blocks
from preprocess.speech_activity import RATE_HZ, find_speech, measure_activity
from preprocess.utterance import Rejected
from shared.errors import UserError
from shared.files import write_bytes

COLUMNS = ("audio", "start", "end", "text")


class Segmented(NamedTuple):
    """A recording, and its parts."""

    path: str  # relative to the folder of the recordings
    duration_s: float
    division: Division
    problem: str = ""  # why the recording could not be read; empty if it was


def find_recordings(root: Path) -> list[Path]:
    """All recordings below a folder, in the order of their folders and names.

    Raises:
        UserError: there is none, or a text lies beside one.
    """
    if not root.is_dir():
        raise UserError(f"{root}: no such directory; expected the folder of the recordings")
    recordings = list[Path]()
    for _, files in walk(root):
        audio = audio_files(files)
        _refuse_texts(audio, files_with_suffix(files, (*TEXT_SUFFIXES, *CUE_SUFFIXES)))
        recordings += [file.path for file in audio]
    if not recordings:
        raise UserError(f"{root}: no recording below it; expected files such as chapter1.flac")
    return recordings


def _refuse_texts(audio: Sequence[NamedFile], texts: Sequence[NamedFile]) -> None:
    """Raise UserError if a recording has its text already, which times found by pauses alone could not divide."""
    stems = {file.stem for file in audio}
    for text in texts:
        if text.stem in stems:
            raise UserError(
                f"{text.path}: the text of a whole recording, which pauses alone cannot divide; expected recordings "
                "without texts. If the file has times, the reader `transcripts` cuts by them (`make corpora`); if not, "
                "an aligner writes times, such as the Montreal Forced Aligner or WhisperX"
            )


def segment(
    recordings: Sequence[Path],
    *,
    root: Path,
    lengths: ClipLengths,
    workers: int | None = None,
    on_done: Callable[[Path], object] = lambda _: None,
) -> Iterator[Segmented]:
    """Find the parts with speech of each recording, in the order of the recordings.

    Args:
        workers: processes; None: as many as there are cores, or recordings.
        on_done: gets each recording that is done.
    """
    workers = min(workers or len(os.sched_getaffinity(0)), len(recordings))
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(segment_recording, path, root=root, lengths=lengths) for path in recordings]
        try:
            for path, future in zip(recordings, futures, strict=True):
                yield future.result()
                on_done(path)
        except concurrent.futures.process.BrokenProcessPool as error:
            raise UserError(f"{path}: this recording, or one beside it, ended its process; take it away") from error
        finally:
            pool.shutdown(cancel_futures=True)


def segment_recording(path: Path, *, root: Path, lengths: ClipLengths) -> Segmented:
    """Find the parts with speech of one recording."""
    name = path.relative_to(root).as_posix()
    try:
        activity = measure_activity(read_blocks(path, rate_hz=RATE_HZ))
    except (Rejected, OSError) as error:
        reason = error.message if isinstance(error, Rejected) else error.strerror
        return Segmented(name, 0.0, Division([], [], []), reason or "cannot be read")
    division = divide(find_speech(activity), lengths=lengths, duration_s=activity.duration_s)
    return Segmented(name, activity.duration_s, division)


def write_parts(out: Path, parts: Iterable[Segmented]) -> None:
    """Write the table, with an empty text for each part.

    Raises:
        UserError: the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in parts:
        writer.writerows((one.path, f"{clip.start_s:.3f}", f"{clip.end_s:.3f}", "") for clip in one.division.clips)
    try:
        write_bytes(out, text.getvalue().encode())
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror})") from error
