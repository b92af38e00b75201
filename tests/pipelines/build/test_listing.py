"""The listing of the corpora: each shard reads exactly its rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.build import listing
from pipelines.build.listing import Element, Listing, read_listed
from preprocess.utterance import Reason, Rejection, Utterance
from shared.hashing import order_hash, shard_of
from shared.layout import ShardName


def elements(count: int) -> list[Element]:
    """Utterances and, every fifth, a rejected row; ids can repeat."""
    rows: list[Element] = []
    for number in range(count):
        name, path = f"a/{number % (count - 2)}", f"/corpus/{number}.wav"
        if number % 5:
            rows.append(Utterance(id=name, audio_path=path, text=f"é {number}", language="eng_Latn", speaker="a/b"))
        else:
            rows.append(
                Rejection(
                    id=name,
                    audio_path=path,
                    language="",
                    stage="corpus",
                    reason=Reason.BAD_METADATA_ROW,
                    message=f"line {number}",
                )
            )
    return rows


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(count=st.integers(3, 70), shards=st.integers(1, 40), run=st.integers(1, 80), group=st.integers(1, 9))
def test_the_shards_hold_every_row_once_and_as_its_hash_says(
    tmp_path_factory: pytest.TempPathFactory, count: int, shards: int, run: int, group: int
) -> None:
    folder, rows = tmp_path_factory.mktemp("listing"), elements(count)
    with pytest.MonkeyPatch.context() as patch, Listing() as listed:
        patch.setattr(listing, "RUN_ROWS", run)
        patch.setattr(listing, "GROUP_ROWS", group)
        for row in rows:
            listed.add(row, source="a", split="train", order=order_hash(row.id))
        listed.add(elements(3)[1], source="a", split="validation", order=0)
        listed.save(folder)
    found = {
        shard: list(read_listed(str(ShardName("a", "train", shard, shards)), folder=folder)) for shard in range(shards)
    }
    assert all(shard_of(row.id, shards=shards) == shard for shard, of_shard in found.items() for row in of_shard)
    assert sorted(map(repr, (row for of_shard in found.values() for row in of_shard))) == sorted(map(repr, rows))


def test_long_texts_are_written_before_they_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "RUN_CHARACTERS", 100)
    one = Utterance(id="a/1", audio_path="x", text="y" * 60, language="eng_Latn", speaker="a/b")
    with Listing() as listed:
        for _ in range(5):
            listed.add(one, source="a", split="train", order=order_hash(one.id))
        listed.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    assert list(read_listed("a-train-00000-of-00001", folder=tmp_path)) == [one] * 5


def test_a_source_without_rows_of_a_split_gives_none(tmp_path: Path) -> None:
    assert list(read_listed("a-train-00000-of-00001", folder=tmp_path)) == []
