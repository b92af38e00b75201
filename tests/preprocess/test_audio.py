from __future__ import annotations

import contextlib
import io
import os
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from preprocess.audio import Signal, decode_audio, resample, to_pcm
from preprocess.audio_file import read_audio_file
from preprocess.mp3_frames import count_mp3_samples
from preprocess.utterance import Reason, Rejected

RATE_HZ = 22050


def decode(data: bytes, *, rate_hz: int = RATE_HZ, max_duration_s: float = 20.0) -> Signal:
    return resample(decode_audio(data, max_duration_s=max_duration_s), rate_hz=rate_hz)


def rejected(data: bytes, *, max_duration_s: float = 20.0) -> Rejected:
    with pytest.raises(Rejected) as caught:
        decode(data, max_duration_s=max_duration_s)
    assert "\n" not in caught.value.message
    return caught.value


def wav(
    samples: np.ndarray,
    *,
    rate_hz: int = RATE_HZ,
    channels: int | None = None,
    claimed_bytes: int | None = None,
    bits: int | None = None,
) -> bytes:
    """A wav file whose header can state wrong sizes."""
    data = samples.tobytes()
    channels = channels if channels is not None else (samples.shape[1] if samples.ndim == 2 else 1)
    bits = bits if bits is not None else samples.itemsize * 8
    size = len(data) if claimed_bytes is None else claimed_bytes
    kind = 3 if samples.dtype.kind == "f" else 1
    block = channels * bits // 8 & 0xFFFF
    head = struct.pack("<HHIIHH", kind, channels, rate_hz, rate_hz * block & 0xFFFFFFFF, block, bits)
    riff = min(36 + size, 0xFFFFFFFF)
    chunks = (b"RIFF", struct.pack("<I", riff), b"WAVEfmt ", struct.pack("<I", 16), head)
    return b"".join((*chunks, b"data", struct.pack("<I", size), data))


@contextmanager
def at_most_allocated(limit_bytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < limit_bytes


def tone(frequency_hz: float, *, rate_hz: int, seconds: float, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * frequency_hz * np.arange(int(rate_hz * seconds)) / rate_hz)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("mono_c0.wav", 0.5),
        ("stereo.wav", 1.0),
        ("stereo.mp3", 1.0),
        ("stereo.sph", 1.0),
        ("mono_c0.opus", 0.5),
        ("stereo.opus", 1.0),
    ],
)
def test_every_format_of_the_reference_is_read(name: str, seconds: float, reference: Path) -> None:
    audio = decode_audio((reference / "corpora/audio_formats" / name).read_bytes(), max_duration_s=20.0)
    assert audio.duration_s == pytest.approx(seconds, abs=0.01)
    assert audio.rate_hz in (8000, 48000)
    assert audio.samples.dtype == np.float32
    assert audio.samples.ndim == 1
    assert 0.01 < np.abs(audio.samples).max() <= 1.0


def test_stereo_in_three_formats_is_the_same_sound(reference: Path) -> None:
    folder = reference / "corpora/audio_formats"
    wave, sphere, mp3 = (decode((folder / f"stereo.{kind}").read_bytes()).samples for kind in ("wav", "sph", "mp3"))
    np.testing.assert_array_equal(wave, sphere)
    assert len(mp3) == len(wave)
    assert np.corrcoef(wave, mp3)[0, 1] > 0.95


def test_a_header_without_samples_is_empty_audio(reference: Path) -> None:
    data = (reference / "corpora/audio_formats/empty.wav").read_bytes()
    assert rejected(data).reason == Reason.EMPTY_AUDIO
    assert rejected(wav(np.zeros(0, "<i2"))).reason == Reason.EMPTY_AUDIO


def test_flac_equals_its_wav_and_mp3_comes_close(reference: Path) -> None:
    flacs = sorted((reference / "corpora/ljspeech_formats/wavs").glob("*.flac"))
    assert len(flacs) == 8
    for flac in flacs:
        original = decode((reference / "corpora/LJSpeech-1.1/wavs" / f"{flac.stem}.wav").read_bytes()).samples
        np.testing.assert_array_equal(decode(flac.read_bytes()).samples, original)
        lossy = decode(flac.with_suffix(".mp3").read_bytes()).samples
        assert len(lossy) == pytest.approx(len(original), abs=100)
        assert np.corrcoef(lossy[: len(original)], original)[0, 1] > 0.97


def test_int16_is_divided_by_32768_exactly() -> None:
    every = np.arange(-32768, 32768, dtype="<i2")
    audio = decode(wav(every))
    np.testing.assert_array_equal(audio.samples, every / np.float32(32768))


