"""Images and sounds as data URIs, so that a page needs no other file."""

from __future__ import annotations

import base64
import functools
import io

import matplotlib
import numpy as np
import soundfile
from PIL import Image

# Not every libsndfile has an MP3 encoder.
AUDIO_FORMAT = "MP3" if "MP3" in soundfile.available_formats() else "FLAC"
MAX_AUDIO_S = 20.0


def audio_uri(samples: np.ndarray, *, rate_hz: int) -> str:
    """A sound [S] int16 as MP3 or FLAC, cut after `MAX_AUDIO_S`."""
    file = io.BytesIO()
    head = samples[: int(MAX_AUDIO_S * rate_hz)]
    soundfile.write(file, head, rate_hz, format=AUDIO_FORMAT, compression_level=0.5)
    return _data_uri(file.getvalue(), kind=f"audio/{AUDIO_FORMAT.lower()}")


def image_uri(image: np.ndarray) -> str:
    """An image [height, width] with values in [0, 1] as a PNG in the colors of `magma`."""
    levels = (np.nan_to_num(np.clip(image, 0, 1)) * 255).astype(np.uint8)
    painted = Image.fromarray(np.ascontiguousarray(levels), mode="P")
    painted.putpalette(_magma())
    file = io.BytesIO()
    painted.save(file, format="PNG", optimize=True)
    return _data_uri(file.getvalue(), kind="image/png")


@functools.cache
def _magma() -> bytes:
    return (matplotlib.colormaps["magma"](np.arange(256), bytes=True)[:, :3]).tobytes()


def _data_uri(data: bytes, *, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
