"""The stream of batches, against TensorFlow's own reader of the same shards and an undisturbed stream."""

from __future__ import annotations

import collections
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config
from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from tests.trainer.batches import DEVICE, as_numpy, epochs, make_stream, read_shards, rows_of
from trainer.data.position import Position, has_same_chunks

# one record, fewer than a batch of the smaller bucket, some batches, more than the split
CHUNKS = (1, 150_000, 600_000, 384 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("chunk_bytes", CHUNKS)
def test_an_epoch_gives_every_record_exactly_once(dataset: Dataset, chunk_bytes: int) -> None:
    stream, plan, _ = make_stream(dataset, chunk_bytes=chunk_bytes)
    batches = epochs(stream, until=2)
    expected = collections.Counter(read_shards(dataset, split="train"))
    for epoch in range(2):
        found = rows_of(batch for batch in batches if batch["next"][0] == epoch)
        assert collections.Counter(found) == expected
    for batch in batches:
        shape = (*batch["mel"].shape[:2], batch["tokens"].shape[1])
        assert shape in plan.buckets
        assert batch["frames"].shape == batch["token_counts"].shape == shape[:1]


@pytest.mark.slow
def test_a_dataset_of_one_shard_is_read_like_any_other(tmp_path: Path) -> None:
    """Two readers would be more than it has files."""
    config = load_config("configs/preprocess_sample.yaml", of=BuildConfig)
    build_dataset(config.model_copy(update={"sources": {"german": config.sources["german"]}}), data=tmp_path / "data")
    single = Dataset.open(tmp_path / "data")
    assert len(single.info.shards_of("train")) == 1
    batches = epochs(make_stream(single)[0], until=1)
    assert collections.Counter(rows_of(batches)) == collections.Counter(read_shards(single, split="train"))


@pytest.mark.slow
def test_pitch_energy_and_waveforms_beside_the_mels_change_no_row(dataset: Dataset, tmp_path: Path) -> None:
    overrides = ["pitch=dio", "energy=true", "waveform_dtype=int16"]
    config = load_config("configs/preprocess_sample.yaml", of=BuildConfig, overrides=overrides)
    build_dataset(config, data=tmp_path / "data")
    batches = epochs(make_stream(Dataset.open(tmp_path / "data"))[0], until=1)
    assert collections.Counter(rows_of(batches)) == collections.Counter(read_shards(dataset, split="train"))


@pytest.mark.slow
def test_mels_of_own_settings_arrive_bit_for_bit(tmp_path: Path) -> None:
    own = "mel={sample_rate_hz: 16000, n_fft: 800, hop_samples: 200, n_mels: 44, fmax_hz: 7600}"
    config = load_config("configs/preprocess_sample.yaml", of=BuildConfig, overrides=[own])
    build_dataset(config, data=tmp_path / "data")
    dataset = Dataset.open(tmp_path / "data")
    batches = epochs(make_stream(dataset)[0], until=1)
    assert {batch["mel"].shape[-1] for batch in batches} == {44}
    assert collections.Counter(rows_of(batches)) == collections.Counter(read_shards(dataset, split="train"))


@pytest.mark.slow
def test_mels_stored_in_float32_arrive_bit_for_bit(many_shards: Dataset) -> None:
    stream, _, _ = make_stream(many_shards, chunk_bytes=900_000, num_parallel_reads=3)
    batches = epochs(stream, until=1)
    assert {str(batch["mel"].dtype) for batch in batches} == {"float32"}
    assert collections.Counter(rows_of(batches)) == collections.Counter(read_shards(many_shards, split="train"))


@pytest.mark.slow
def test_a_record_is_heard_as_often_as_its_weight_says(many_shards: Dataset) -> None:
    """After n epochs n·w times, give or take one; in no order that repeats."""
    rows = sum(shard.records for shard in many_shards.info.shards_of("train"))
    weights = np.random.default_rng(1).choice([0.0, 0.3, 0.5, 1.0, 2.0, 2.75], rows)
    stream, _, _ = make_stream(many_shards, weights=weights, chunk_bytes=900_000)
    heard = np.zeros(rows, np.int64)
    batches = epochs(stream, until=12)
    for epoch in range(12):
        rows_heard = np.concatenate([batch["rows"] for batch in batches if batch["next"][0] == epoch])
        heard += np.bincount(rows_heard[rows_heard >= 0], minlength=rows)
        assert (np.abs(heard - weights * (epoch + 1)) < 1).all(), epoch


@pytest.mark.slow
def test_a_source_is_heard_as_often_as_its_weight_says(dataset: Dataset) -> None:
    weights = {"german": 2.0, "persian": 0.5, "english": 1.0}
    sources = {name: one.model_copy(update={"weight": weights[name]}) for name, one in dataset.info.sources.items()}
    weighted = dataset._replace(info=dataset.info.model_copy(update={"sources": sources}))
    batches = epochs(make_stream(weighted)[0], until=2)
    language_of = {token: code for token, code in enumerate(Vocabulary.load(dataset.layout.vocabulary).pieces)}
    names = {"deu_Latn": "german", "pes_Arab": "persian", "eng_Latn": "english"}
    heard = collections.Counter(names[language_of[tokens[0]]] for _, _, tokens in rows_of(batches))
    for name, one in sources.items():
        records = sum(shard.records for shard in one.shards if shard.split == "train")
        assert heard[name] == 2 * weights[name] * records, name


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["dataset", "many_shards"])
def test_padding_is_silence_and_token_zero(stored: str, request: pytest.FixtureRequest) -> None:
    stream, _, _ = make_stream(request.getfixturevalue(stored), chunk_bytes=600_000)
    for batch in epochs(stream, until=1):
        silence = batch["mel"].dtype.type(math.log(1e-5))
        for mel, frames, tokens, count in zip(
            batch["mel"], batch["frames"], batch["tokens"], batch["token_counts"], strict=True
        ):
            assert (mel[frames:] == silence).all()
            assert (tokens[count:] == 0).all()
            assert (tokens[:count] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("chunk_bytes", CHUNKS[1:])
def test_only_one_batch_of_a_chunk_has_empty_rows_and_they_come_last(dataset: Dataset, chunk_bytes: int) -> None:
    stream, _, _ = make_stream(dataset, chunk_bytes=chunk_bytes)
    partial: collections.Counter[tuple[int, int]] = collections.Counter()
    for batch in epochs(stream, until=2):
        filled = batch["frames"] > 0
        assert filled[0]
        assert (np.sort(filled)[::-1] == filled).all()
        assert (filled == (batch["token_counts"] > 0)).all()
        assert (filled == (batch["rows"] >= 0)).all()
        if not filled.all():
            partial[tuple(batch["next"][:2])] += 1
    assert max(partial.values(), default=0) <= 1


@pytest.mark.slow
def test_every_planned_shape_comes_up_when_the_chunk_holds_the_split(dataset: Dataset) -> None:
    for buckets, global_frames_per_batch in ((2, 1200), (3, 1500), (5, 1000), (8, 4000)):
        stream, plan, _ = make_stream(dataset, buckets=buckets, global_frames_per_batch=global_frames_per_batch)
        shapes = {(*batch["mel"].shape[:2], batch["tokens"].shape[1]) for batch in epochs(stream, until=1)}
        assert shapes == set(plan.buckets)


def same(first: list[dict], second: list[dict]) -> bool:
    """Equal batches, byte for byte."""

    def content(batches: list[dict]) -> list[dict]:
        return [{name: (value.shape, value.tobytes()) for name, value in batch.items()} for batch in batches]

    return content(first) == content(second)


@pytest.mark.slow
def test_the_order_depends_on_the_seed_and_the_epoch_and_nothing_else(many_shards: Dataset) -> None:
    first, again, prefetching, one_reader, many_readers, other = (
        epochs(make_stream(many_shards, chunk_bytes=900_000, **settings)[0], until=2)
        for settings in (
            {},
            {},
            {"prefetch_batches": 1},
            {"num_parallel_reads": 1},
            {"num_parallel_reads": 7},
            {"seed": 2},
        )
    )
    for same_order in (again, prefetching, one_reader, many_readers):
        assert same(first, same_order)
    assert rows_of(first) != rows_of(other)
    epoch_0, epoch_1 = ([batch for batch in first if batch["next"][0] == epoch] for epoch in range(2))
    assert rows_of(epoch_0) != rows_of(epoch_1)


@pytest.mark.slow
def test_fingerprints_tell_the_settings_that_decide_the_order_from_those_that_do_not(many_shards: Dataset) -> None:
    def fingerprint(**settings: Any) -> str:
        return make_stream(many_shards, **settings)[0].fingerprint

    for settings in ({"num_parallel_reads": 1}, {"prefetch_batches": 1}, {"max_corrupt_records": 9}):
        assert fingerprint(**settings) == fingerprint(), settings
    rows = sum(shard.records for shard in many_shards.info.shards_of("train"))
    for settings in (
        {"seed": 2},
        {"chunk_bytes": 900_000},
        {"global_frames_per_batch": 700},
        {"weights": np.full(rows, 2.0)},
    ):
        assert fingerprint(**settings) != fingerprint(), settings
        assert has_same_chunks(fingerprint(**settings), fingerprint()) == ("global_frames_per_batch" in settings)
    assert not has_same_chunks("0" * 32, "0" * 32)  # of an older version, which had one hash


@pytest.mark.slow
def test_other_batch_shapes_leave_the_clips_of_each_chunk_as_they_are(many_shards: Dataset) -> None:
    """So a run whose shapes change goes on at the next chunk, and hears every other clip of the epoch once."""
    before, after = (
        make_stream(many_shards, chunk_bytes=900_000, global_frames_per_batch=frames, buckets=buckets)[0]
        for frames, buckets in ((1500, 2), (700, 3))
    )
    first = [batch for batch in epochs(before, until=1) if batch["next"][1] < 2]  # `next` is that after the batch
    heard = [row for batch in first for row in batch["rows"][batch["rows"] >= 0].tolist()]
    rest = epochs(after, until=1, position=Position(0, 2, 0))
    later = [row for batch in rest for row in batch["rows"][batch["rows"] >= 0].tolist()]
    assert len(later) > 10
    assert sorted([*heard, *later]) == list(range(many_shards.manifest("train").num_rows))


def test_another_way_of_ordering_is_told_by_the_fingerprint(
    many_shards: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, _, _ = make_stream(many_shards)
    before = stream.fingerprint
    monkeypatch.setattr("trainer.data.pipeline.VERSION", 0)
    assert stream.fingerprint != before


@pytest.mark.slow
def test_an_epoch_does_not_begin_with_the_same_shards(many_shards: Dataset) -> None:
    """With chunks of some records the first one tells where reading began."""
    stream, _, _ = make_stream(many_shards, chunk_bytes=300_000)
    batches = epochs(stream, until=6)
    starts = {min(batch["rows"][batch["rows"] >= 0]) for batch in batches if batch["next"][1] == 0}
    assert len(starts) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chunk_bytes", "every"),
    [
        (900_000, 7),  # several chunks an epoch; positions at their starts, in their middles and at their ends
        (150_000, 41),
        (384 << 20, 11),
        pytest.param(900_000, 1, marks=pytest.mark.soak),
        pytest.param(150_000, 8, marks=pytest.mark.soak),
    ],
)
def test_a_stream_resumed_anywhere_continues_as_if_undisturbed(
    many_shards: Dataset, chunk_bytes: int, every: int
) -> None:
    stream, _, _ = make_stream(many_shards, chunk_bytes=chunk_bytes, global_frames_per_batch=3000)
    whole = epochs(stream, until=2)
    positions = [Position(), *(Position(*map(int, batch["next"])) for batch in whole)]
    assert len(set(positions)) == len(positions)
    for number, position in list(enumerate(positions[: len(whole)]))[::every]:
        readers = 1 + number % 5
        resumed, _, _ = make_stream(
            many_shards, chunk_bytes=chunk_bytes, global_frames_per_batch=3000, num_parallel_reads=readers
        )
        assert same(epochs(resumed, until=2, position=position), whole[number:]), position


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "validation"])
def test_once_gives_every_record_in_the_order_of_the_shards(dataset: Dataset, split: str) -> None:
    stream, _, _ = make_stream(dataset, split=split, buckets=1)
    found = rows_of(as_numpy(stream.once(device=DEVICE)))
    assert found == read_shards(dataset, split=split)


