"""`RUN/samples.npz`: the clips that the last validation synthesized, beside their recordings."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shared.errors import writing
from shared.files import write_bytes


class Sample(NamedTuple):
    """A clip of the validation split, and the same text synthesized by the model."""

    utterance_id: str
    text: str
    target: np.ndarray  # [F, M] ln magnitude
    spoken: np.ndarray  # [G, M]
    alignment: np.ndarray  # [N, T], of decoder steps to tokens
    has_ended: np.ndarray  # [] bool, whether the model predicted the end
    target_sound: np.ndarray  # [S] int16, from `target` by the same vocoder as `spoken_sound`
    spoken_sound: np.ndarray  # [S]


def as_int16(samples: np.ndarray) -> np.ndarray:
    """A waveform [S] as int16; one that would clip is scaled down."""
    peak = max(1.0, float(np.abs(samples).max(initial=0.0)))
    return np.round(samples / peak * 32767.0).astype(np.int16)


class Samples(NamedTuple):
    """The samples of one validation."""

    step: int
    rate_hz: int
    all: list[Sample]


def write_samples(samples: Samples, *, run: Path) -> None:
    """Write the samples in place of the previous ones.

    Raises:
        UserError: the disk is full or fails.
    """
    arrays = {f"{number}/{name}": value for number, one in enumerate(samples.all) for name, value in _to_arrays(one)}
    buffer, path = io.BytesIO(), run / "samples.npz"
    np.savez_compressed(buffer, step=samples.step, rate_hz=samples.rate_hz, count=len(samples.all), **arrays)  # type: ignore[arg-type]
    with writing(path, advice="make room"):
        write_bytes(path, buffer.getvalue())


def read_samples(run: Path) -> Samples | None:
    """The samples of the last validation; None if there is no readable file."""
    try:
        with np.load(run / "samples.npz", allow_pickle=False) as file:
            every = [_read_sample(file, number) for number in range(int(file["count"]))]
            return Samples(int(file["step"]), int(file["rate_hz"]), every)
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def _to_arrays(sample: Sample) -> list[tuple[str, np.ndarray]]:
    """The arrays of a sample by name, in half precision, which suffices for the page."""
    pairs = zip(Sample._fields, map(np.asarray, sample), strict=True)
    return [(name, value.astype(np.float16) if value.dtype == np.float32 else value) for name, value in pairs]


def _read_sample(file: np.lib.npyio.NpzFile, number: int) -> Sample:
    utterance_id, text, *arrays = (file[f"{number}/{name}"] for name in Sample._fields)
    return Sample(str(utterance_id), str(text), *arrays)
