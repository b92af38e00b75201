"""References from other clips, searched for in all clips of the dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.batches import epochs, make_stream
from tests.trainer.conftest import built
from trainer.data.position import Position
from trainer.data.references import ReferenceChooser, _another_of_group

CROP = 32  # frames


@pytest.fixture(scope="module")
def clips(dataset: Dataset) -> dict[str, np.ndarray]:
    return {record.utterance_id: record.mel for record in dataset.records("train")}


@pytest.fixture(scope="module")
def speakers(dataset: Dataset) -> dict[str, str]:
    table = dataset.manifest("train", columns=["utterance_id", "speaker"])
    return dict(zip(table["utterance_id"].to_pylist(), table["speaker"].to_pylist(), strict=True))


def referenced(batches: list[dict], names: list[str], clips: dict[str, np.ndarray]) -> list[tuple[str, str, int, int]]:
    """For each row with a reference: its clip, the other clip, the first frame there and the number of frames."""
    found = []
    for batch in batches:
        for row, mel, frames in zip(batch["rows"], batch["reference"], batch["reference_frames"], strict=True):
            assert (mel[frames:] == 0).all()
            if frames:
                ((name, start),) = (
                    (name, start) for name, clip in clips.items() for start in starts_of(mel[:frames], clip)
                )
                found.append((names[row], name, start, int(frames)))
    return found


def starts_of(part: np.ndarray, clip: np.ndarray) -> Iterator[int]:
    """Every frame of the clip [F, M] at which the part [G, M] begins, by a search among its bytes."""
    content, sought, frame_bytes = clip.tobytes(), part.tobytes(), part[0].nbytes
    place = content.find(sought)
    while place >= 0:
        if place % frame_bytes == 0:
            yield place // frame_bytes
        place = content.find(sought, place + 1)


@pytest.mark.slow
@pytest.mark.parametrize("chunk_bytes", [300_000, 384 << 20])
def test_a_reference_is_a_part_of_another_clip_of_the_speaker(
    dataset: Dataset, clips: dict[str, np.ndarray], speakers: dict[str, str], chunk_bytes: int
) -> None:
    stream, _, _ = make_stream(dataset, reference="other", crop_frames=CROP, chunk_bytes=chunk_bytes)
    batches = epochs(stream, until=1)
    names = dataset.manifest("train")["utterance_id"].to_pylist()
    found = referenced(batches, names, clips)
    assert all(own != other and speakers[own] == speakers[other] for own, other, _, _ in found)
    assert all(CROP // 8 <= frames <= CROP for _, _, _, frames in found)
    assert len({frames for _, _, _, frames in found}) > 10
    assert len({start for _, _, start, _ in found}) > 10
    if chunk_bytes == 384 << 20:  # the whole split is one chunk
        several = [name for name in names if Counter(speakers.values())[speakers[name]] > 1]
        assert sorted(own for own, _, _, _ in found) == sorted(several)
    for batch in batches:
        empty = batch["rows"] < 0
        assert (batch["reference_frames"][empty] == 0).all()


@pytest.mark.slow
def test_references_change_nothing_else_and_continue_as_an_undisturbed_stream(dataset: Dataset) -> None:
    plain, _, _ = make_stream(dataset, chunk_bytes=300_000)
    stream, _, _ = make_stream(dataset, reference="mixed", crop_frames=CROP, chunk_bytes=300_000)
    whole = epochs(stream, until=2)
    before = epochs(plain, until=2)
    assert len(whole) == len(before)
    for one, other in zip(whole, before, strict=True):
        for name, value in other.items():
            np.testing.assert_array_equal(one[name], value, err_msg=name)
    middle = Position(*map(int, whole[len(whole) // 2]["next"]))
    rest = epochs(stream, until=2, position=middle)
    expected = whole[len(whole) // 2 + 1 :]
    assert len(rest) == len(expected) > 3
    for one, other in zip(rest, expected, strict=True):
        for name, value in other.items():
            np.testing.assert_array_equal(one[name], value, err_msg=name)
    first, second = ([batch["reference"] for batch in whole if batch["next"][0] == epoch] for epoch in (0, 1))
    assert not np.array_equal(first[0], second[0])


@pytest.mark.slow
def test_every_second_clip_or_so_has_one_if_that_is_asked_for(dataset: Dataset) -> None:
    shares = {}
    for kind in ("mixed", "other"):
        stream, _, _ = make_stream(dataset, reference=kind, crop_frames=CROP)
        batches = epochs(stream, until=6)
        shares[kind] = np.mean(np.concatenate([batch["reference_frames"][batch["rows"] >= 0] > 0 for batch in batches]))
    assert shares["mixed"] / shares["other"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("chunk_bytes", [300_000, 384 << 20])
def test_the_share_of_clips_with_another_of_their_speaker_is_that_of_the_first_epoch(
    dataset: Dataset, chunk_bytes: int
) -> None:
    stream, _, _ = make_stream(dataset, reference="other", crop_frames=CROP, chunk_bytes=chunk_bytes)
    batches = epochs(stream, until=1)
    heard = np.concatenate([batch["reference_frames"][batch["rows"] >= 0] > 0 for batch in batches])
    assert stream.share_with_references() == pytest.approx(np.mean(heard))
    assert make_stream(dataset)[0].share_with_references() is None


def test_another_of_a_group_is_any_of_the_others_alike_often() -> None:
    groups = tf.constant([3, 1, 3, 2, 3, 1])
    random = np.random.default_rng(0)
    drawn = [_another_of_group(groups, uniform=tf.constant(random.random(6), tf.float32)).numpy() for _ in range(400)]
    for place, others in enumerate([{2, 4}, {5}, {0, 4}, {-1}, {0, 2}, {1}]):
        counts = Counter(int(one[place]) for one in drawn)
        assert counts.keys() == others
        assert max(counts.values()) < 1.25 * len(drawn) / len(others)


def test_nothing_is_chosen_of_no_records(dataset: Dataset) -> None:
    chooser = ReferenceChooser(dataset, split="train", crop_frames=CROP, share=1.0, seed=1)
    place = tf.constant([0, 0], tf.int64)
    parts = chooser.choose(tf.zeros([0], tf.int64), frames=tf.zeros([0], tf.int32), place=place)
    assert [one.shape for one in parts] == [(0,)] * 3


def test_a_record_that_a_chunk_has_twice_is_not_its_own_reference(dataset: Dataset) -> None:
    chooser = ReferenceChooser(dataset, split="train", crop_frames=CROP, share=1.0, seed=1)
    place = tf.constant([0, 0], tf.int64)
    parts = chooser.choose(tf.constant([5, 5], tf.int64), frames=tf.constant([100, 100]), place=place)
    assert parts.frames.numpy().tolist() == [0, 0]


def test_a_dataset_without_mels_is_refused(tmp_path: Path) -> None:
    data = built(tmp_path / "data", overrides=["mel_dtype=none", "max_rejected_fraction=1"])
    with pytest.raises(
        UserError, match=r"stores no mels, which input\.reference needs; build it with mel_dtype=float16"
    ):
        make_stream(Dataset.open(data), reference="other", crop_frames=CROP)