@pytest.mark.slow
def test_once_gives_every_record_whatever_the_buckets_chunks_and_weights(dataset: Dataset) -> None:
    for split, chunk_bytes in (("train", 150_000), ("train", 384 << 20), ("validation", 1), ("validation", 100_000)):
        records = sum(shard.records for shard in dataset.info.shards_of(split))
        stream, _, _ = make_stream(dataset, split=split, chunk_bytes=chunk_bytes, weights=np.full(records, 0.1))
        found = rows_of(as_numpy(stream.once(device=DEVICE)))
        assert collections.Counter(found) == collections.Counter(read_shards(dataset, split=split))


@pytest.mark.slow
def test_to_give_every_record_once_again_leaves_nothing_more_with_tensorflow(dataset: Dataset) -> None:
    """Functions of a graph are never freed, and hold what they captured."""
    stream, _, _ = make_stream(dataset)
    rows, functions = [], []
    for _ in range(3):
        rows.append([batch["rows"].numpy().tolist() for batch in stream.once(device=DEVICE)])
        functions.append(len(tf.compat.v1.get_default_graph()._functions))
    assert rows[0] == rows[1] == rows[2] != []
    assert functions[0] == functions[1] == functions[2]


@pytest.mark.slow
def test_rows_name_the_records_of_a_batch(dataset: Dataset) -> None:
    stream, _, _ = make_stream(dataset)
    records = read_shards(dataset, split="train")
    named = dataset.manifest("train")["utterance_id"].to_pylist()
    for batch in epochs(stream, until=1):
        rows = [int(row) for row in batch["rows"] if row >= 0]
        assert rows_of([batch]) == [records[row] for row in rows]
        assert stream.utterance_ids(batch["rows"]) == [named[row] for row in rows]


@pytest.mark.slow
def test_records_longer_than_max_frames_are_in_no_batch(dataset: Dataset) -> None:
    lengths = dataset.manifest("train")["frames"].to_numpy()
    longest = int(np.median(lengths))
    for split in ("train", "validation"):
        stream, plan, _ = make_stream(dataset, split=split, max_frames=longest)
        fitting = [row for row in read_shards(dataset, split=split) if row[1] <= longest]
        assert collections.Counter(rows_of(epochs(stream, until=1))) == collections.Counter(fitting)
        assert collections.Counter(rows_of(as_numpy(stream.once(device=DEVICE)))) == collections.Counter(fitting)
    assert plan.excluded["train"].records == (lengths > longest).sum() > 0


def test_a_stream_of_nothing_is_refused_and_does_not_run_for_ever(dataset: Dataset) -> None:
    rows = len(read_shards(dataset, split="train"))
    with pytest.raises(UserError, match="nothing to stream"):
        next(make_stream(dataset, weights=np.zeros(rows))[0].endless(device=DEVICE))
