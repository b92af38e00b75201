"""Parts of long recordings equal the same samples of the whole recording."""

from __future__ import annotations

import contextlib
import errno
import io
import resource
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import soxr

from preprocess.audio import decode_audio
from preprocess.audio_file import MAX_FILE_BYTES, read_audio_file, recording_sha256
from preprocess.audio_parts import read_part
from preprocess.parts import part_path
from preprocess.utterance import Reason, Rejected
from tests.preprocess.test_containers import encoded

RATE_HZ, LENGTH_S = 16_000, 20


def speechlike(channels: int = 1, *, rate_hz: int = RATE_HZ) -> np.ndarray:
    """Twenty seconds [S, channels] of a gliding tone in noise that comes and goes; no second is like another."""
    time_s = np.arange(LENGTH_S * rate_hz) / rate_hz
    noise = np.random.default_rng(0).standard_normal((len(time_s), channels))
    tone = np.sin(2 * np.pi * (200 + 20 * time_s) * time_s)[:, None]
    return (0.3 * (tone + 0.2 * noise) * np.sin(3 * time_s)[:, None] ** 2).astype(np.float32)


def part_of(path: Path, *, start_s: float, end_s: float | None) -> tuple[np.ndarray, int]:
    """The samples of a part, and their rate."""
    data = read_audio_file(part_path(str(path), start_s=start_s, end_s=end_s))
    return soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)


EXACT = {
    "wav": {"subtype": "PCM_16"},
    "wav 24 bits": {"format": "WAV", "subtype": "PCM_24"},
    "wav floating point": {"format": "WAV", "subtype": "FLOAT"},
    "wav law": {"format": "WAV", "subtype": "ULAW"},
    "flac": {"subtype": "PCM_16"},
    "vorbis": {"format": "OGG", "subtype": "VORBIS"},
    "aiff": {"subtype": "PCM_16"},
    "w64": {"format": "W64", "subtype": "PCM_16"},
    "caf": {"format": "CAF", "subtype": "PCM_16"},
    "sphere": {"format": "NIST", "subtype": "PCM_16"},
}


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("kind", EXACT)
def test_a_part_has_the_very_samples_of_the_whole(kind: str, channels: int, tmp_path: Path) -> None:
    path = tmp_path / f"long.{kind.split()[0]}"
    soundfile.write(path, speechlike(channels), RATE_HZ, **EXACT[kind])
    whole, _ = soundfile.read(path, dtype="float32", always_2d=True)
    for start_s, end_s in [(0, 2.5), (0.00004, 1), (7.12345, 9.87654), (19, 20), (3, None), *random_parts(5)]:
        samples, rate_hz = part_of(path, start_s=start_s, end_s=end_s)
        stop = len(whole) if end_s is None else round(end_s * RATE_HZ)
        assert rate_hz == RATE_HZ
        np.testing.assert_array_equal(samples, whole[round(start_s * RATE_HZ) : stop])


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [16_000, 24_000])
def test_a_part_of_opus_has_nearly_the_samples_of_the_whole_and_the_same_every_time(
    rate_hz: int, tmp_path: Path
) -> None:
    """Of speech at few bits a second, of which the decoder carries a state along."""
    wavs = sorted((Path(__file__).parents[1] / "corpora/english/wavs").iterdir())[:8]
    clips = [soundfile.read(wav, dtype="float32") for wav in wavs]
    speech = np.concatenate([soxr.resample(clip, own_hz, rate_hz) for clip, own_hz in clips])
    path = tmp_path / "long.opus"
    soundfile.write(path, speech, rate_hz, format="OGG", subtype="OPUS", compression_level=0.9)
    whole, _ = soundfile.read(path, dtype="float32", always_2d=True)
    last_s = len(whole) / rate_hz - 1.5
    for start_s in np.random.default_rng(1).uniform(0, last_s, 20).round(4).tolist():
        samples, _ = part_of(path, start_s=start_s, end_s=start_s + 1)
        again, _ = part_of(path, start_s=start_s, end_s=start_s + 1)
        np.testing.assert_array_equal(samples, again)
        expected = whole[round(start_s * rate_hz) : round((start_s + 1) * rate_hz)]
        assert np.abs(samples - expected).max() < 0.01


