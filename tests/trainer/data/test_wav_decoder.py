"""Wavs as the graph reads them, against libsndfile; and what preparation accepts, against what the graph can read."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
import soundfile
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from preprocess.audio import decode_audio
from preprocess.utterance import Reason, Rejected
from preprocess.wav import check_plain_pcm
from trainer.data.wav_decoder import Pcm, read_pcm, to_mono

RATE_HZ = 22_050
SAMPLES = 300
GUID = bytes.fromhex("0000000010008000 00aa00389b71")
NAME = "/corpus/a b.wav: the recording of sprache/ä"

tone = (0.5 * np.sin(np.arange(2 * SAMPLES))).reshape(SAMPLES, 2).astype(np.float32)


def chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def riff(*parts: bytes) -> bytes:
    body = b"".join(parts)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def form(*, tag: int = 1, channels: int = 1, rate_hz: int = RATE_HZ, bits: int = 16, extension: bytes = b"") -> bytes:
    align = channels * bits // 8
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate_hz, rate_hz * align, align, bits) + extension)


def pcm(channels: int = 1) -> bytes:
    return (tone[:, :channels] * 32767).astype("<i2").tobytes()


DATA = chunk(b"data", pcm())
EXTENDED = form(tag=0xFFFE, extension=struct.pack("<HHI", 22, 16, 4) + b"\1\0" + GUID)


def written(subtype: str, *, channels: int = 1, container: str = "WAV") -> bytes:
    file = io.BytesIO()
    soundfile.write(file, tone[:, :channels], RATE_HZ, subtype=subtype, format=container)
    return file.getvalue()


GOOD = {
    "by libsndfile": written("PCM_16"),
    "stereo": written("PCM_16", channels=2),
    "extensible by libsndfile": written("PCM_16", container="WAVEX"),
    "plain": riff(form(), DATA),
    "extensible": riff(EXTENDED, DATA),
    "an extended format": riff(form(extension=b"\0\0"), DATA),
    "a list before": riff(chunk(b"LIST", b"abcd"), form(), DATA),
    "an odd list between": riff(form(), chunk(b"LIST", b"abc"), DATA),
    "an odd list behind": riff(form(), DATA, chunk(b"LIST", b"abc")),
    "junk behind": riff(form(), DATA) + b"xyz",
    "a wrong total": b"RIFF\xff\xff\xff\xff" + riff(form(), DATA)[8:],
    "half a sample more": riff(form(), chunk(b"data", pcm() + b"\1")),
}
BAD = {
    "nothing": b"",
    "a header": riff(form())[:14],
    "text": b"the text\n" * 100,
    "24 bits": written("PCM_24"),
    "8 bits": written("PCM_U8"),
    "floating point": written("FLOAT"),
    "µ-law": written("ULAW"),
    "64-bit RIFF": written("PCM_16", container="RF64"),
    "big-endian": b"RIFX" + riff(form(), DATA)[4:],
    "flac": written("PCM_16", container="FLAC"),
    "another rate": riff(form(rate_hz=2 * RATE_HZ), DATA),
    "no format": riff(DATA),
    "no samples": riff(form(), chunk(b"LIST", b"abcd")),
    "cut off": riff(form(), DATA)[:-100],
    "a sample less": riff(form(), chunk(b"data", pcm()[:-2])),
    "a chunk of -1": riff(form(), b"LIST\xff\xff\xff\xff", DATA),
    "a chunk of 2 GiB": riff(form(), b"LIST\xff\xff\xff\x7f", DATA),
    "a format at the end": riff(DATA, b"fmt \x10\0\0\0\1\0"),
    "no channels": riff(form(channels=0), DATA),
    "a wrong alignment": riff(chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, RATE_HZ, 2 * RATE_HZ, 4, 16)), DATA),
}


def by_name(files: dict[str, bytes]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files.values(), ids=list(files))


@tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32)])
def in_graph(files: tf.Tensor, num_samples: tf.Tensor) -> Pcm:
    names = tf.fill(tf.shape(files), NAME)
    return read_pcm(files, rate_hz=RATE_HZ, num_samples=num_samples, names=names)


def read_all(files: list[bytes], *, num_samples: list[int]) -> list[np.ndarray]:
    found = in_graph(tf.constant(files), tf.constant(num_samples))
    return [to_mono(Pcm(*one)).numpy() for one in zip(*found, strict=True)]


def said_by(error: tf.errors.OpError) -> str:
    return error.message.partition("assertion failed: [")[2]


def is_accepted(file: bytes) -> bool:
    try:
        decoded = decode_audio(file, max_duration_s=10)
        check_plain_pcm(file, rate_hz=RATE_HZ, samples=decoded.samples)
    except Rejected:
        return False
    return True


@pytest.mark.slow
def test_wavs_are_read_as_libsndfile_reads_them() -> None:
    read = read_all(list(GOOD.values()), num_samples=[SAMPLES] * len(GOOD))
    for name, samples in zip(GOOD, read, strict=True):
        expected = soundfile.read(io.BytesIO(GOOD[name]), dtype="float32", always_2d=True)[0].mean(axis=1)
        np.testing.assert_array_equal(samples, expected, err_msg=name)
        assert is_accepted(GOOD[name]), name


@by_name(BAD)
def test_what_is_no_such_wav_is_named(file: bytes) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        read_all([GOOD["plain"], file], num_samples=[SAMPLES, SAMPLES])
    said = said_by(raised.value)
    assert said.startswith(NAME)
    assert said.count(NAME) == 1  # the other one is sound


@by_name({name: file for name, file in BAD.items() if name != "a sample less"})
def test_preparation_rejects_what_the_graph_cannot_read(file: bytes) -> None:
    assert not is_accepted(file)


def test_preparation_names_a_format_that_ends_with_the_file() -> None:
    with pytest.raises(Rejected, match="a wav without its format"):
        check_plain_pcm(BAD["a format at the end"], rate_hz=RATE_HZ, samples=np.zeros(SAMPLES, np.float32))


# of several data chunks, libsndfile reads the last one, the graph the first
TWO_DATA = riff(form(channels=2), chunk(b"data", bytes(6)), chunk(b"LIST", b""), chunk(b"data", b"\0\0\0\1\0"))


def test_preparation_rejects_a_wav_whose_samples_libsndfile_finds_elsewhere() -> None:
    decoded = decode_audio(TWO_DATA, max_duration_s=10)
    (found,) = read_all([TWO_DATA], num_samples=[len(decoded.samples)])
    assert not np.array_equal(found, decoded.samples)
    with pytest.raises(Rejected, match="several data chunks"):
        check_plain_pcm(TWO_DATA, rate_hz=RATE_HZ, samples=decoded.samples)


@pytest.mark.parametrize("kind", ["24 bits", "another rate", "flac", "64-bit RIFF"])
def test_sound_audio_that_training_cannot_read_has_a_reason_of_its_own(kind: str) -> None:
    decoded = decode_audio(BAD[kind], max_duration_s=10)
    with pytest.raises(Rejected) as raised:
        check_plain_pcm(BAD[kind], rate_hz=RATE_HZ, samples=decoded.samples)
    assert raised.value.reason is Reason.NOT_PLAIN_WAV


@st.composite
def wavs(draw: st.DrawFn) -> bytes:
    """Wavs with chunks in any order, some of them damaged by a byte or two."""
    channels = draw(st.integers(1, 3))
    parts = [form(channels=channels, extension=draw(st.sampled_from([b"", b"\0\0"])))]
    parts.append(chunk(b"data", draw(st.binary(min_size=6, max_size=60))))
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([b"LIST", b"fact", b"LIST", b"fact", b"data", b"fmt "]))
        parts.append(chunk(name, draw(st.binary(max_size=30))))
    file = bytearray(riff(*(parts if draw(st.booleans()) else draw(st.permutations(parts)))))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        file[draw(st.integers(0, len(file) - 1))] = draw(st.integers(0, 255))
    return bytes(file)


@pytest.mark.slow
@given(file=wavs())
def test_whatever_preparation_accepts_the_graph_reads_to_the_same_samples(file: bytes) -> None:
    if is_accepted(file):
        expected = decode_audio(file, max_duration_s=10).samples
        (found,) = read_all([file], num_samples=[len(expected)])
        np.testing.assert_allclose(found, expected, atol=1e-7, rtol=0)


@pytest.mark.slow
@given(file=st.one_of(wavs(), st.binary(max_size=80), st.binary(max_size=80).map(lambda data: riff(form(), data))))
def test_no_bytes_raise_anything_but_a_named_complaint(file: bytes) -> None:
    said = NAME
    try:
        read_all([file], num_samples=[10])
    except tf.errors.InvalidArgumentError as error:
        said = said_by(error)
    assert said.startswith(NAME)
