"""Segments of recordings: parts of the clips and of their mels, the same whenever and wherever a stream starts."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import soundfile
import tensorflow as tf

from preprocess.mel import log_mel
from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import preset
from shared.files import write_json
from shared.layout import Layout
from shared.processing import Processing
from tests.trainer.conftest import built, spoil_record
from trainer.checkpoint.run_dir import RunInfo
from trainer.config.train_config import TrainConfig
from trainer.data.record_index import read_record_index
from trainer.data.waveforms import open_waveforms
from trainer.vocoder_training import segments as segments_module
from trainer.vocoder_training.predicted_mels import STATE, PredictedMels, PredictedMelsInfo, mel_path
from trainer.vocoder_training.segments import SegmentStream

FRAMES, BATCH = 16, 8
OTHER_SHAPE = "has another shape than frames by bands of the recording"
SPEC_HOP = 256


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus without mels."""
    overrides = ["mel_dtype=none", "max_rejected_fraction=1"]
    return Dataset.open(built(tmp_path_factory.mktemp("recordings") / "data", overrides=overrides))


def stream(dataset: Dataset, **settings: int | PredictedMels) -> SegmentStream:
    given: dict = {"segment_frames": FRAMES, "segment_samples": FRAMES * SPEC_HOP, "batch_size": BATCH, "seed": 1}
    return SegmentStream(dataset, split="train", **(given | settings))


def taken(segments: SegmentStream, *, first: int = 0, steps: int) -> list[dict[str, np.ndarray]]:
    batches = segments.batches(first, log=print)
    return [{name: value.numpy() for name, value in next(batches).items()} for _ in range(steps)]


@pytest.fixture(scope="module")
def clips(recordings: Dataset) -> dict[str, np.ndarray]:
    table = recordings.manifest("train").to_pylist()
    return {row["utterance_id"]: soundfile.read(row["audio_path"], dtype="float32")[0] for row in table}


@pytest.mark.slow
def test_a_segment_is_a_part_of_a_clip_with_that_part_of_its_mel(
    recordings: Dataset, clips: dict[str, np.ndarray]
) -> None:
    """By brute force: the samples are searched for in all clips, at every frame."""
    spec = recordings.info.contract.features
    (batch,) = taken(stream(recordings), steps=1)
    assert batch["mel"].shape == (BATCH, FRAMES, spec.n_mels)
    for mel, samples in zip(batch["mel"], batch["samples"], strict=True):
        found = [
            (name, start)
            for name, clip in clips.items()
            for start in range(spec.num_frames(len(clip)) - FRAMES + 1)
            if np.array_equal(clip[start * SPEC_HOP : start * SPEC_HOP + len(samples)], samples)
        ]
        ((name, start),) = found
        np.testing.assert_allclose(mel, log_mel(clips[name], spec=spec)[start : start + FRAMES], atol=1e-4)


@pytest.mark.slow
def test_a_stream_that_starts_at_a_later_step_continues_as_an_uninterrupted_one(recordings: Dataset) -> None:
    whole = taken(stream(recordings), steps=20)
    for first in (1, 7, 19):
        for one, other in zip(taken(stream(recordings), first=first, steps=20 - first), whole[first:], strict=True):
            for name in ("mel", "samples"):
                np.testing.assert_array_equal(one[name], other[name])


