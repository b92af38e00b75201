"""400 parts of an hour of speech beside one decoding of the hour, in each format whose parts are read.

python -m tests.bench.parts

Parts are read in random order, as shards hold them. `error` is the greatest difference between samples of a part and
those of the whole recording; `memory` is by how much the process grew while it read parts. The mp4 is in fragments of
ten seconds with an index, as streaming services have them.
"""

from __future__ import annotations

import collections
import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import psutil
import soundfile

from preprocess.audio_file import read_audio_file
from preprocess.parts import part_path
from tests.bench.summary import add_row
from tests.preprocess.test_containers import encoded

WAVS = Path(__file__).parents[1] / "corpora/english/wavs"
LENGTH_S, PARTS, REPEATS = 3600, 400, 3
FRAGMENTS = {"movflags": "+dash+global_sidx", "frag_duration": "10000000"}
SUBTYPES = {"wav": "PCM_16", "flac": "PCM_16", "ogg": "VORBIS", "mp3": "MPEG_LAYER_III"}
LIMITS = {"wav": 3.0, "flac": 2.0, "ogg": 2.0, "mp3": 2.0, "m4a": 3.0, "mp4": 3.0}  # times one decoding


def speech() -> tuple[np.ndarray, int]:
    """An hour of the sample's recordings, one after the other: [S] float32, and the rate."""
    clips = [soundfile.read(path, dtype="float32") for path in sorted(WAVS.iterdir())]
    rate_hz: int = clips[0][1]
    return np.resize(np.concatenate([samples for samples, _ in clips]), LENGTH_S * rate_hz), rate_hz


def write_recording(path: Path) -> None:
    samples, rate_hz = speech()
    kind = path.suffix[1:]
    if kind in SUBTYPES:
        with soundfile.SoundFile(path, "w", rate_hz, 1, subtype=SUBTYPES[kind]) as file:
            for start in range(0, len(samples), rate_hz):  # libsndfile encodes no hour of Vorbis at once
                file.write(samples[start : start + rate_hz])
    else:
        container, options = ("ipod", {}) if kind == "m4a" else ("mp4", FRAGMENTS)
        values = (samples * 32767).astype(np.int16)
        path.write_bytes(
            encoded(values, kind=container, codec="aac", rate_hz=rate_hz, options=options, folder=path.parent)
        )


def decode_once(path: Path) -> np.ndarray:
    """All samples [S], by the library that reads the parts."""
    if path.suffix in (".mp3", ".m4a", ".mp4"):
        with av.open(str(path)) as container:
            return np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
    return soundfile.read(path, dtype="float32")[0]


def read_parts(path: Path) -> Iterator[tuple[float, bytes]]:
    """Each part's start in seconds, and a wav of its samples."""
    os.utime(path)  # so that the places of an mp3's frames are looked for again
    step_s = LENGTH_S / PARTS
    for start_s in (np.random.default_rng(0).permutation(PARTS) * step_s).tolist():
        yield start_s, read_audio_file(part_path(str(path), start_s=start_s, end_s=start_s + step_s - 0.1))


def error_of(start_s: float, wav: bytes, *, whole: np.ndarray) -> float:
    """The greatest difference between a part and the same samples of the whole recording."""
    samples, rate_hz = soundfile.read(io.BytesIO(wav))
    start = round(start_s * rate_hz)
    return float(np.abs(samples - whole[start : start + len(samples)]).max())


def cpu_s_of(work: Callable[[], object]) -> float:
    started_s = time.process_time()
    work()
    return time.process_time() - started_s


def measure(path: Path) -> bool:
    """Print a line for one format; True if its bound is met."""
    write_recording(path)
    whole, memory = decode_once(path), psutil.Process().memory_info
    before = memory().rss
    checked = [(error_of(*part, whole=whole), memory().rss - before) for part in read_parts(path)]
    error, grown_mb = max(one for one, _ in checked), max(bytes_ for _, bytes_ in checked) / 1e6
    turns = [
        (cpu_s_of(lambda: decode_once(path)), cpu_s_of(lambda: collections.deque(read_parts(path), maxlen=0)))
        for _ in range(REPEATS)
    ]
    once_s, parts_s = map(statistics.median, zip(*turns, strict=True))
    kind, ratio = path.suffix[1:], parts_s / once_s
    print(f"{kind:6} {once_s:8.2f} {parts_s:8.2f} {ratio:6.1f} {LIMITS[kind]:6.0f} {error:9.1e} {grown_mb:7.0f}")
    is_met = ratio <= LIMITS[kind]
    add_row(
        "parts",
        f"{PARTS} parts of an hour of {kind}",
        measured=f"{parts_s:.2f} s of CPU",
        floor=f"{ratio:.1f} × one decoding",
        bound=f"≤ {LIMITS[kind]:.0f} ×",
        met=is_met,
    )
    return is_met


def main() -> None:
    print("format   once s  parts s  ratio  limit     error  memory (MB)")
    with tempfile.TemporaryDirectory() as folder:
        met = [measure(Path(folder) / f"hour.{kind}") for kind in LIMITS]
    if not all(met):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