def random_parts(count: int) -> list[tuple[float, float]]:
    starts = np.random.default_rng(1).uniform(0, LENGTH_S - 3, count)
    return [(round(float(start), 4), round(float(start) + 2.7, 4)) for start in starts]


def mp3(samples: np.ndarray, *, rate_hz: int, mode: str, has_length: bool = True) -> bytes:
    """An mp3; without the encoder's own first frame, which states the length, if `has_length` is false."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate_hz, format="MP3", bitrate_mode=mode, compression_level=0.4)
    data = file.getvalue()
    if has_length:
        return data
    second = data.index(data[:2], 4)  # the sync word and version of the next frame
    return data[second:]


def test_hours_cost_no_memory_and_no_time(tmp_path: Path) -> None:
    path = tmp_path / "hours.wav"
    rate_hz, seconds, channels = 48_000, 3 * 3600, 2
    size = rate_hz * seconds * channels * 2
    kind = struct.pack("<IHHIIHH", 16, 1, channels, rate_hz, rate_hz * channels * 2, channels * 2, 16)
    header = b"RIFF" + struct.pack("<I", 36 + size) + b"WAVEfmt " + kind + b"data" + struct.pack("<I", size)
    last = np.arange(rate_hz * channels, dtype="<i2")
    with path.open("wb") as file:
        file.write(header)
        file.seek(len(header) + size - last.nbytes)  # sparse: it costs no disk
        file.write(last.tobytes())
    assert path.stat().st_size > 4 * MAX_FILE_BYTES
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    samples, _ = part_of(path, start_s=seconds - 1, end_s=seconds)
    np.testing.assert_array_equal(samples * 32768, last.reshape(-1, channels))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


@pytest.mark.slow
def test_the_parts_of_an_hour_cost_what_the_hour_costs_once(tmp_path: Path) -> None:
    path, seconds, parts = tmp_path / "hour.flac", 3600, 400
    block = (speechlike() * 32767).astype(np.int16)
    with soundfile.SoundFile(path, "w", RATE_HZ, 1) as file:
        for _ in range(seconds // LENGTH_S):
            file.write(block)
    start_s = time.process_time()
    with soundfile.SoundFile(path) as file:
        assert sum(map(len, file.blocks(1 << 16, dtype="float32"))) == seconds * RATE_HZ
    whole_s = time.process_time() - start_s
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start_s = time.process_time()
    for place in np.random.default_rng(4).permutation(parts):  # as the hash of their ids orders them
        samples, _ = part_of(path, start_s=9 * place, end_s=9 * place + 8.5)
        assert len(samples) == 8.5 * RATE_HZ
    assert time.process_time() - start_s < 3 * whole_s
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


def reason_of(path: Path, times: str) -> tuple[Reason, str]:
    with pytest.raises(Rejected) as caught:
        read_audio_file(f"{path}#t={times}")
    return caught.value.reason, caught.value.message


@pytest.mark.parametrize("suffix", ["flac", "mp3"])
def test_a_part_that_the_recording_does_not_hold_is_rejected(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, speechlike(), RATE_HZ)
    assert len(part_of(path, start_s=19, end_s=20.09)[0]) == RATE_HZ  # times are rounded
    assert reason_of(path, "19,20.2") == (
        Reason.TRUNCATED_AUDIO,
        "the part ends at 20.200 s, the recording at 20.000 s",
    )
    assert reason_of(path, "21")[0] == Reason.EMPTY_AUDIO
    assert reason_of(path, "21,22")[0] in (Reason.TRUNCATED_AUDIO, Reason.EMPTY_AUDIO)
    assert reason_of(path, "3,3.00001")[0] == Reason.EMPTY_AUDIO
    assert reason_of(tmp_path / "absent.flac", "1,2")[0] == Reason.MISSING_AUDIO
    assert reason_of(tmp_path, "1,2") == (Reason.MISSING_AUDIO, f"Is a directory: {tmp_path}")


def test_a_part_in_front_of_the_damage_is_read_and_one_behind_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, speechlike(), RATE_HZ)
    whole, _ = soundfile.read(path, dtype="float32", always_2d=True)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    np.testing.assert_array_equal(part_of(path, start_s=1, end_s=2)[0], whole[RATE_HZ : 2 * RATE_HZ])
    assert reason_of(path, "18,19")[0] in (Reason.TRUNCATED_AUDIO, Reason.UNREADABLE_AUDIO)


def test_what_is_no_sound_or_of_another_format_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"no sound")
    assert reason_of(tmp_path / "a.wav", "1,2")[0] == Reason.UNREADABLE_AUDIO
    samples = np.zeros(RATE_HZ, np.int16)
    (tmp_path / "a.mka").write_bytes(encoded(samples, kind="matroska", codec="flac", rate_hz=RATE_HZ))
    reason, message = reason_of(tmp_path / "a.mka", "0,1")
    assert reason == Reason.UNREADABLE_AUDIO
    assert message.endswith("make a FLAC of it: ffmpeg -i RECORDING RECORDING.flac")


@pytest.mark.parametrize(
    ("format", "subtype"),
    [("WAV", "GSM610"), ("WAV", "G721_32"), ("WAV", "NMS_ADPCM_32")],
)
def test_formats_in_which_no_sample_can_be_found_are_rejected_with_the_remedy(
    format: str, subtype: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, speechlike(rate_hz=8000)[:, 0], 8000, format=format, subtype=subtype)
    capfd.readouterr()
    reason, message = reason_of(path, "0,1")
    assert reason == Reason.UNREADABLE_AUDIO
    assert message.endswith("can be read; make a FLAC of it: ffmpeg -i RECORDING RECORDING.flac")
    assert capfd.readouterr() == ("", "")


def test_an_mp3_inside_of_a_wav_has_no_parts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = mp3(speechlike(), rate_hz=RATE_HZ, mode="CONSTANT")
    kind = struct.pack("<HHIIHHHHIHHH", 0x55, 1, RATE_HZ, 3000, 1, 0, 12, 1, 2, 216, 1, 0)  # MPEGLAYER3WAVEFORMAT
    fact = struct.pack("<I", LENGTH_S * RATE_HZ)
    chunks = ((b"fmt ", kind), (b"fact", fact), (b"data", data + bytes(len(data) % 2)))
    body = b"WAVE" + b"".join(name + struct.pack("<I", len(content)) + content for name, content in chunks)
    (tmp_path / "a.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    assert soundfile.info(str(tmp_path / "a.wav")).subtype == "MPEG_LAYER_III"
    capfd.readouterr()
    assert "WAV with MPEG_LAYER_III can be read" in reason_of(tmp_path / "a.wav", "1,2")[1]
    assert capfd.readouterr() == ("", "")


def test_a_flac_that_does_not_state_its_length_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, speechlike(), RATE_HZ)
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # the total of STREAMINFO: 36 bits
    data[22:26] = bytes(4)
    path.write_bytes(data)
    assert reason_of(path, "1,2")[1].startswith("the recording does not state its length")


@pytest.mark.parametrize("suffix", ["wav", "ogg", "flac", "mp3"])
def test_the_rest_of_a_recording_that_is_cut_off_is_rejected(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, speechlike(), RATE_HZ)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    assert reason_of(path, "3")[0] in (Reason.TRUNCATED_AUDIO, Reason.UNREADABLE_AUDIO)


def test_a_place_that_no_file_has_is_told_in_no_traceback(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, speechlike(), RATE_HZ, format="RF64")
    data = bytearray(path.read_bytes())
    place = data.index(b"ds64") + 8
    struct.pack_into("<QQQ", data, place, 1 << 50, 1 << 50, 1 << 48)
    path.write_bytes(data)
    with contextlib.suppress(Rejected):
        read_audio_file(f"{path}#t=1,2")
    assert capfd.readouterr() == ("", "")


def test_a_recording_at_a_rate_of_no_speech_has_no_parts(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", speechlike()[:, 0], 2000)
    assert reason_of(tmp_path / "a.wav", "1,2") == (Reason.UNREADABLE_AUDIO, "a sample rate of 2000 Hz")


def test_a_part_of_more_than_minutes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preprocess.audio.MAX_DECODED_BYTES", 4 * 5 * RATE_HZ)
    monkeypatch.setattr("preprocess.audio_parts.MAX_DECODED_BYTES", 4 * 5 * RATE_HZ)
    for suffix in ("flac", "mp3"):
        soundfile.write(tmp_path / f"a.{suffix}", speechlike(), RATE_HZ)
        assert reason_of(tmp_path / f"a.{suffix}", "1,8")[0] == Reason.UNDECODED_LENGTH
        assert reason_of(tmp_path / f"a.{suffix}", "1")[0] == Reason.UNDECODED_LENGTH
        assert len(part_of(tmp_path / f"a.{suffix}", start_s=1, end_s=4)[0]) == 3 * RATE_HZ


class FailingFile(io.FileIO):
    """A file whose disk fails after so many bytes were read."""

    def __init__(self, path: Path, *, after_bytes: int):
        super().__init__(path)
        self._left = after_bytes

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise OSError(errno.EIO, "Input/output error")
        return count


@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3"])
def test_a_disk_that_fails_is_not_taken_for_the_end_of_the_recording(
    suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, speechlike(), RATE_HZ)
    for after_bytes in (0, 66_000, 90_000):
        with pytest.raises(OSError, match="Input/output error"):
            read_part(FailingFile(path, after_bytes=after_bytes), start_s=12, end_s=17)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", ["flac", "mp3", "ogg", "wav"])
def test_random_damage_gives_samples_or_a_rejection(suffix: str, tmp_path: Path) -> None:
    path, random = tmp_path / f"a.{suffix}", np.random.default_rng(2)
    soundfile.write(path, speechlike(), RATE_HZ)
    data = path.read_bytes()
    for _ in range(40):
        damaged = bytearray(data)
        for place in random.integers(0, len(data), 8):
            damaged[place] = random.integers(256)
        damaged[: random.integers(64)] = b"" if random.random() < 0.5 else damaged[:1]
        path.write_bytes(damaged)
        try:
            samples, _ = part_of(path, start_s=5, end_s=8)
        except Rejected:
            continue
        assert len(samples) <= 3 * 48_000 * 4


def test_the_sum_of_a_part_is_that_of_its_samples_alone(tmp_path: Path) -> None:
    for suffix, kind in (("wav", "PCM_16"), ("flac", "PCM_16")):
        samples = (speechlike() * 32767).astype(np.int16)
        soundfile.write(tmp_path / f"a.{suffix}", samples, RATE_HZ, subtype=kind)
    sums = {recording_sha256(f"{tmp_path}/a.{suffix}#t=3,4") for suffix in ("wav", "flac")}
    assert len(sums) == 1
    assert recording_sha256(f"{tmp_path}/a.wav#t=3,4.1") not in sums
    assert recording_sha256(f"{tmp_path}/a.wav#t=30,41") == ("", "the part ends at 41.000 s, the recording at 20.000 s")


def test_the_wav_of_a_part_is_decoded_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, speechlike(2), RATE_HZ)
    whole = decode_audio(path.read_bytes(), max_duration_s=30)
    part = decode_audio(read_audio_file(f"{path}#t=2,5"), max_duration_s=30)
    assert part.rate_hz == whole.rate_hz
    np.testing.assert_array_equal(part.samples, whole.samples[2 * RATE_HZ : 5 * RATE_HZ])