@pytest.mark.slow
def test_a_header_that_asks_for_more_memory_than_speech_needs_is_refused(tmp_path: Path) -> None:
    """A small flac of silence in many channels at a high rate was decoded whole, into up to 1.5 GB."""
    path = tmp_path / "a.flac"
    with soundfile.SoundFile(path, "w", samplerate=192_000, channels=8, subtype="PCM_16", format="FLAC") as file:
        for _ in range(50):
            file.write(np.zeros((192_000, 8), "int16"))
    data = path.read_bytes()
    tracemalloc.start()
    with pytest.raises(Rejected, match="9600000 samples of 8 channels: over 256 MiB when decoded") as error:
        decode_audio(data, max_duration_s=60.0)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert error.value.reason == Reason.UNDECODED_LENGTH


def test_channels_are_averaged() -> None:
    left, right = np.array([[1000, 32767, -32768, 7], [3000, 32767, 32767, 8]], "<i2")
    np.testing.assert_array_equal(
        decode(wav(np.stack([left, right], axis=1))).samples, ((left / 32768 + right / 32768) / 2).astype(np.float32)
    )


@pytest.mark.parametrize("rate_hz", [8000, 16000, 32000, 44100, 48000, 96000])
def test_resampling_keeps_frequency_level_and_place(rate_hz: int) -> None:
    seconds = 1.0
    audio = decode(wav(tone(440.0, rate_hz=rate_hz, seconds=seconds), rate_hz=rate_hz))
    expected = tone(440.0, rate_hz=RATE_HZ, seconds=seconds)
    assert (audio.rate_hz, len(audio.samples)) == (RATE_HZ, len(expected))
    middle = slice(2000, -2000)  # the ends ring
    np.testing.assert_allclose(audio.samples[middle], expected[middle], atol=2e-3)


def test_what_lies_above_the_new_nyquist_is_removed() -> None:
    audio = decode(wav(tone(15_000.0, rate_hz=48_000, seconds=1.0), rate_hz=48_000))
    assert np.abs(audio.samples[2000:-2000]).max() < 1e-3


def test_the_limit_is_kept_to_the_sample() -> None:
    exact = np.zeros(RATE_HZ * 2, "<i2")
    assert decode(wav(exact), max_duration_s=2.0).duration_s == 2.0
    error = rejected(wav(np.append(exact, exact[:1])), max_duration_s=2.0)
    assert (error.reason, error.message) == (Reason.UNDECODED_LENGTH, "longer than 2.0 s")


@pytest.mark.slow
def test_a_long_file_is_decoded_only_up_to_the_limit() -> None:
    """An hour of silence is 12 kB of flac and 635 MB of float32."""
    file = io.BytesIO()
    soundfile.write(file, np.zeros(44100 * 3600, np.int16), 44100, format="FLAC")
    data = file.getvalue()
    with at_most_allocated(2_000_000):
        assert rejected(data, max_duration_s=5.0).reason == Reason.UNDECODED_LENGTH


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("channels", [1, 2])
def test_one_value_that_is_not_finite_rejects_the_file(value: float, channels: int) -> None:
    samples = np.zeros((1000, channels), "<f4")
    samples[500, 0] = value
    assert rejected(wav(samples)).reason == Reason.NON_FINITE_AUDIO


@pytest.mark.parametrize("peak", [32767.0, 1e30, 3e38])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate_hz", [RATE_HZ, 44100])
def test_floating_point_far_above_full_scale_is_rejected(peak: float, channels: int, rate_hz: int) -> None:
    error = rejected(wav(np.full((4000, channels), peak, "<f4"), rate_hz=rate_hz))
    assert error.reason == Reason.UNREADABLE_AUDIO
    assert "full scale is 1" in error.message


def test_floating_point_a_little_above_full_scale_stays_as_it_is() -> None:
    np.testing.assert_array_equal(decode(wav(np.full(1000, 1.5, "<f4"))).samples, np.full(1000, 1.5, np.float32))


