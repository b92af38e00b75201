"""Records that rot while a run goes on: named, and either the run ends or their places stay empty and no more."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.tfrecord import HEADER_BYTES, frame_record, unframe
from tests.trainer.batches import as_numpy, epochs, make_stream, until_epoch
from trainer.data import pipeline as stream_module
from trainer.data.corrupt_records import CorruptRecord, find_corrupt_records
from trainer.data.pipeline import Stream

VICTIM = 20  # a row of the training split that is neither the first nor the last of its shard

# several chunks; nothing is shuffled into another one
SETTINGS = {"chunk_bytes": 600_000, "num_parallel_reads": 3}


class Copy(NamedTuple):
    """A dataset to be spoiled, and one of its training records."""

    dataset: Dataset
    shard: Path
    name: str
    offset_bytes: int
    length_bytes: int
    utterance_id: str

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Put another payload of the same length into the record's frame, with the checksums that it then has."""
        with self.shard.open("r+b") as file:
            file.seek(self.offset_bytes)
            framed = frame_record(change(unframe(file.read(self.length_bytes))))
            assert len(framed) == self.length_bytes
            file.seek(self.offset_bytes)
            file.write(framed)

    def flip(self, place: int) -> None:
        with self.shard.open("r+b") as file:
            file.seek(self.offset_bytes + place)
            (byte,) = file.read(1)
            file.seek(self.offset_bytes + place)
            file.write(bytes([byte ^ 0x10]))


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Copy:
    dataset = Dataset.open(shutil.copytree(data, tmp_path / "data"))
    row = {name: column[0] for name, column in dataset.manifest("train").slice(VICTIM, 1).to_pydict().items()}
    assert row["index"] > 0
    return Copy(
        dataset,
        Path(str(dataset.layout.shard(row["shard"]))),
        *(row[name] for name in ("shard", "offset_bytes", "length_bytes", "utterance_id")),
    )


def flip_a_byte_of_the_mel(copy: Copy) -> None:
    copy.flip(copy.length_bytes // 2)


def flip_a_byte_of_the_length(copy: Copy) -> None:
    copy.flip(3)


def shorten_the_mel(copy: Copy) -> None:
    """Two bytes of it are text now: the checksums are right, and so are all other fields."""

    def change(payload: bytes) -> bytes:
        example = tf.train.Example.FromString(payload)
        for name, value in (("mel", lambda mel: mel[:-2]), ("text", lambda text: text + b"..")):
            values = example.features.feature[name].bytes_list.value
            values[0] = value(values[0])
        return example.SerializeToString(deterministic=True)

    copy.rewrite(change)


def state_other_frames(copy: Copy) -> None:
    def change(payload: bytes) -> bytes:
        example = tf.train.Example.FromString(payload)
        example.features.feature["frames"].int64_list.value[0] += 1
        return example.SerializeToString(deterministic=True)

    copy.rewrite(change)


def take_the_name_of_another(copy: Copy) -> None:
    def change(payload: bytes) -> bytes:
        example = tf.train.Example.FromString(payload)
        (name,) = example.features.feature["utterance_id"].bytes_list.value
        example.features.feature["utterance_id"].bytes_list.value[0] = name[:-1] + b"?"
        return example.SerializeToString(deterministic=True)

    copy.rewrite(change)


def hold_a_token_that_is_none(copy: Copy) -> None:
    def change(payload: bytes) -> bytes:
        example = tf.train.Example.FromString(payload)
        tokens = example.features.feature["tokens"].int64_list.value
        tokens[0] += 1 << 20  # three bytes as before
        return example.SerializeToString(deterministic=True)

    copy.rewrite(change)


def be_no_message(copy: Copy) -> None:
    copy.rewrite(lambda payload: b"\xff" * len(payload))


FAULTS = {
    flip_a_byte_of_the_mel: "the data fails its checksum",
    flip_a_byte_of_the_length: "the length fails its checksum",
    shorten_the_mel: "a mel of ",
    state_other_frames: "frames is ",
    take_the_name_of_another: "utterance_id is english/",
    hold_a_token_that_is_none: "is none of NLLB's",
    be_no_message: "protobuf",
}


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "reason"), FAULTS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_corrupt_record_ends_the_run_and_is_named_by_shard_offset_and_id(
    copy: Copy, spoil: Callable[[Copy], None], reason: str
) -> None:
    stream, _, _ = make_stream(copy.dataset, **SETTINGS)
    spoil(copy)
    with pytest.raises(UserError) as caught:
        epochs(stream, until=1)
    message = str(caught.value)
    place = f"{copy.shard}: the record of {copy.utterance_id} at byte {copy.offset_bytes} is corrupt ("
    assert message.startswith(place), message
    assert reason in message
    assert "make validate" in message
    assert "make repair" in message
    assert "\n" not in message


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil",
    [
        one if one in (flip_a_byte_of_the_mel, state_other_frames) else pytest.param(one, marks=pytest.mark.soak)
        for one in FAULTS
    ],
)
def test_a_corrupt_record_within_the_budget_leaves_its_place_empty_and_changes_no_other(
    copy: Copy, spoil: Callable[[Copy], None]
) -> None:
    whole = epochs(make_stream(copy.dataset, **SETTINGS)[0], until=2)
    stream, _, _ = make_stream(copy.dataset, max_corrupt_records=1, **SETTINGS)
    spoil(copy)
    messages: list[str] = []
    found = list(as_numpy(until_epoch(stream, 2, log=messages.append)))
    assert [batch["next"].tolist() for batch in found] == [batch["next"].tolist() for batch in whole]
    for ours, theirs in zip(found, whole, strict=True):
        kept = (theirs["rows"] != VICTIM) & (theirs["rows"] >= 0)
        filled = ours["rows"] >= 0
        assert ours["mel"].shape == theirs["mel"].shape
        assert (filled == (np.arange(len(filled)) < kept.sum())).all()
        for name in ("mel", "frames", "tokens", "token_counts", "rows"):
            assert ours[name][filled].tobytes() == theirs[name][kept].tobytes(), name
        assert (ours["frames"][~filled] == 0).all()
    assert [(damage.row, damage.utterance_id) for damage in stream.corrupt_records] == [(VICTIM, copy.utterance_id)]
    (line,) = messages
    assert copy.utterance_id in line
    assert "skipped, 1 of 1" in line


