"""A corpus with every kind of broken clip, and the expected result of each."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

RATE_HZ = 22050
TEXT = "The kettle is singing again."
GOOD = Path("tests/corpora/english/wavs/EN001-0001.wav")
WRITTEN = "written"

_voice, _ = soundfile.read(GOOD, dtype="float64")
_rng = np.random.default_rng(5)


def encoded(samples: np.ndarray, *, kind: str = "WAV", subtype: str | None = None, rate_hz: int = RATE_HZ) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate_hz, format=kind, subtype=subtype)
    return file.getvalue()


def wav(samples: np.ndarray, *, rate_hz: int = RATE_HZ, channels: int = 1, claimed_bytes: int | None = None) -> bytes:
    """A wav of int16 samples, whose header may claim another size."""
    data = samples.astype("<i2").tobytes()
    size = len(data) if claimed_bytes is None else claimed_bytes
    head = struct.pack("<HHIIHH", 1, channels, rate_hz, rate_hz * 2 & 0xFFFFFFFF, 2 * channels & 0xFFFF, 16)
    riff = struct.pack("<I", min(36 + size, 0xFFFFFFFF))
    return b"RIFF" + riff + b"WAVEfmt \x10\0\0\0" + head + b"data" + struct.pack("<I", size) + data


def cut(data: bytes, share: float) -> bytes:
    return data[: int(share * len(data))]


def flac_of_many_samples(claimed: int) -> bytes:
    """A flac whose STREAMINFO claims this number of samples (36 bits)."""
    data = bytearray(encoded(_voice, kind="FLAC"))
    data[21] = data[21] & 0xF0 | claimed >> 32
    data[22:26] = (claimed & 0xFFFFFFFF).to_bytes(4, "big")
    return bytes(data)


class Case(NamedTuple):
    """One clip: its name, its bytes (or a function that writes its file), its text, and its expected result."""

    name: str
    audio: bytes | Callable[[Path], object] | None
    end: str
    text: str | bytes = TEXT


def _clipped(samples: np.ndarray) -> np.ndarray:
    return np.clip(4 * samples, -0.99, 0.99)


_ints = (32768 * _voice).clip(-32768, 32767)
_five_s = np.resize(_voice, 5 * RATE_HZ)

CASES = [
    # whole, in every guise
    Case("good_wav", encoded(_voice), WRITTEN),
    Case("good_8_bit", encoded(_voice, subtype="PCM_U8"), WRITTEN, "Eight bits will do."),
    Case("good_24_bit", encoded(np.roll(_voice, 9000), subtype="PCM_24"), WRITTEN),
    Case("good_float", encoded(np.roll(_voice, 21000), subtype="FLOAT"), WRITTEN),
    Case("good_flac_named_wav", encoded(_voice[::-1], kind="FLAC"), WRITTEN),
    Case("good_mp3_named_wav", encoded(np.roll(_voice[::-1], 9000), kind="MP3"), WRITTEN),
    Case("good_stereo", encoded(np.roll(_voice, 33000)[:, None] * [1, 1]), WRITTEN),
    Case("good_48_khz", encoded(np.roll(_voice[::-1], 20000), rate_hz=48000), WRITTEN),
    Case("good_piped", wav(np.roll(_ints, 27000), claimed_bytes=0xFFFFFFFF), WRITTEN),  # as FFmpeg writes into a pipe
    # cut off
    Case("cut_wav_99", cut(encoded(_voice), 0.99), "truncated_audio"),
    Case("cut_wav_half", cut(encoded(_voice), 0.5), "truncated_audio"),
    Case("cut_wav_header", encoded(_voice)[:30], "unreadable_audio"),
    Case("cut_flac_half", cut(encoded(_voice, kind="FLAC"), 0.5), "unreadable_audio"),
    Case("cut_flac_header", encoded(_voice, kind="FLAC")[:20], "unreadable_audio"),
    Case("cut_mp3_half", cut(encoded(_voice, kind="MP3"), 0.5), "truncated_audio"),
    Case("cut_ogg_half", cut(encoded(_voice, kind="OGG"), 0.5), "truncated_audio"),
    # headers that lie
    Case("claims_1_mhz", wav(_ints, rate_hz=1_000_000), "unreadable_audio"),
    Case("claims_0_hz", wav(_ints, rate_hz=0), "unreadable_audio"),
    Case("claims_4_gb", wav(_ints, claimed_bytes=0xFFFFFFF0), "truncated_audio"),
    Case("claims_all_ones_but_one", wav(_ints, claimed_bytes=0xFFFFFFFE), "truncated_audio"),
    Case("piped_half_a_sample", wav(_ints, claimed_bytes=0xFFFFFFFF)[:-1], "truncated_audio"),
    Case("claims_1000_channels", wav(_ints[:2000], channels=1000), "unreadable_audio"),
    Case("claims_64_g_samples", flac_of_many_samples((1 << 36) - 1), "unreadable_audio"),
    # no signal, or none that can be
    Case("zero_frames", encoded(_voice[:0]), "empty_audio"),
    Case("zero_frames_flac", encoded(_voice[:0], kind="FLAC"), "unreadable_audio"),
    Case("one_sample", encoded(_voice[:1]), "too_short"),
    Case("too_short", encoded(_voice[:4000]), "too_short"),
    Case("nan", encoded(np.where(np.arange(len(_voice)) == 999, np.nan, _voice), subtype="FLOAT"), "non_finite_audio"),
    Case(
        "infinity", encoded(np.where(np.arange(len(_voice)) == 9, np.inf, _voice), subtype="FLOAT"), "non_finite_audio"
    ),
    Case("loud_float", encoded(30000 * _voice, subtype="FLOAT"), "unreadable_audio"),
    Case("silent", encoded(np.zeros(RATE_HZ)), "too_quiet"),
    Case(
        "mostly_silent",
        encoded(np.pad(_voice, (0, 9 * len(_voice)))),
        "too_long" if len(_voice) > 2.2 * RATE_HZ else "silence",
    ),
    Case("noise", encoded(_rng.normal(size=3 * RATE_HZ) * 0.1), "noisy"),
    Case("clipped", encoded(_clipped(_voice)), "clipped"),
    Case("offset", encoded(0.5 * _voice + 0.3), "dc_offset"),
    Case("21_seconds", encoded(np.resize(_voice, 21 * RATE_HZ)), "too_long"),
    Case("10_minutes", encoded(np.resize(_voice, 600 * RATE_HZ)), "undecoded_length"),
    Case("10_minutes_flac", encoded(np.zeros(600 * RATE_HZ), kind="FLAC"), "undecoded_length"),
    Case("huge", lambda path: _sparse(path, size_bytes=1 << 33), "undecoded_length"),
    # no audio at all
    Case("empty_file", b"", "unreadable_audio"),
    Case("text_named_wav", b"the text of the sentence\n" * 40, "unreadable_audio"),
    Case("html_named_wav", b"<!DOCTYPE html><title>404</title>" * 40, "unreadable_audio"),
    Case("zeros", b"\0" * 4000, "unreadable_audio"),
    Case("riff_only", b"RIFF", "unreadable_audio"),
    # no file
    Case("missing", None, "missing_audio"),
    Case("folder", lambda path: path.mkdir(), "missing_audio"),
    Case("link_loop", lambda path: path.symlink_to(path), "missing_audio"),
    Case("dangling_link", lambda path: path.symlink_to(path.with_name("nowhere")), "missing_audio"),
    Case("named_pipe", os.mkfifo, "missing_audio"),
    Case("device", lambda path: path.symlink_to("/dev/zero"), "missing_audio"),
    Case("long_" + "n" * 300, None, "missing_audio"),
    # texts
    Case("no_text", encoded(_five_s), "empty_text", "   "),
    Case("zero_width_text", encoded(_five_s), "empty_text", "\u200b\u00ad"),
    Case("emoji_only", encoded(_five_s), "too_many_unknowns", "😀🎉🚀"),
    Case("many_tokens", encoded(_five_s), "too_many_tokens", "to be or not to be " * 100),
    Case("100_kb_of_text", encoded(_five_s), "text_too_long", "kettle " * 15_000),
    Case("latin_1_text", encoded(_five_s), "bad_metadata_row", "naïve café".encode("latin-1")),
    Case("utf_16_text", encoded(_five_s), "bad_metadata_row", "kettle".encode("utf-16")),
    # names
    Case("../climbing", None, "unsafe_path"),
    Case("a/../../b", None, "unsafe_path"),
    Case("/etc/passwd", None, "unsafe_path"),
    Case("nul\0byte", None, "unsafe_path"),
    Case("control\x07byte", None, "unsafe_path"),
    Case("", None, "bad_metadata_row"),
    Case("good_wav", None, "duplicate_id", "The id of another."),
    Case("x" * 600, None, "bad_metadata_row"),
]


def _sparse(path: Path, *, size_bytes: int) -> None:
    with path.open("wb") as file:
        file.truncate(size_bytes)


def make_hostile(folder: Path) -> Path:
    """Write all cases in LJSpeech's layout, with a byte order mark, both line ends, an endless line, and wrong rows."""
    (folder / "wavs").mkdir(parents=True)
    rows = []
    for case in CASES:
        path = folder / "wavs" / f"{case.name}.wav"
        if callable(case.audio):
            case.audio(path)
        elif case.audio is not None:
            path.write_bytes(case.audio)
        text = case.text if isinstance(case.text, bytes) else case.text.encode()
        rows.append(b"|".join((case.name.encode(), text, text)))
    rows += [b"one field", b"far|too|many|fields", b"endless|" + b"y" * (3 << 20)]
    (folder / "metadata.csv").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(rows[:9]) + b"\r\n" + b"\n".join(rows[9:]))
    return folder