@pytest.mark.parametrize(
    "data",
    [
        wav(np.zeros(1000, "<i2"), rate_hz=0),
        wav(np.zeros(1000, "<i2"), rate_hz=1),
        wav(np.zeros(1000, "<i2"), rate_hz=3999),
        wav(np.zeros(1000, "<i2"), rate_hz=384_001),
        wav(np.zeros(1000, "<i2"), rate_hz=(1 << 31) - 1),
        wav(np.zeros(1000, "<i2"), rate_hz=(1 << 32) - 1),
        wav(np.zeros(1000, "<i2"), channels=0),
        wav(np.zeros(1020, "<i2"), channels=17),
        wav(np.zeros(2000, "<i2"), channels=1000),
        wav(np.zeros(2000, "<i2"), channels=65535),
        wav(np.zeros(1000, "<i2"), bits=0),
        b"",
        b"RIFF",
        b"fLaC",
        b"ID3\x04\x00\x00\x00\x00\x00\x00",
        b"the text of the sentence\n" * 40,
        b"<!DOCTYPE html><title>404 Not Found</title>" * 20,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1000\n",
        b"\0" * 4000,
    ],
)
def test_impossible_headers_and_other_files_are_unreadable(data: bytes) -> None:
    assert rejected(data).reason == Reason.UNREADABLE_AUDIO


def test_a_header_that_states_many_frames_costs_no_memory() -> None:
    with at_most_allocated(5_000_000):
        error = rejected(wav(np.ones(1000, "<i2"), claimed_bytes=0xFFFFFF00))
    assert (error.reason, error.message) == (
        Reason.TRUNCATED_AUDIO,
        "2000 bytes of samples, its header says 4294967040",
    )
    file = io.BytesIO()
    soundfile.write(file, np.ones(1000, np.int16), RATE_HZ, format="FLAC")
    lying = bytearray(file.getvalue())
    lying[21] |= 0x0F  # the 36 bits of STREAMINFO's number of samples
    lying[22:26] = b"\xff" * 4
    assert soundfile.info(io.BytesIO(lying)).frames == (1 << 36) - 1
    with at_most_allocated(5_000_000):
        assert rejected(bytes(lying)).reason == Reason.UNREADABLE_AUDIO


@pytest.mark.parametrize("part", [0.95, 0.5, 0.1])
@pytest.mark.parametrize(
    "path", ["LJSpeech-1.1/wavs/LJ001-0002.wav", "ljspeech_formats/wavs/LJ001-0002.mp3", "audio_formats/stereo.opus"]
)
def test_a_recording_that_was_cut_off_is_not_taken_for_a_shorter_one(part: float, path: str, reference: Path) -> None:
    data = (reference / "corpora" / path).read_bytes()
    assert len(decode(data).samples) > 0
    assert rejected(data[: int(part * len(data))]).reason in (Reason.TRUNCATED_AUDIO, Reason.UNREADABLE_AUDIO)


@pytest.mark.parametrize("stated", [0xFFFF_FFFF, 0x7FFF_F000, 0x7FFF_FFFF], ids=["FFmpeg", "SoX and eSpeak", "others"])
def test_a_wav_from_a_pipe_is_whole_if_its_last_sample_is(stated: int) -> None:
    samples = np.arange(-600, 600, dtype="<i2").reshape(-1, 2)
    data = wav(samples, claimed_bytes=stated)
    np.testing.assert_array_equal(decode(data).samples, (samples / np.float32(32768)).mean(axis=1))
    error = rejected(data[:-1])
    assert (error.reason, error.message) == (
        Reason.TRUNCATED_AUDIO,
        "2399 bytes of samples, the last sample is not whole",
    )
    assert rejected(wav(samples, claimed_bytes=0x7FFF_0000)).reason == Reason.TRUNCATED_AUDIO


def page_checksum(page: bytes) -> bytes:
    """Of an ogg page whose checksum is zero (RFC 3533): a CRC of 32 bits, from the highest bit on."""
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 1 << 31 else value << 1) & 0xFFFF_FFFF
    return value.to_bytes(4, "little")


def test_an_ogg_of_a_recorder_that_marked_no_end_is_whole_if_its_last_page_is() -> None:
    file = io.BytesIO()
    soundfile.write(file, np.random.default_rng(7).normal(0, 0.1, RATE_HZ), RATE_HZ, format="OGG", subtype="VORBIS")
    whole = file.getvalue()
    start = whole.rfind(b"OggS")
    assert whole[start + 5] == 4
    page = bytearray(whole[start:])
    page[5], page[22:26] = 0, bytes(4)
    page[22:26] = page_checksum(bytes(page))
    stopped = whole[:start] + bytes(page)
    np.testing.assert_array_equal(decode(stopped).samples, decode(whole).samples)
    longer = bytearray(stopped)  # a packet that goes on in a page to come
    last = start + 26 + page[26]
    longer += bytes(255 - longer[last])
    longer[last] = 255
    for cut in (stopped[:-1], stopped[:-20], stopped[: start + 28], stopped + b"Ogg", bytes(longer)):
        error = rejected(cut)
        assert (error.reason, error.message) == (
            Reason.TRUNCATED_AUDIO,
            "the last page of the ogg stream is cut off",
        )


