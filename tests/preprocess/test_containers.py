"""m4a, webm, wma, aac and amr, as PyAV writes them: whole, cut off, too long, hostile, and without PyAV."""

from __future__ import annotations

import io
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocess.audio import Signal, decode_audio
from preprocess.containers import DEMUXERS, MAX_STREAMS, find_demuxer, frame_end
from preprocess.utterance import Reason, Rejected

av = pytest.importorskip("av")

LOSSLESS = [("ipod", "alac", 22_050), ("matroska", "flac", 22_050), ("mov", "pcm_s16le", 16_000)]
LOSSY = [
    *(("ipod", "aac", rate_hz) for rate_hz in (16_000, 44_100)),
    *(("mp4", "libopus", 48_000), ("webm", "libopus", 48_000), ("adts", "aac", 22_050)),
    *(("asf", "wmav2", 22_050), ("amr", "libopencore_amrnb", 8_000), ("3gp", "libopencore_amrnb", 8_000)),
]
STATES_LENGTH_EXACTLY = {("ipod", "aac"), ("mp4", "libopus"), ("webm", "libopus")}


def chirp(*, rate_hz: int, seconds: float = 2.0) -> np.ndarray:
    """A tone that rises from 300 to 900 Hz after a short silence, [S] int16."""
    times = np.arange(int(seconds * rate_hz)) / rate_hz
    sound = 0.5 * np.sin(2 * np.pi * (300 + 150 * times) * times) * (times > 0.3)
    return np.round(32767 * sound).astype(np.int16)


def encoded(samples: np.ndarray, *, kind: str, codec: str, rate_hz: int, streams: int = 1) -> bytes:
    """A file with the samples [S] int16 in so many audio streams."""
    file = io.BytesIO()
    with av.open(file, "w", format=kind) as container:
        made = [container.add_stream(codec, rate=rate_hz, layout="mono") for _ in range(streams)]
        for stream in made:
            if codec not in ("alac", "flac", "pcm_s16le"):
                stream.bit_rate = 12_200 if "amr" in codec else 64_000
            if codec == "flac":
                stream.format = "s16"
        for stream in made:
            frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = rate_hz, 0, Fraction(1, rate_hz)
            resampler = av.AudioResampler(format=stream.format, layout="mono", rate=rate_hz)
            for part in [*resampler.resample(frame), *resampler.resample(None)]:
                container.mux(stream.encode(part))
        for stream in made:
            container.mux(stream.encode(None))
    return file.getvalue()


def decode(data: bytes, *, max_duration_s: float = 20.0) -> Signal:
    return decode_audio(data, max_duration_s=max_duration_s)


def rejected(data: bytes, *, max_duration_s: float = 20.0) -> Rejected:
    with pytest.raises(Rejected) as caught:
        decode(data, max_duration_s=max_duration_s)
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize(("kind", "codec", "rate_hz"), LOSSLESS)
def test_lossless_sound_is_decoded_to_the_bit(kind: str, codec: str, rate_hz: int) -> None:
    samples = chirp(rate_hz=rate_hz)
    found = decode(encoded(samples, kind=kind, codec=codec, rate_hz=rate_hz))
    assert found.rate_hz == rate_hz
    np.testing.assert_array_equal(found.samples, samples / np.float32(32768))