@pytest.mark.slow
def test_one_corrupt_record_more_than_the_budget_ends_the_run(copy: Copy) -> None:
    stream, _, _ = make_stream(copy.dataset, max_corrupt_records=1, **SETTINGS)
    flip_a_byte_of_the_mel(copy)
    offsets = copy.dataset.manifest("train")["offset_bytes"].to_pylist()
    copy.flip(offsets[VICTIM - 1] - copy.offset_bytes + HEADER_BYTES + 50)
    messages: list[str] = []
    with pytest.raises(UserError, match=r"is corrupt \(.*input\.max_corrupt_records, now 1"):
        list(until_epoch(stream, 1, log=messages.append))
    assert len(stream.corrupt_records) == 2


@pytest.mark.slow
def test_a_resumed_run_meets_a_corrupt_record_again_and_goes_on_with_the_same_batches(copy: Copy) -> None:
    flip_a_byte_of_the_mel(copy)

    def stream() -> Stream:
        return make_stream(copy.dataset, max_corrupt_records=1, **SETTINGS)[0]

    def rest(batches: list[dict]) -> list[tuple]:
        return [(batch["next"].tolist(), batch["rows"].tolist(), batch["mel"].tobytes()) for batch in batches]

    with pytest.warns(UserWarning, match="skipped, 1 of 1"):
        whole = epochs(stream(), until=2)
    for number in (1, 4):
        with pytest.warns(UserWarning, match="skipped, 1 of 1"):
            resumed = epochs(stream(), until=2, position=whole[number]["next"].tolist())
        assert rest(resumed) == rest(whole[number + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_shard_cut_short_while_it_is_read_is_blamed_on_its_first_lost_record(copy: Copy, kept: float) -> None:
    stream, _, _ = make_stream(copy.dataset, **SETTINGS)
    content = copy.shard.read_bytes()
    copy.shard.write_bytes(content[: int(kept * len(content))])
    message = rf"{copy.shard}: the record of \S+ at byte \d+ is corrupt \(the file ends"
    with pytest.raises(UserError, match=message) as caught:
        epochs(stream, until=1)
    assert len(stream.corrupt_records) > 1
    assert f"), and {len(stream.corrupt_records) - 1} near it; " in str(caught.value)


@pytest.mark.slow
def test_a_shard_that_holds_the_bytes_of_another_is_noticed(copy: Copy) -> None:
    stream, _, _ = make_stream(copy.dataset, **SETTINGS)
    other = next(path for path in copy.shard.parent.glob("*-train-*") if path != copy.shard)
    shutil.copy(other, copy.shard)
    with pytest.raises(UserError, match=f"{copy.shard}: the record of "):
        epochs(stream, until=1)


@pytest.mark.slow
def test_a_shard_that_is_gone_is_named(copy: Copy) -> None:
    stream, _, _ = make_stream(copy.dataset, **SETTINGS)
    copy.shard.unlink()
    with pytest.raises(UserError, match=rf"{copy.shard}: a shard cannot be read \(No such file"):
        epochs(stream, until=1)


@pytest.mark.slow
def test_reading_that_fails_where_every_record_is_whole_is_blamed_on_no_record(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, _, _ = make_stream(copy.dataset, **SETTINGS)
    content = copy.shard.read_bytes()
    flip_a_byte_of_the_mel(copy)

    def healed(*args: object, **facts: object) -> list[CorruptRecord]:
        copy.shard.write_bytes(content)
        return find_corrupt_records(*args, **facts)

    monkeypatch.setattr(stream_module, "find_corrupt_records", healed)
    monkeypatch.setattr(stream_module, "RETRY_PAUSES_S", ())
    with pytest.raises(UserError, match=r"reading failed \(.*\), though no record there is damaged"):
        epochs(stream, until=1)


@pytest.mark.slow
def test_reading_that_failed_for_a_moment_is_tried_again_and_changes_no_batch(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = epochs(make_stream(copy.dataset, **SETTINGS)[0], until=1)
    stream, _, _ = make_stream(copy.dataset, **SETTINGS)
    content, failures, waited, lines = copy.shard.read_bytes(), iter(range(2)), list[float](), list[str]()
    flip_a_byte_of_the_mel(copy)

    def heals_late(*args: object, **facts: object) -> list[CorruptRecord]:
        """Twice every record is whole when it is looked at; the second time, it stays so."""
        damaged = copy.shard.read_bytes()
        copy.shard.write_bytes(content)
        found = find_corrupt_records(*args, **facts)
        if next(failures) == 0:
            copy.shard.write_bytes(damaged)
        return found

    monkeypatch.setattr(stream_module, "find_corrupt_records", heals_late)
    monkeypatch.setattr(stream_module.time, "sleep", waited.append)
    batches = list(as_numpy(until_epoch(stream, 1, log=lines.append)))
    assert waited == [1.0, 5.0]
    assert [line.rpartition("; ")[2] for line in lines] == ["trying again in 1 s", "trying again in 5 s"]
    assert len(batches) == len(expected)
    for one, other in zip(batches, expected, strict=True):
        for name, value in other.items():
            np.testing.assert_array_equal(one[name], value, err_msg=name)
