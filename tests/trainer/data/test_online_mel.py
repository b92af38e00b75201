"""Training without stored mels: the same stream as over stored ones, and no recording but the one that was measured."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import soundfile
import tensorflow as tf

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from preprocess.mel import log_mel
from shared.config import load_config
from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import PRESETS
from tests.trainer.batches import epochs, make_stream
from trainer.data.online_mel import OnlineMel, recording_error
from trainer.data.position import Position
from trainer.data.python_ops import python_ops
from trainer.data.record_index import RecordIndex, read_record_index

ENGLISH = Path("tests/corpora/english")
TOLERANCE = 2e-5


def build(corpus: Path, *, data: Path, mel_dtype: str, features: str = "hifigan-22k") -> Dataset:
    source = f"sources={{english: {{reader: ljspeech, root: {corpus}, language: eng_Latn}}}}"
    settings = [source, f"mel_dtype={mel_dtype}", f"features={features}", "utterances_per_shard=7"]
    build_dataset(load_config("configs/preprocess_sample.yaml", of=BuildConfig, overrides=settings), data=data)
    return Dataset.open(data)


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Not to be changed, as the next."""
    return build(ENGLISH, data=tmp_path_factory.mktemp("computed") / "data", mel_dtype="none")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build(ENGLISH, data=tmp_path_factory.mktemp("stored") / "data", mel_dtype="float32")


def assert_same_but_for_rounding(ours: list[dict], theirs: list[dict]) -> None:
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        for name in other.keys() - {"mel"}:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
        assert one["mel"].dtype == np.float32
        np.testing.assert_allclose(one["mel"], other["mel"], atol=TOLERANCE, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"buckets": 5, "seed": 7, "global_max_clips": 3}], ids=str)
def test_the_stream_is_that_of_stored_mels(settings: dict, computed: Dataset, stored: Dataset) -> None:
    """Same buckets, same order, same masked rows, two epochs long."""
    (ours, our_plan, _), (theirs, their_plan, _) = (make_stream(data, **settings) for data in (computed, stored))
    assert our_plan.buckets == their_plan.buckets
    assert_same_but_for_rounding(epochs(ours, until=2), epochs(theirs, until=2))


