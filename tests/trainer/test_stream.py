"""The stream of batches, against TensorFlow's own reader of the same shards and an undisturbed stream."""

from __future__ import annotations

import collections
import math
from pathlib import Path

import numpy as np
import pytest

from pipelines.build import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config
from shared.dataset import Dataset
from shared.vocabulary import Vocabulary
from tests.trainer.batches import DEVICE, as_numpy, epochs, make_stream, read_shards, rows_of
from trainer.input.stream import Position

# one record, fewer than a batch of the smaller bucket, some batches, more than the split
CHUNKS = (1, 5, 20, 1600)


@pytest.mark.parametrize("chunk_records", CHUNKS)
def test_an_epoch_gives_every_record_exactly_once(dataset: Dataset, chunk_records: int) -> None:
    stream, plan, _ = make_stream(dataset, chunk_records=chunk_records)
    batches = epochs(stream, until=2)
    wanted = collections.Counter(read_shards(dataset, split="train"))
    for epoch in range(2):
        found = rows_of(batch for batch in batches if batch["next"][0] == epoch)
        assert collections.Counter(found) == wanted
    for batch in batches:
        shape = (*batch["mel"].shape[:2], batch["tokens"].shape[1])
        assert shape in plan.buckets
        assert batch["frames"].shape == batch["token_counts"].shape == shape[:1]


def test_a_dataset_of_one_shard_is_read_like_any_other(tmp_path: Path) -> None:
    """Two readers would be more than it has files."""
    config = load_config("configs/preprocess_sample.yaml", of=BuildConfig)
    build_dataset(config.model_copy(update={"sources": {"german": config.sources["german"]}}), data=tmp_path / "data")
    single = Dataset.open(tmp_path / "data")
    assert len(single.info.shards_of("train")) == 1
    batches = epochs(make_stream(single)[0], until=1)
    assert collections.Counter(rows_of(batches)) == collections.Counter(read_shards(single, split="train"))


def test_mels_stored_in_float32_arrive_bit_for_bit(many_shards: Dataset) -> None:
    stream, _, _ = make_stream(many_shards, chunk_records=20, interleaved_files=3)
    batches = epochs(stream, until=1)
    assert {str(batch["mel"].dtype) for batch in batches} == {"float32"}
    assert collections.Counter(rows_of(batches)) == collections.Counter(read_shards(many_shards, split="train"))


def test_a_source_is_heard_as_often_as_its_weight_says(dataset: Dataset) -> None:
    """Twice in every epoch, and in about half of the epochs; the rest once."""
    weights = {"german": 2.0, "persian": 0.5, "english": 1.0}
    sources = {name: one.model_copy(update={"weight": weights[name]}) for name, one in dataset.info.sources.items()}
    weighted = dataset._replace(info=dataset.info.model_copy(update={"sources": sources}))
    heard: dict[str, list[int]] = {name: [] for name in weights}
    epochs_heard = 24
    batches = epochs(make_stream(weighted)[0], until=epochs_heard)
    language_of = {token: code for token, code in enumerate(Vocabulary.load(dataset.layout.vocabulary).pieces)}
    names = {"deu_Latn": "german", "pes_Arab": "persian", "eng_Latn": "english"}
    for epoch in range(epochs_heard):
        rows = rows_of(batch for batch in batches if batch["next"][0] == epoch)
        counted = collections.Counter(names[language_of[tokens[0]]] for _, _, tokens in rows)
        for name, counts in heard.items():
            counts.append(counted[name])
    train = {
        name: sum(shard.records for shard in one.shards if shard.split == "train") for name, one in sources.items()
    }
    assert set(heard["german"]) == {2 * train["german"]}
    assert set(heard["english"]) == {train["english"]}
    assert set(heard["persian"]) == {0, train["persian"]}
    assert 6 <= sum(map(bool, heard["persian"])) <= 18


@pytest.mark.parametrize("stored", ["dataset", "many_shards"])
def test_padding_is_silence_and_token_zero(stored: str, request: pytest.FixtureRequest) -> None:
    stream, _, _ = make_stream(request.getfixturevalue(stored), chunk_records=20)
    for batch in epochs(stream, until=1):
        silence = batch["mel"].dtype.type(math.log(1e-5))
        for mel, frames, tokens, count in zip(
            batch["mel"], batch["frames"], batch["tokens"], batch["token_counts"], strict=True
        ):
            assert (mel[frames:] == silence).all()
            assert (tokens[count:] == 0).all()
            assert (tokens[:count] > 0).all()