def test_the_mp3s_of_common_voice_whose_headers_count_the_encoders_delay_are_whole(reference: Path) -> None:
    clips = [*(reference / "corpora").glob("common_voice_*/*/clips/*.mp3")]
    assert len(clips) == 88
    assert all(len(decode(clip.read_bytes()).samples) for clip in clips)


def mp3(samples: np.ndarray, *, rate_hz: int, mode: str) -> bytes:
    file = io.BytesIO()
    with soundfile.SoundFile(
        file, "w", rate_hz, 1, format="MP3", subtype="MPEG_LAYER_III", bitrate_mode=mode, compression_level=0.3
    ) as encoder:
        encoder.write(samples)
    return file.getvalue()


def without_own_header(data: bytes) -> bytes:
    """An mp3 without its first frame, in which the encoder states its length."""
    assert b"Xing" in data[:512] or b"Info" in data[:512]
    return data[data.index(data[:2], 4) :]


@pytest.mark.parametrize("rate_hz", [44_100, 22_050, 11_025], ids=["MPEG-1", "MPEG-2", "MPEG-2.5"])
def test_an_mp3_of_varying_bit_rate_without_a_stated_length_is_not_cut_silently(rate_hz: int) -> None:
    """libsndfile assumes the first frame's bit rate for all: a loud beginning makes it short, a quiet one long."""
    rng = np.random.default_rng(5)
    loud, quiet = rng.normal(0, 0.2, 3 * rate_hz), rng.normal(0, 1e-5, 3 * rate_hz)
    cut, whole = (
        mp3(np.concatenate(parts), rate_hz=rate_hz, mode="VARIABLE") for parts in ((loud, quiet), (quiet, loud))
    )
    assert len(decode(cut, rate_hz=rate_hz).samples) == len(decode(whole, rate_hz=rate_hz).samples) == 6 * rate_hz
    rejection = rejected(without_own_header(cut))
    assert rejection.reason == Reason.TRUNCATED_AUDIO
    assert rejection.message.endswith("; its bit rate varies and no header tells its length: encode it anew")
    found = decode(without_own_header(whole), rate_hz=rate_hz)
    assert len(found.samples) == pytest.approx(6 * rate_hz, abs=4 * 1152)


@pytest.mark.parametrize("rate_hz", [44_100, 22_050, 11_025], ids=["MPEG-1", "MPEG-2", "MPEG-2.5"])
def test_an_mp3_of_constant_bit_rate_need_not_state_its_length(rate_hz: int) -> None:
    signal = np.random.default_rng(6).normal(0, 0.1, 3 * rate_hz)
    headless = without_own_header(mp3(signal, rate_hz=rate_hz, mode="CONSTANT"))
    tag = b"ID3\x04\x00\x00" + bytes([0, 0, 2, 1]) + bytes(2 * 128 + 1)
    for data in (headless, tag + headless, headless + b"TAG" + bytes(125)):
        assert count_mp3_samples(data) == len(decode(data, rate_hz=rate_hz).samples)
        assert len(decode(data, rate_hz=rate_hz).samples) == pytest.approx(len(signal), abs=4 * 1152)


@pytest.mark.parametrize("cut_bytes", [1, 50])
def test_an_mp3_without_a_stated_length_that_ends_in_a_frame_is_cut_off(cut_bytes: int) -> None:
    headless = without_own_header(mp3(np.random.default_rng(6).normal(0, 0.1, 22_050), rate_hz=22_050, mode="CONSTANT"))
    rejection = rejected(headless[:-cut_bytes])
    assert (rejection.reason, "bytes of its last frame" in rejection.message) == (Reason.TRUNCATED_AUDIO, True)


@pytest.mark.parametrize("rest_bytes", [1, 2, 3])
def test_an_mp3_without_a_stated_length_that_ends_in_the_header_of_a_frame_is_cut_off(rest_bytes: int) -> None:
    headless = without_own_header(mp3(np.random.default_rng(6).normal(0, 0.1, 22_050), rate_hz=22_050, mode="CONSTANT"))
    cut = headless + headless[:rest_bytes]
    assert rejected(cut).message == f"{rest_bytes} bytes of its last frame"
    assert count_mp3_samples(headless + b"TAG"[:rest_bytes]) == count_mp3_samples(headless)


@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
def test_mp3s_that_were_put_one_behind_the_other_are_not_heard_in_part(mode: str) -> None:
    """Each states its own length; libsndfile decodes the first one."""
    one = mp3(np.random.default_rng(6).normal(0, 0.1, 44_100), rate_hz=22_050, mode=mode)
    tag = b"ID3\x04\x00\x00" + bytes([0, 0, 0, 9]) + bytes(9)
    for behind in (one, tag + one):
        assert rejected(one + behind).message.startswith("several mp3s one after the other")
    assert len(decode(one + b"TAG" + bytes(125)).samples) == 44_100