@pytest.mark.slow
def test_it_is_the_same_each_time_and_resumes_anywhere(computed: Dataset) -> None:
    whole = epochs(make_stream(computed)[0], until=2)
    for number in (0, len(whole) // 2):
        position = Position(*map(int, whole[number]["next"]))
        rest = epochs(make_stream(computed)[0], until=2, position=position)
        for one, other in zip(rest, whole[number + 1 :], strict=True):
            assert {name: value.tobytes() for name, value in one.items()} == {
                name: value.tobytes() for name, value in other.items()
            }


@pytest.mark.slow
def test_the_graph_calls_no_python(computed: Dataset) -> None:
    graph = make_stream(computed)[0].batches(Position())
    assert python_ops(graph) == []
    assert b"ReadFile" in graph._as_serialized_graph().numpy()


@pytest.fixture(scope="module", params=list(PRESETS))
def corpus_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, list[Path]]:
    """The sample at a preset's rate, with clips of odd lengths and of two channels."""
    spec, folder = PRESETS[request.param], tmp_path_factory.mktemp("preset")
    shutil.copy(ENGLISH / "metadata.csv", folder)
    (folder / "wavs").mkdir()
    paths = []
    for number, path in enumerate(sorted((ENGLISH / "wavs").iterdir())[:8]):
        samples, _ = soundfile.read(path, dtype="int16")
        samples = samples[: len(samples) - 37 * number]
        channels = np.stack([samples, samples // 2], axis=1) if number % 2 else samples
        soundfile.write(folder / "wavs" / path.name, channels, spec.sample_rate_hz)
        paths.append(folder / "wavs" / path.name)
    names = {path.stem for path in paths}
    rows = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()
    (folder / "metadata.csv").write_text("\n".join(row for row in rows if row.split("|")[0] in names) + "\n")
    return build(folder, data=folder / "data", mel_dtype="none", features=request.param), paths


def mels_of(dataset: Dataset, rows: list[int], *, num_frames: int) -> np.ndarray:
    """By the very object that the stream uses, at any width."""
    records = read_record_index(dataset, split="train")
    compute = OnlineMel(dataset.info.contract, records=records)
    raw = [payload for file in records.files for payload in tf.data.TFRecordDataset(str(file))]
    parsed = tf.io.parse_example(tf.stack(raw), {"mel": tf.io.FixedLenFeature([], tf.string)})["mel"]
    there = np.array([row for row in rows if row >= 0], np.int64)
    frames = tf.constant([records.frames[row] if row >= 0 else 0 for row in rows], tf.int32)
    moments = tf.gather(parsed, there)
    return compute(moments, rows=tf.constant(rows), frames=frames, num_frames=tf.constant(num_frames)).numpy()


def test_every_preset_is_computed_as_preparation_does(corpus_of: tuple[Dataset, list[Path]]) -> None:
    dataset, _ = corpus_of
    records, spec = read_record_index(dataset, split="train"), dataset.info.contract.features
    rows = list(range(len(records.frames)))
    width = int(records.frames.max()) + 5
    mels = mels_of(dataset, rows, num_frames=width)
    for row, mel in zip(rows, mels, strict=True):
        samples, _ = soundfile.read(records.audio_path[row].as_py(), dtype="float32", always_2d=True)
        expected = log_mel(samples.mean(axis=1), spec=spec)
        assert len(expected) == records.frames[row]
        np.testing.assert_allclose(mel[: len(expected)], expected, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(mel[len(expected) :], spec.log_silence, rtol=1e-6)


@pytest.mark.slow
def test_a_clips_mel_is_the_same_alone_and_in_a_batch(computed: Dataset) -> None:
    frames = read_record_index(computed, split="train").frames
    together = mels_of(computed, [2, 0, 1, -1], num_frames=400)
    for place, row in enumerate([2, 0, 1]):
        alone = mels_of(computed, [row], num_frames=int(frames[row]))
        np.testing.assert_array_equal(together[place, : frames[row]], alone[0])
    silence = np.float32(computed.info.contract.features.log_silence)
    assert (together[3] == silence).all()
    assert (mels_of(computed, [-1, -1], num_frames=16) == silence).all()


def another_sound(path: Path) -> None:
    samples, rate_hz = soundfile.read(path, dtype="int16")
    soundfile.write(path, samples[::-1], rate_hz)


def louder(path: Path) -> None:
    samples, rate_hz = soundfile.read(path, dtype="float32")
    soundfile.write(path, samples * 0.97, rate_hz, subtype="PCM_16")


def shorter(path: Path) -> None:
    samples, rate_hz = soundfile.read(path, dtype="int16")
    soundfile.write(path, samples[:-1], rate_hz)


def at_another_rate(path: Path) -> None:
    samples, _ = soundfile.read(path, dtype="int16")
    soundfile.write(path, samples, 16_000)


def at_24_bits(path: Path) -> None:
    samples, rate_hz = soundfile.read(path, dtype="int16")
    soundfile.write(path, samples, rate_hz, subtype="PCM_24")


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def with_a_header_that_lies(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40:44] = struct.pack("<I", len(data))
    path.write_bytes(data)


CHANGES: list[tuple[Callable[[Path], object], str]] = [
    (Path.unlink, "cannot be read (No such file or directory)"),
    (replaced_by_a_folder, "cannot be read (Is a directory)"),
    (lambda path: path.write_bytes(b""), "is no wav, or is cut off"),
    (lambda path: os.truncate(path, 1000), "is no wav, or is cut off"),
    (lambda path: path.write_bytes(b"the text\n" * 999), "is no wav, or is cut off"),
    (with_a_header_that_lies, "has another number of samples"),
    (shorter, "has another number of samples"),
    (at_another_rate, "is not at 22050 Hz"),
    (at_24_bits, "is no 16-bit PCM wav"),
    (another_sound, "is not what it was when the dataset was built"),
    (louder, "is not what it was when the dataset was built"),
]


class Own(NamedTuple):
    """A corpus of which one recording, a training clip, may be changed; and batches of it, their graph made once."""

    dataset: Dataset
    records: RecordIndex
    batches: tf.data.Dataset
    path: Path

    @contextlib.contextmanager
    def changed(self, change: Callable[[Path], object]) -> Iterator[None]:
        data = self.path.read_bytes()
        try:
            change(self.path)
            yield
        finally:
            if self.path.is_dir():
                self.path.rmdir()
            self.path.write_bytes(data)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Own:
    corpus = shutil.copytree(ENGLISH, tmp_path_factory.mktemp("own") / "corpus")
    dataset = build(corpus, data=corpus.parent / "data", mel_dtype="none")
    records = read_record_index(dataset, split="train")
    stream = make_stream(dataset)[0]
    batches = stream.batches(Position()).take(len(epochs(stream, until=1)))
    return Own(dataset, records, batches, Path(records.audio_path[3].as_py()))


@pytest.mark.slow
@pytest.mark.parametrize(("change", "message"), CHANGES, ids=[message for _, message in CHANGES])
def test_a_recording_that_was_changed_is_named(change: Callable[[Path], object], message: str, own: Own) -> None:
    with own.changed(change), pytest.raises(tf.errors.OpError) as raised:
        list(own.batches)
    assert (
        recording_error(raised.value, records=own.records) == f"{own.path}: the recording of {name_of(own)} {message}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("change", [Path.unlink, another_sound], ids=["gone", "another"])
def test_it_ends_training_in_one_line(change: Callable[[Path], object], own: Own) -> None:
    with own.changed(change), pytest.raises(UserError) as raised:
        epochs(make_stream(own.dataset)[0], until=1)
    message = str(raised.value)
    assert message.startswith(f"{own.path}: the recording of {name_of(own)} ")
    assert "run `make preprocess` again" in message
    assert "\n" not in message


def name_of(own: Own) -> str:
    return f"english/{own.path.stem}"


@pytest.mark.slow
def test_an_error_about_something_else_is_no_complaint(own: Own) -> None:
    momentary = tf.errors.AbortedError(None, None, f"{own.path}; Stale file handle")
    assert recording_error(momentary, records=own.records) is None
    denied = tf.errors.PermissionDeniedError(None, None, f"{own.path}; Permission denied")
    assert recording_error(denied, records=own.records) is not None
    assert len(list(own.batches)) > 0
    assert recording_error(tf.errors.DataLossError(None, None, "corrupted record at 12"), records=own.records) is None
