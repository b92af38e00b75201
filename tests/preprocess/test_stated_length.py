"""Recordings of less usual formats: whole ones are decoded, and none that is cut off is taken for a shorter one."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
import soundfile

from preprocess.audio import decode_audio
from preprocess.stated_length import check_stated_length
from preprocess.utterance import Reason, Rejected

RATE_HZ = 22_050
SAMPLES = np.random.default_rng(1).normal(0, 0.1, 8_001).astype(np.float32)
FORMATS = [
    *[("AIFF", "PCM_16"), ("AIFF", "PCM_24"), ("AIFF", "FLOAT"), ("AU", "PCM_16"), ("AU", "ULAW")],
    *[
        ("RF64", "PCM_16"),
        ("RF64", "FLOAT"),
        ("W64", "PCM_16"),
        ("W64", "PCM_24"),
        ("NIST", "PCM_16"),
        ("NIST", "ULAW"),
    ],
    *[("CAF", "PCM_16"), ("WAVEX", "PCM_16"), ("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS")],
]
every_format = pytest.mark.parametrize(("kind", "subtype"), FORMATS, ids=[" ".join(one) for one in FORMATS])


def encoded(kind: str, subtype: str, *, channels: int = 1) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.stack([SAMPLES] * channels, axis=1), RATE_HZ, format=kind, subtype=subtype)
    return file.getvalue()


@every_format
@pytest.mark.parametrize("channels", [1, 2])
def test_a_whole_recording_is_decoded(kind: str, subtype: str, channels: int) -> None:
    signal = decode_audio(encoded(kind, subtype, channels=channels), max_duration_s=60)
    assert (len(signal.samples), signal.rate_hz) == (len(SAMPLES), RATE_HZ)
    assert np.corrcoef(signal.samples, SAMPLES)[0, 1] > 0.9


@every_format
@pytest.mark.filterwarnings("error")  # a read in an impossible place prints a traceback
def test_a_recording_that_is_cut_off_is_rejected_wherever_it_ends(kind: str, subtype: str) -> None:
    data = encoded(kind, subtype, channels=2)
    for end in (*range(len(data) - 3, 200, -997), 80, 60, 44, 30, 12, 5):
        with pytest.raises(Rejected) as caught:
            decode_audio(data[:end], max_duration_s=60)
        assert caught.value.reason in (Reason.TRUNCATED_AUDIO, Reason.UNREADABLE_AUDIO, Reason.EMPTY_AUDIO), end


@pytest.mark.parametrize("kind", ["AVR", "VOC", "SVX", "PAF", "IRCAM", "PVF", "MAT5"])
def test_a_format_whose_files_do_not_state_their_length_is_refused(kind: str) -> None:
    with pytest.raises(Rejected) as caught:
        decode_audio(encoded(kind, "PCM_16"), max_duration_s=60)
    assert caught.value.reason == Reason.UNREADABLE_AUDIO
    assert f"the format {kind}, whose files do not tell whether they are whole" in caught.value.message


def test_a_snd_from_a_pipe_states_no_length() -> None:
    data = bytearray(encoded("AU", "PCM_16"))
    data[8:12] = b"\xff" * 4
    assert len(decode_audio(bytes(data), max_duration_s=60).samples) == len(SAMPLES)


def test_an_aiff_that_is_cut_off_before_its_samples_says_what_the_whole_file_states() -> None:
    data = encoded("AIFF", "PCM_16")
    head = data[: data.index(b"SSND")]
    with pytest.raises(Rejected) as caught:
        check_stated_length(head)
    assert caught.value.message == f"{len(head) - 8} bytes after its size, its header says {len(data) - 8}"
    check_stated_length(head[:4] + b"\x7f\xff\xff\xff" + head[8:])  # one from a pipe: libsndfile says what is wrong


@pytest.mark.parametrize("begins", [b"FORM", b".snd", b"RF64", b"BW64", b"caff", b"NIST_1A\n   1024\n", b"riff"])
def test_damaged_headers_raise_nothing_else(begins: bytes) -> None:
    chance = np.random.default_rng(3)
    for size in range(0, 300, 7):
        with contextlib.suppress(Rejected):
            check_stated_length(begins + chance.bytes(size))