def test_a_frame_of_another_layer_behind_an_mp3_is_no_sound_of_it() -> None:
    headless = without_own_header(mp3(np.random.default_rng(6).normal(0, 0.1, 22_050), rate_hz=22_050, mode="CONSTANT"))
    of_layer_ii = bytes([headless[0], headless[1] & ~6 | 4, *headless[2:4]]) + bytes(2000)
    assert count_mp3_samples(headless + of_layer_ii) == count_mp3_samples(headless)


@given(st.binary(max_size=200))
def test_bytes_that_are_not_an_mp3_have_no_frames(data: bytes) -> None:
    found = None
    with contextlib.suppress(Rejected):
        found = count_mp3_samples(data)
    assert found is None or (b"\xff" in data and found % 576 == 0)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("channels", [1, 2])
def test_one_recording_in_any_depth_and_number_of_channels_is_one_signal(
    subtype: str, channels: int, reference: Path
) -> None:
    samples, rate_hz = soundfile.read(reference / "corpora/LJSpeech-1.1/wavs/LJ001-0002.wav")
    file = io.BytesIO()
    soundfile.write(file, np.stack([samples] * channels, axis=1), rate_hz, format="WAV", subtype=subtype)
    step = 1 / 128 if subtype == "PCM_U8" else 1e-6
    np.testing.assert_allclose(decode(file.getvalue()).samples, samples, atol=step)


def test_the_rate_is_that_of_the_header(reference: Path) -> None:
    """The same samples at another rate are another sound, whatever rate the corpus documents."""
    samples, rate_hz = soundfile.read(reference / "corpora/LJSpeech-1.1/wavs/LJ001-0002.wav", dtype="int16")
    doubled = decode(wav(samples, rate_hz=2 * rate_hz))
    assert len(doubled.samples) == pytest.approx(len(samples) / 2, abs=1)


def test_a_named_pipe_and_a_device_are_no_recordings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.wav")
    for path in (tmp_path / "pipe.wav", Path("/dev/zero")):
        with pytest.raises(Rejected) as caught:
            read_audio_file(str(path))
        assert caught.value.reason == Reason.MISSING_AUDIO


def test_a_truncated_flac_is_unreadable(reference: Path) -> None:
    data = (reference / "corpora/ljspeech_formats/wavs/LJ001-0002.flac").read_bytes()
    for part in (0.99, 0.5, 0.1):
        assert rejected(data[: int(part * len(data))]).reason == Reason.UNREADABLE_AUDIO


ALLOWED = (
    Reason.UNREADABLE_AUDIO,
    Reason.TRUNCATED_AUDIO,
    Reason.EMPTY_AUDIO,
    Reason.NON_FINITE_AUDIO,
    Reason.UNDECODED_LENGTH,
)
starts = st.sampled_from(
    [b"", b"RIFF\x24\x08\x00\x00WAVEfmt ", b"fLaC\0\0\0\x22", b"OggS\0\x02", b"ID3\x03", b"NIST_1A\n"]
)


@given(starts, st.binary(max_size=400))
def test_arbitrary_bytes_are_decoded_or_rejected(start: bytes, rest: bytes) -> None:
    try:
        audio = decode(start + rest)
    except Rejected as error:
        reason = error.reason
    else:
        assert np.isfinite(audio.samples).all()
        return
    assert reason in ALLOWED


@given(
    st.lists(st.tuples(st.integers(0, 43), st.integers(0, 255)), max_size=4),
    st.sampled_from(["<i2", "<f4", "<f8"]),
)
def test_a_damaged_header_gives_finite_sound_or_a_rejection(damage: list[tuple[int, int]], kind: str) -> None:
    data = bytearray(wav(np.arange(-200, 200).astype(kind)))
    for position, value in damage:
        data[position] = value
    try:
        audio = decode(bytes(data))
    except Rejected:
        return
    assert np.isfinite(audio.samples).all()


def test_pcm_is_the_nearest_of_16_bits_and_full_scale_is_the_most() -> None:
    samples = np.array([0.0, 0.4 / 32768, 0.6 / 32768, -1.0, 1.0, 1.8, -1.5], np.float32)
    pcm = to_pcm(samples)
    assert pcm.dtype == np.dtype("<i2")
    assert pcm.tolist() == [0, 0, 1, -32768, 32767, 32767, -32768]