@pytest.mark.parametrize(("kind", "codec", "rate_hz"), LOSSY)
def test_lossy_sound_is_decoded_whole_and_where_it_was(kind: str, codec: str, rate_hz: int) -> None:
    samples = chirp(rate_hz=rate_hz)
    found = decode(encoded(samples, kind=kind, codec=codec, rate_hz=rate_hz))
    assert found.rate_hz == rate_hz
    is_exact = (kind, codec) in STATES_LENGTH_EXACTLY
    assert len(found.samples) == pytest.approx(len(samples), abs=0 if is_exact else 2200)
    expected, spectrum = (np.fft.rfft(one, 1 << 18) for one in (samples / 32768, found.samples))
    correlation = np.fft.irfft(spectrum * expected.conj())
    shift = int(np.argmax(np.roll(correlation, 1 << 17))) - (1 << 17)
    # where no delay is stated; FFmpeg takes away that of Microsoft's encoder, which is longer than its own
    assert shift == 0 or (not is_exact and -1024 <= shift <= 2200)
    assert correlation[shift] / np.linalg.norm(found.samples) / np.linalg.norm(samples / 32768) > 0.95


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
@pytest.mark.parametrize(("kind", "codec", "rate_hz"), [*LOSSLESS, *LOSSY])
def test_a_file_that_was_cut_off_is_not_taken_for_a_shorter_one(
    kind: str, codec: str, rate_hz: int, part: float
) -> None:
    data = encoded(chirp(rate_hz=rate_hz), kind=kind, codec=codec, rate_hz=rate_hz)
    assert rejected(data[: int(part * len(data))]).reason in (Reason.TRUNCATED_AUDIO, Reason.UNREADABLE_AUDIO)


def test_the_frames_of_aac_and_amr_end_where_the_file_does() -> None:
    for kind, codec, rate_hz in (("adts", "aac", 22_050), ("amr", "libopencore_amrnb", 8_000)):
        data = encoded(chirp(rate_hz=rate_hz), kind=kind, codec=codec, rate_hz=rate_hz)
        assert frame_end(data) == len(data)
        assert all(frame_end(data[:-cut]) > len(data) - cut for cut in (1, 3, 8))


def test_a_long_file_is_decoded_no_further_than_asked() -> None:
    data = encoded(chirp(rate_hz=48_000, seconds=300), kind="webm", codec="libopus", rate_hz=48_000)
    tracemalloc.start()
    try:
        assert rejected(data, max_duration_s=5.0).reason == Reason.UNDECODED_LENGTH
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("streams", "expected"), [(2, "2 audio streams, expected one"), (MAX_STREAMS + 12, "audio streams, expected one")]
)
def test_several_streams_are_no_recording(streams: int, expected: str) -> None:
    data = encoded(chirp(rate_hz=16_000, seconds=0.2), kind="matroska", codec="flac", rate_hz=16_000, streams=streams)
    error = rejected(data)
    assert (error.reason, expected in error.message) == (Reason.UNREADABLE_AUDIO, True), error.message


def test_a_film_without_sound_and_sound_of_a_codec_that_is_not_read_are_named() -> None:
    film = io.BytesIO()
    with av.open(film, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        for _ in range(5):
            container.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        container.mux(stream.encode(None))
    assert rejected(film.getvalue()).message == "0 audio streams, expected one"
    other = encoded(chirp(rate_hz=16_000), kind="matroska", codec="tta", rate_hz=16_000)
    assert rejected(other).message == "sound of the codec tta, which is not read"


def test_without_pyav_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(chirp(rate_hz=16_000), kind="ipod", codec="aac", rate_hz=16_000)
    monkeypatch.setitem(sys.modules, "av", None)
    error = rejected(data)
    assert error.reason == Reason.UNREADABLE_AUDIO
    assert error.message == "m4a or mp4: libsndfile does not read it; FFmpeg does: pip install 'myxtts[formats]'"


@given(st.sampled_from(sorted(DEMUXERS)), st.binary(max_size=400))
@settings(max_examples=60)
def test_arbitrary_bytes_behind_a_start_are_rejected(demuxer: str, rest: bytes) -> None:
    start, expected = DEMUXERS[demuxer]
    data = bytes(start) + expected + rest
    assert find_demuxer(data) == demuxer
    with pytest.raises(Rejected):
        decode(data)


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_file_is_decoded_or_rejected(data: st.DataObject) -> None:
    kind, codec, rate_hz = data.draw(st.sampled_from([*LOSSLESS, *LOSSY]))
    content = bytearray(encoded(chirp(rate_hz=rate_hz, seconds=0.5), kind=kind, codec=codec, rate_hz=rate_hz))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(content))
    except Rejected:
        return
    assert np.isfinite(found.samples).all()
