"""Mel images and audio as data URIs, and the frequency ticks of a mel."""

from __future__ import annotations

import base64
import functools
import io

import matplotlib
import numpy as np
import soundfile
from PIL import Image

from pipelines.html.axes import Tick
from preprocess.audio import Signal
from shared.features import FeatureSpec, mel_filterbank

MAX_IMAGE_FRAMES = 1200
TICKS_KHZ = (0.5, 1, 2, 4, 8, 12)

# Not every libsndfile has an MP3 encoder.
AUDIO_FORMAT = "MP3" if "MP3" in soundfile.available_formats() else "FLAC"


def audio_data_uri(signal: Signal) -> str:
    """Encode a signal as MP3 (FLAC if libsndfile has no MP3 encoder): small, and good enough to judge a clip."""
    file = io.BytesIO()
    samples = np.clip(signal.samples, -1, 1)
    soundfile.write(file, samples, signal.rate_hz, format=AUDIO_FORMAT, compression_level=0.5)
    return data_uri(file.getvalue(), kind=f"audio/{AUDIO_FORMAT.lower()}")


def mel_data_uri(mel: np.ndarray, *, low: float, high: float) -> str:
    """Encode a mel [F, M] as a PNG with one pixel per band and frame; `low` is black, `high` is bright.

    Several frames are averaged into one pixel if there are more than `MAX_IMAGE_FRAMES`.
    """
    step = -(-len(mel) // MAX_IMAGE_FRAMES)
    pooled = np.add.reduceat(mel.astype(np.float32), np.arange(0, len(mel), step), axis=0)
    sizes = np.diff(np.arange(0, len(mel), step), append=len(mel))
    levels = (pooled / sizes[:, None] - low) / (high - low)
    return _png((np.clip(levels, 0, 1) * 255).astype(np.uint8).T[::-1])


def colour_scale() -> str:
    """The colour scale of the mel images as a PNG."""
    return _png(np.arange(256, dtype=np.uint8)[None])


def _png(levels: np.ndarray) -> str:
    image = Image.fromarray(np.ascontiguousarray(levels), mode="P")
    image.putpalette(_magma())
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return data_uri(file.getvalue(), kind="image/png")


@functools.cache
def _magma() -> bytes:
    return (matplotlib.colormaps["magma"](np.arange(256), bytes=True)[:, :3]).tobytes()


def frequency_ticks(spec: FeatureSpec) -> list[Tick]:
    """Ticks in kHz; positions are fractions of the height of a mel image, from the bottom."""
    centres_khz = mel_filterbank(spec).argmax(axis=0) * spec.sample_rate_hz / spec.n_fft / 1000
    positions = (np.arange(spec.n_mels) + 0.5) / spec.n_mels
    shown = [khz for khz in TICKS_KHZ if spec.fmin_hz / 1000 < khz <= spec.fmax_hz / 1000]
    return [Tick(round(float(np.interp(khz, centres_khz, positions)), 4), f"{khz:g}") for khz in shown]


def data_uri(data: bytes, *, kind: str) -> str:
    """Encode bytes as a data URI."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