def test_every_epoch_takes_every_clip_once_in_an_order_of_its_own(recordings: Dataset) -> None:
    segments = stream(recordings)
    steps = -(-2 * segments.clips // BATCH)
    order = np.concatenate([segments._clips_of(np.int64(step)).numpy() for step in range(steps)])
    first, second = order[: segments.clips], order[segments.clips : 2 * segments.clips]
    assert Counter(first) == Counter(second) == Counter(range(segments.clips))
    assert not np.array_equal(first, second)


@pytest.mark.slow
def test_another_seed_takes_other_segments_and_has_another_fingerprint(recordings: Dataset) -> None:
    one, other = stream(recordings), stream(recordings, seed=2)
    assert one.fingerprint == stream(recordings).fingerprint != other.fingerprint
    assert not np.array_equal(taken(one, steps=1)[0]["samples"], taken(other, steps=1)[0]["samples"])


def test_data_that_a_vocoder_cannot_be_trained_on_are_one_line(recordings: Dataset, dataset: Dataset) -> None:
    message = r"stores mels and no waveforms; a vocoder is trained on waveforms, so build .* waveform_dtype=int16"
    with pytest.raises(UserError, match=message):
        stream(dataset)
    with pytest.raises(UserError, match="0 clips of the split train have 100000 frames or more, and a batch takes 8"):
        stream(recordings, segment_frames=100_000)


@pytest.fixture(scope="module")
def waveforms(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus with mels and waveforms."""
    overrides = ["waveform_dtype=int16", "max_rejected_fraction=1"]
    return Dataset.open(built(tmp_path_factory.mktemp("waveforms") / "data", overrides=overrides))


@pytest.mark.slow
def test_segments_of_stored_waveforms_are_those_of_the_recordings(recordings: Dataset, waveforms: Dataset) -> None:
    """The recordings are 16-bit wavs at the rate of the mels. More clips have waveforms: those are in no wav."""
    wavs = {path for split in ("train", "validation") for path in recordings.manifest(split)["audio_path"].to_pylist()}
    names = [row["utterance_id"] for row in waveforms.manifest("train").to_pylist() if row["audio_path"] in wavs]
    indices = [read_record_index(one, split="train") for one in (recordings, waveforms)]
    rows = [[index.utterance_id.to_pylist().index(name) for name in names] for index in indices]
    assert len(names) > BATCH
    read = [
        open_waveforms(one, records=index).read(tf.constant(its_rows, tf.int32))
        for one, index, its_rows in zip((recordings, waveforms), indices, rows, strict=True)
    ]
    assert read[0].content.numpy().tolist() == read[1].content.numpy().tolist()
    assert set(read[1].channels.numpy()) == {1}
    (batch,) = taken(stream(waveforms), steps=1)
    assert batch["samples"].shape == (BATCH, FRAMES * SPEC_HOP)


@pytest.mark.slow
def test_the_mel_of_a_segment_is_the_stored_one(waveforms: Dataset) -> None:
    stored = {record.utterance_id: np.asarray(record.mel, np.float32) for record in waveforms.records("train")}
    (batch,) = taken(stream(waveforms), steps=1)
    for mel in batch["mel"]:
        distances = [
            np.abs(whole[start : start + FRAMES] - mel).mean()
            for whole in stored.values()
            for start in range(len(whole) - FRAMES + 1)
        ]
        assert min(distances) < 0.02  # float16, and samples rounded to 16 bits


def test_a_model_sees_no_difference_between_data_with_and_without_waveforms(
    dataset: Dataset, waveforms: Dataset
) -> None:
    runs = [RunInfo.of(TrainConfig(), dataset=one) for one in (dataset, waveforms)]
    assert runs[0].contract == runs[1].contract == dataset.info.contract != waveforms.info.contract


def test_other_processing_has_another_fingerprint(waveforms: Dataset) -> None:
    """The rows may be the same, and the segments are not."""
    contract = waveforms.info.contract.model_copy(update={"processing": Processing(max_peak=0.5)})
    other = Dataset(waveforms.layout, waveforms.info.model_copy(update={"contract": contract}))
    assert stream(other).fingerprint != stream(waveforms).fingerprint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("checksum", "corrupted record at \\d+"),
        ("cut", "(Dataset was empty|truncated record at \\d+|corrupted record at \\d+).*"),
        ("swapped", "the record of \\S+ is that of another utterance"),
        ("length", "the record of \\S+ has a waveform of another length than the manifest says"),
    ],
)
def test_a_damaged_record_is_told_with_what_to_do(waveforms: Dataset, tmp_path: Path, kind: str, reason: str) -> None:
    """In a graph, which trains, and outside, where the clips of validation are read."""
    spoiled, root = tmp_path / "spoiled", tmp_path / "spoiled"
    if kind == "checksum":
        spoil_record(waveforms.layout.root, to=spoiled)
    else:
        shutil.copytree(waveforms.layout.root, spoiled)
    damaged, indices = Dataset(Layout(spoiled), waveforms.info), {}
    for split in ("train", "validation"):
        records = read_record_index(damaged, split=split)
        if kind == "swapped":
            records = records._replace(utterance_id=pa.chunked_array([records.utterance_id.to_pylist()[::-1]]))
        if kind == "length":
            records = records._replace(duration_s=records.duration_s + 0.5)
        indices[split] = records
    message = rf"^{root}: a record cannot be read \({reason}\); run `make validate DATA={root}`$"
    segments = stream(damaged)
    segments._waveforms = open_waveforms(damaged, records=indices["train"])
    if kind == "cut":  # while it trains
        for shard in (spoiled / "shards").glob("*-train-*"):
            shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 20])
    with pytest.raises(UserError, match=message):
        taken(segments, steps=40)
    if kind in ("swapped", "length"):
        read = open_waveforms(damaged, records=indices["validation"])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            read.read(tf.constant([0], tf.int32))
        assert re.match(message, read.error_message(caught.value) or "")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Reading fails so many times, once after two batches and then at once; returns the steps that were asked for."""
    monkeypatch.setattr(segments_module, "RETRY_PAUSES_S", (0.0, 0.0, 0.0, 0.0))

    def fail(times: int) -> list[int]:
        read, asked = SegmentStream._prefetched, list[int]()

        def fails(self: SegmentStream, step: int) -> Iterator[dict]:
            asked.append(step)
            if len(asked) > times:
                yield from read(self, step)
            if len(asked) == 1:
                yield from read(self, step).take(2)
            raise tf.errors.AbortedError(None, None, "{{function_node x}} shard; Stale file handle")

        monkeypatch.setattr(SegmentStream, "_prefetched", fails)
        return asked

    return fail


@pytest.mark.slow
def test_reading_goes_on_where_it_failed_for_a_moment(
    waveforms: Dataset, failing: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed = taken(stream(waveforms), first=3, steps=5)
    asked = failing(4)
    for one, other in zip(taken(stream(waveforms), first=3, steps=5), undisturbed, strict=True):
        np.testing.assert_array_equal(one["samples"], other["samples"])
    assert asked == [3, 5, 5, 5, 5]
    assert capsys.readouterr().out.count("reading the data failed (shard; Stale file handle); trying again in 0 s") == 4


def test_reading_that_fails_for_good_is_one_line(waveforms: Dataset, failing: Callable) -> None:
    failing(5)
    with pytest.raises(
        UserError, match=r"^reading the data failed \(shard; Stale file handle\): the disk or the netwo"
    ):
        taken(stream(waveforms), steps=5)


def test_an_error_that_is_not_about_a_record_is_left_to_others(waveforms: Dataset) -> None:
    read = open_waveforms(waveforms, records=read_record_index(waveforms, split="train"))
    assert read.error_message(tf.errors.InvalidArgumentError(None, None, "slice index 9 of dimension 0")) is None
    assert read.error_message(tf.errors.ResourceExhaustedError(None, None, "OOM when allocating")) is None


@pytest.mark.slow
def test_a_recording_that_is_gone_or_was_replaced_is_named(recordings: Dataset, tmp_path: Path) -> None:
    soundfile.write(tmp_path / "other.wav", np.zeros(100), 22_050)
    for name, message in (
        ("gone.wav", r"gone\.wav: the recording of .* cannot be read .*; put the file back"),
        ("other.wav", r"the recording of .* has another number of samples.*; put the file back"),
    ):
        segments = stream(recordings)
        records = read_record_index(recordings, split="train")
        replaced = records._replace(audio_path=pa.chunked_array([[str(tmp_path / name)] * len(records.frames)]))
        segments._waveforms = open_waveforms(recordings, records=replaced)
        with pytest.raises(UserError, match=message):
            taken(segments, steps=1)


@pytest.fixture(scope="module")
def predicted(recordings: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mels whose values name frame and clip, for all clips but every fifth."""
    folder = tmp_path_factory.mktemp("predicted") / "mels"
    spec = recordings.info.contract.features
    info = PredictedMelsInfo(
        features=spec, run="run", checkpoint="step 1", checkpoint_sha256="0" * 64, dataset_sha256="0" * 64
    )
    write_json(_made(folder) / STATE, info.model_copy(update={"is_finished": True}))
    for number, row in enumerate(recordings.manifest("train").to_pylist()):
        if number % 5:
            path = mel_path(folder, utterance_id=row["utterance_id"])
            values = np.arange(row["frames"])[:, None] + 0.01 * number + np.zeros(spec.n_mels)
            np.save(_made(path.parent) / path.name, values.astype(np.float16))
    return folder


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.slow
def test_with_predicted_mels_a_segment_has_the_samples_under_these_frames(
    recordings: Dataset, predicted: Path, clips: dict[str, np.ndarray]
) -> None:
    mels = PredictedMels(predicted, contract=recordings.info.contract)
    segments = stream(recordings, mels=mels)
    names = recordings.manifest("train")["utterance_id"].to_pylist()
    assert segments.clips_without_mel == len(names[::5])
    assert segments.fingerprint != stream(recordings).fingerprint
    for batch in taken(segments, steps=3):
        for mel, samples in zip(batch["mel"], batch["samples"], strict=True):
            found = [
                (number, start)
                for number, clip in enumerate(clips[name] for name in names)
                for start in range(0, len(clip) // SPEC_HOP)
                if np.array_equal(clip[start * SPEC_HOP : start * SPEC_HOP + len(samples)], samples)
            ]
            ((number, start),) = found
            assert number % 5
            expected = (np.arange(start, start + FRAMES) + 0.01 * number).astype(np.float16)
            np.testing.assert_array_equal(mel, np.repeat(expected[:, None].astype(np.float32), mel.shape[1], axis=1))


def test_a_mel_that_is_damaged_or_gone_is_named(recordings: Dataset, predicted: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(predicted, tmp_path / "mels"))
    mels = PredictedMels(folder, contract=recordings.info.contract)
    path = next(folder.rglob("*.npy"))
    frames, cut = len(np.load(path)), path.read_bytes()[:-1]
    assert mels.load(str(path), name="a", frames=frames).shape == (frames, 80)
    for damage, message in (
        (lambda: path.write_bytes(b"no npy"), "is no .npy file of version 1"),
        (lambda: path.write_bytes(b""), "is no .npy file of version 1"),
        (lambda: path.write_bytes(b"\x93NUMPY\x01\x00\xff\xff{}"), "is not a matrix of float16"),
        (lambda: np.save(path, np.zeros([frames, 80])), "is not a matrix of float16"),
        (lambda: np.save(path, np.zeros([3, 80], np.float16)), OTHER_SHAPE),
        (lambda: np.save(path, np.zeros([80, frames], np.float16)), OTHER_SHAPE),  # as HiFi-GAN has them
        (lambda: path.write_bytes(cut), "is cut off"),
    ):
        damage()
        with pytest.raises(UserError) as caught:
            mels.load(str(path), name="a", frames=frames)
        assert str(caught.value) == f"{path}: the mel of a {message}; run `make vocoder-mels` again"
    path.unlink()
    with pytest.raises(UserError, match=r"\.npy: No such file or directory; run `make vocoder-mels` again"):
        mels.load(str(path), name="a", frames=frames)


@pytest.mark.slow
def test_a_mel_that_is_removed_while_training_is_named(recordings: Dataset, predicted: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(predicted, tmp_path / "mels"))
    segments = stream(recordings, mels=PredictedMels(folder, contract=recordings.info.contract))
    for path in folder.rglob("*.npy"):
        path.unlink()
    with pytest.raises(UserError, match=r"^/.*/mels/english/\S+\.npy: No such file or directory; run `make vocoder-me"):
        taken(segments, steps=1)


def test_a_folder_that_is_not_finished_or_of_other_mels_is_refused(
    recordings: Dataset, predicted: Path, tmp_path: Path
) -> None:
    contract = recordings.info.contract
    with pytest.raises(UserError, match=r"mels\.json: cannot be read \(No such file or directory\); `make vocoder-mel"):
        PredictedMels(tmp_path, contract=contract)
    with pytest.raises(UserError, match="mels of hifigan-22k, not vocos-24k: sample_rate_hz is 22050, expected 24000"):
        PredictedMels(predicted, contract=contract.model_copy(update={"features": preset("vocos-24k")}))
    state = json.loads((predicted / STATE).read_text())
    (tmp_path / STATE).write_text(json.dumps({**state, "is_finished": False}))
    with pytest.raises(UserError, match="its mels are not finished; run the same `make vocoder-mels` again"):
        PredictedMels(tmp_path, contract=contract)
    louder = contract.model_copy(update={"processing": Processing(loudness_lufs=-16, max_peak=0.95)})
    message = "mels of clips with no processing, and the dataset's clips have loudness_lufs -16, max_peak 0.95; predict"
    with pytest.raises(UserError, match=message):
        PredictedMels(predicted, contract=louder)


@pytest.mark.parametrize(
    "utterance_id",
    ["a/../mels", "a/..", "../a", "./x", "a/" + "\u0628" * 200, "a/" + "x/" * 100, "a/", "a/.", "/etc/passwd"],
)
def test_the_file_of_any_id_is_within_the_folder_and_can_be_written(tmp_path: Path, utterance_id: str) -> None:
    path = mel_path(tmp_path, utterance_id=utterance_id)
    assert path.parent.parent == tmp_path
    assert path.resolve() == path
    _made(path.parent)
    path.write_bytes(b"")


def test_usual_ids_are_the_names_of_their_files_and_no_two_ids_share_one(tmp_path: Path) -> None:
    assert mel_path(tmp_path, utterance_id="lj/LJ001-0001") == tmp_path / "lj" / "LJ001-0001.npy"
    ids = ["a/b", "a/b/c", "a/b%2Fc", "a/B", "a/..", "a/.", "a/" + "y" * 300, "a/" + "y" * 301]
    assert len({mel_path(tmp_path, utterance_id=one) for one in ids}) == len(ids)


def test_an_error_that_is_not_about_a_mel_is_left_to_others(recordings: Dataset, predicted: Path) -> None:
    mels = PredictedMels(predicted, contract=recordings.info.contract)
    error = tf.errors.NotFoundError(None, None, f"{{{{function_node x}}}} {predicted}-of-corpus/a.wav; No such file")
    assert mels.error_message(error) is None
    error = tf.errors.NotFoundError(None, None, f"{{{{function_node x}}}} {predicted}/a/b.npy; No such file")
    assert mels.error_message(error) == f"{predicted}/a/b.npy: No such file; run `make vocoder-mels` again"
