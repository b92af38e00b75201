"""Voices over HTTP: uploaded, listed, deleted; nothing that a client sends becomes a path."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.trainer.server.serving import RunningServer
from trainer.server.settings import ServerSettings
from trainer.speech.voice import read_voice

CLIP = Path("tests/corpora/english/wavs/EN001-0001.wav")
OTHER_CLIP = Path("tests/corpora/german/de/clips/common_voice_de_1.mp3")
VOICES = "/v1/audio/voices"


def listed(server: RunningServer) -> list[str]:
    return [one["id"] for one in json.loads(server.request("GET", VOICES).body)["data"]]


def test_a_voice_is_saved_spoken_with_and_deleted(server: RunningServer) -> None:
    assert listed(server) == ["default"]
    answer = server.upload("Anna", CLIP.read_bytes(), OTHER_CLIP.read_bytes())
    assert answer.status == 200, answer
    seconds = soundfile.info(CLIP).duration + soundfile.info(OTHER_CLIP).duration
    assert 0.3 * seconds < json.loads(answer.body)["duration_s"] < seconds  # silence at the ends is trimmed
    assert listed(server) == ["default", "Anna"]
    speech = {"input": "Hello there.", "language": "en", "voice": "Anna"}
    assert server.request("POST", "/v1/audio/speech", speech).status == 200
    assert server.request("POST", "/v1/audio/speech", {**speech, "voice": {"id": "Anna"}}).status == 200
    answer = server.upload("Anna", CLIP.read_bytes())
    assert (answer.status, "there is one already" in answer.error) == (400, True)
    assert server.request("DELETE", f"{VOICES}/Anna").status == 200
    assert server.request("DELETE", f"{VOICES}/Anna").status == 404
    assert listed(server) == ["default"]


NAMES = [
    "../../escape",
    "/etc/passwd",
    "a/b",
    "..",
    "C:\\x",
    "%2e%2e%2f",
    "Ünï 😀",
    "x" * 64,
    "a?b#c&d",
    "con.txt",
]


def test_names_of_voices_never_become_paths(server: RunningServer, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "voices"
    for name in NAMES:
        answer = server.upload(name, CLIP.read_bytes(), filename="../../../evil.wav")
        assert answer.status == 200, (name, answer)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == len(NAMES)
    assert all(path.parent == folder and path.name.removesuffix(".safetensors").isalnum() for path in files)
    assert sorted(read_voice(path).name for path in files) == sorted(NAMES)


def wav_header(*, rate_hz: int = 22_050, channels: int = 1, bits: int = 16, size: int = 1_000) -> bytes:
    frame = channels * bits // 8 & 0xFFFF
    layout = struct.pack("<IHHIIHH", 16, 1, channels, rate_hz, rate_hz * frame & 0xFFFF_FFFF, frame, bits)
    return b"RIFF" + struct.pack("<I", size + 36) + b"WAVEfmt " + layout + b"data" + struct.pack("<I", size)


def wav(samples: np.ndarray, *, rate_hz: int = 22_050, subtype: str = "PCM_16") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate_hz, format="WAV", subtype=subtype)
    return buffer.getvalue()


GOOD = CLIP.read_bytes()
CLIPS = {
    "empty": b"",
    "text": b"hello",
    "zeros": bytes(10_000),
    "random": np.random.default_rng(1).bytes(10_000),
    "html": b"<html><script>alert(1)</script></html>",
    "zip": b"PK\x03\x04" + bytes(100),
    "pickle": b"\x80\x04cos\nsystem\n(S'id'\ntR.",
    "safetensors": b"\x10" + bytes(7) + b'{"a": 1}',
    "safetensors of 2^63 bytes": b"\xff" * 8 + b"{}",
    "header alone": GOOD[:44],
    "half of a header": GOOD[:20],
    "cut off": GOOD[: len(GOOD) // 2],
    "no samples": wav(np.zeros(0)),
    "a hundred samples": wav(np.zeros(100)),
    "silence": wav(np.zeros(44_100)),
    "not finite": wav(np.full(44_100, np.nan), subtype="FLOAT"),
    "infinite": wav(np.full(44_100, np.inf), subtype="FLOAT"),
    "many hours": wav_header(size=0x7FFF_FFF0) + bytes(1_000),
    "many channels": wav_header(channels=65_535) + bytes(1_000),
    "great rate": wav_header(rate_hz=0xFFFF_FFFF // 2) + bytes(1_000),
    "no rate": wav_header(rate_hz=0) + bytes(1_000),
    "no channel": wav_header(channels=0) + bytes(1_000),
    "odd bits": wav_header(bits=7) + bytes(1_000),
    "two minutes and more": wav(np.random.default_rng(1).normal(0, 0.1, 8_000 * 130), rate_hz=8_000),
    "ten minutes and more": wav(np.random.default_rng(1).normal(0, 0.1, 8_000 * 610), rate_hz=8_000),
    **{
        f"{name} and zeros": begin + bytes(200)
        for name, begin in {
            "flac": b"fLaC",
            "ogg": b"OggS",
            "mp3": b"\xff\xfb\x90\x64",
            "id3": b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f",
            "aiff": b"FORM\x00\x00\x00\x00AIFF",
            "mp4": b"\x00\x00\x00\x18ftypmp42",
            "au": b".snd\x00\x00\x00\x18\xff\xff\xff\xff",
        }.items()
    },
}


def test_clips_that_are_no_recording_are_refused_with_a_reason(server: RunningServer, tmp_path: Path) -> None:
    uploads = {name: server.upload("Eve", clip) for name, clip in CLIPS.items()}
    uploads["no name"] = server.upload(None, GOOD)
    uploads["an empty name"] = server.upload("", GOOD)
    uploads["a long name"] = server.upload("x" * 65, GOOD)
    uploads["control characters"] = server.upload("a\x00b", GOOD)
    uploads["a taken name"] = server.upload("default", GOOD)
    uploads["no clip"] = server.upload("Eve")
    uploads["many clips"] = server.upload("Eve", *[GOOD] * 9)
    uploads["no form"] = server.request("POST", VOICES, b"hello", {"Content-Type": "text/plain"})
    uploads["no boundary"] = server.request("POST", VOICES, b"hello", {"Content-Type": "multipart/form-data"})
    uploads["JSON"] = server.request("POST", VOICES, {"name": "Eve", "clips": ["/etc/passwd"]})
    for charset in ("undefined", "no-such-charset", "utf-16"):
        form = {"Content-Type": f"multipart/form-data; boundary=b; charset={charset}"}
        body = b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nEve\r\n--b--\r\n'
        uploads[f"in {charset}"] = server.request("POST", VOICES, body, form)
    assert len(uploads) >= 40
    for name, answer in uploads.items():
        assert answer.status == 400, (name, answer)
        assert answer.error, name
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert server.upload("Anna", GOOD).status == 200


@pytest.mark.parametrize("server", [ServerSettings(max_upload_bytes=10_000)], indirect=True)
def test_an_upload_above_the_limit_is_refused(server: RunningServer) -> None:
    answer = server.upload("Anna", bytes(20_000))
    assert (answer.status, answer.error) == (413, "the request: expected at most 10,000 bytes")
    chunked = {"Transfer-Encoding": "chunked", "Content-Type": "multipart/form-data; boundary=b"}
    body = b'--b\r\nContent-Disposition: form-data; name="clips"; filename="a"\r\n\r\n' + bytes(20_000)
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    assert server.request("POST", VOICES, chunks, chunked).status == 413


def test_a_damaged_file_does_not_disturb_the_voices_beside_it(server: RunningServer, tmp_path: Path) -> None:
    assert server.upload("Anna", GOOD).status == 200
    (tmp_path / "run" / "voices" / "odd.safetensors").write_bytes(b"odd")
    assert listed(server) == ["default", "Anna"]
    assert server.upload("Berta", GOOD).status == 200


def test_a_voice_that_was_copied_into_the_folder_is_replaced_and_deleted_by_its_name(
    server: RunningServer, tmp_path: Path
) -> None:
    folder = tmp_path / "run" / "voices"
    assert server.upload("Anna", GOOD).status == 200
    (saved,) = folder.iterdir()
    saved.rename(folder / "copied.safetensors")
    assert server.upload("Anna", GOOD).status == 400
    server.synthesizer.voices.save(read_voice(folder / "copied.safetensors"), replace=True)
    assert [path.name for path in folder.iterdir()] == [saved.name]
    (folder / "copy.safetensors").write_bytes(saved.read_bytes())
    assert server.request("DELETE", f"{VOICES}/Anna").status == 200
    assert list(folder.iterdir()) == []


def flac(*, seconds: int, rate_hz: int, channels: int) -> bytes:
    """Silence, which takes few bytes however much it is."""
    buffer = io.BytesIO()
    with soundfile.SoundFile(buffer, "w", rate_hz, channels, format="FLAC", subtype="PCM_16") as file:
        for _ in range(seconds):
            file.write(np.zeros([rate_hz, channels], np.int16))
    return buffer.getvalue()


@pytest.mark.slow
def test_a_small_file_that_would_fill_the_memory_is_refused_unread(server: RunningServer) -> None:
    bomb = flac(seconds=110, rate_hz=192_000, channels=8)
    assert len(bomb) < 1_000_000
    answer = server.upload("Eve", *[bomb] * 3)
    assert answer.status == 400
    assert "expected at most 120,000,000 values" in answer.error
