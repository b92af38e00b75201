"""A mel as a PNG with axes: time in seconds, frequency in hertz, a block of whole pixels for each value."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from pipelines.html.media import frequency_ticks
from shared.errors import UserError
from shared.features import FeatureSpec
from shared.files import write_bytes

DPI = 100
# Left, right, bottom and top of the mel, in pixels.
MARGINS = (80, 110, 60, 50)
BAND_PIXELS = 4
MIN_WIDTH = 400


def range_of(mel: np.ndarray) -> tuple[float, float]:
    """The ln magnitudes drawn darkest and brightest."""
    low, high = np.percentile(mel.astype(np.float32), (2, 99.9))
    return float(low), max(float(high), float(low) + 1e-3)


def frame_pixels(frames: int) -> int:
    """The width of a frame in pixels."""
    return max(1, min(4, 1200 // max(frames, 1)))


def write_spectrogram(mel: np.ndarray, *, spec: FeatureSpec, title: str, path: Path) -> None:
    """Draw a mel [F, M] as PNG.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        write_bytes(path, draw_spectrogram(mel, spec=spec, title=title), durable=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; expected a file that can be written; change --mel") from error


def draw_spectrogram(mel: np.ndarray, *, spec: FeatureSpec, title: str) -> bytes:
    """Draw a mel [F, M]; its lower left corner is at (left, bottom) of `MARGINS`."""
    left, right, bottom, top = MARGINS
    width, height = len(mel) * frame_pixels(len(mel)), spec.n_mels * BAND_PIXELS
    size = (left + max(width, MIN_WIDTH) + right, bottom + height + top)
    figure = Figure(figsize=(size[0] / DPI, size[1] / DPI), dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    low, high = range_of(mel)
    colours = ScalarMappable(Normalize(low, high), cmap="magma")
    # drawn pixel by pixel: matplotlib resamples an image within axes, which shifts large images by a pixel
    blocks = np.repeat(np.repeat(mel.astype(np.float32).T, BAND_PIXELS, axis=0), width // max(len(mel), 1), axis=1)
    figure.figimage(blocks, left, bottom, cmap=colours.cmap, vmin=low, vmax=high, origin="lower")
    axes = figure.add_axes((left / size[0], bottom / size[1], width / size[0], height / size[1]), facecolor="none")
    axes.set_xlim(0, len(mel) / spec.frames_per_second)
    axes.set_ylim(0, 1)
    ticks = frequency_ticks(spec)
    axes.set_yticks([tick.position for tick in ticks], [f"{float(tick.label) * 1000:g}" for tick in ticks])
    axes.set_xlabel("time, s")
    axes.set_ylabel("frequency, Hz")
    axes.spines[:].set_visible(False)
    figure.text(left / size[0], 1 - 0.5 * top / size[1], title, va="center", fontsize=11, parse_math=False)
    scale = figure.add_axes(((left + width + 20) / size[0], bottom / size[1], 12 / size[0], height / size[1]))
    figure.colorbar(colours, cax=scale, label="ln magnitude").outline.set_visible(False)
    file = io.BytesIO()
    canvas.print_png(file)
    return file.getvalue()