@pytest.mark.parametrize("chunk_records", [5, 20, 1600])
def test_only_one_batch_of_a_chunk_has_empty_rows_and_they_come_last(dataset: Dataset, chunk_records: int) -> None:
    stream, _, _ = make_stream(dataset, chunk_records=chunk_records)
    partial: collections.Counter[tuple[int, int]] = collections.Counter()
    for batch in epochs(stream, until=2):
        filled = batch["frames"] > 0
        assert filled[0]
        assert (np.sort(filled)[::-1] == filled).all()
        assert (filled == (batch["token_counts"] > 0)).all()
        if not filled.all():
            partial[tuple(batch["next"][:2])] += 1
    assert max(partial.values(), default=0) <= 1


def test_every_planned_shape_comes_up_when_the_chunk_holds_the_split(dataset: Dataset) -> None:
    for buckets, frames_per_batch in ((2, 1200), (3, 1500), (5, 1000), (8, 4000)):
        stream, plan, _ = make_stream(dataset, buckets=buckets, frames_per_batch=frames_per_batch)
        shapes = {(*batch["mel"].shape[:2], batch["tokens"].shape[1]) for batch in epochs(stream, until=1)}
        assert shapes == set(plan.buckets)


def same(first: list[dict], second: list[dict]) -> bool:
    """Equal batches, byte for byte."""

    def content(batches: list[dict]) -> list[dict]:
        return [{name: (value.shape, value.tobytes()) for name, value in batch.items()} for batch in batches]

    return content(first) == content(second)


def test_the_order_depends_on_the_seed_and_the_epoch_and_nothing_else(many_shards: Dataset) -> None:
    first, again, prefetching, other = (
        epochs(make_stream(many_shards, chunk_records=20, **settings)[0], until=2)
        for settings in ({}, {}, {"prefetch_batches": 1}, {"seed": 2})
    )
    assert same(first, again)
    assert same(first, prefetching)
    assert rows_of(first) != rows_of(other)
    epoch_0, epoch_1 = ([batch for batch in first if batch["next"][0] == epoch] for epoch in range(2))
    assert rows_of(epoch_0) != rows_of(epoch_1)


def test_an_epoch_does_not_begin_with_the_same_shards(many_shards: Dataset) -> None:
    """With one file read at a time and chunks of a shard's size, the first chunk tells the first shard."""
    place = {row: number for number, row in enumerate(read_shards(many_shards, split="train"))}
    stream, _, _ = make_stream(many_shards, chunk_records=7, interleaved_files=1)
    batches = epochs(stream, until=6)
    starts = {min(place[row] for row in rows_of([batch])) for batch in batches if batch["next"][1] == 0}
    assert len(starts) > 2


@pytest.mark.parametrize(("chunk_records", "every"), [(20, 1), (5, 8), (1600, 6)])
def test_a_stream_resumed_anywhere_continues_as_if_undisturbed(
    many_shards: Dataset, chunk_records: int, every: int
) -> None:
    stream, _, _ = make_stream(many_shards, chunk_records=chunk_records, frames_per_batch=3000)
    whole = epochs(stream, until=2)
    positions = [Position(), *(Position(*map(int, batch["next"])) for batch in whole)]
    assert len(set(positions)) == len(positions)
    for number, position in list(enumerate(positions[: len(whole)]))[::every]:
        resumed, _, _ = make_stream(many_shards, chunk_records=chunk_records, frames_per_batch=3000)
        assert same(epochs(resumed, until=2, position=position), whole[number:]), position


@pytest.mark.parametrize("split", ["train", "validation"])
def test_once_gives_every_record_in_the_order_of_the_shards(dataset: Dataset, split: str) -> None:
    stream, _, _ = make_stream(dataset, split=split, buckets=1)
    found = rows_of(as_numpy(stream.once(device=DEVICE)))
    assert found == read_shards(dataset, split=split)


def test_once_gives_every_record_whatever_the_buckets_and_chunks(dataset: Dataset) -> None:
    for split, chunk_records in (("train", 5), ("train", 1600), ("validation", 1), ("validation", 20)):
        stream, _, _ = make_stream(dataset, split=split, chunk_records=chunk_records)
        found = rows_of(as_numpy(stream.once(device=DEVICE)))
        assert collections.Counter(found) == collections.Counter(read_shards(dataset, split=split))
