"""Datasets of more records than anyone would wait for: one shard of short clips under many names."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from shared.dataset import Dataset
from shared.files import write_json
from shared.layout import Layout, ShardName
from shared.records import Record, encode
from shared.tables import MANIFEST, write_table
from shared.tfrecord import frame_record

MAX_FRAMES = 40


def repeat_shard(dataset: Dataset, *, folder: Path, shards: int, records: int) -> Dataset:
    """`shards` shards of `records` records, of 1 to 40 frames each, in the contract of a dataset that is whole."""
    layout = Layout(folder)
    stems = [str(ShardName("crowd", "train", number, shards)) for number in range(shards)]
    for path in (layout.shard(stems[0]), layout.manifest(stems[0])):
        path.parent.mkdir(parents=True)
    layout.vocabulary.write_bytes(dataset.layout.vocabulary.read_bytes())
    written = _write(layout, stem=stems[0], records=records, like=dataset)
    content = layout.shard(stems[0]).read_bytes()
    (source,) = list(dataset.info.sources.values())[:1]
    (first, *_) = source.shards
    facts = {"records": records, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), "split": "train"}
    for stem in stems[1:]:
        os.link(layout.shard(stems[0]), layout.shard(stem))
        column = pa.array([stem] * records, pa.string())
        write_table(layout.manifest(stem), written.set_column(1, MANIFEST.field("shard"), column), durable=False)
    infos = tuple(first.model_copy(update={**facts, "name": stem}) for stem in stems)
    sources = {"crowd": source.model_copy(update={"shards": infos, "weight": 1.0})}
    info = dataset.info.model_copy(update={"sources": sources})
    write_json(layout.info, info)
    layout.success.touch()
    return Dataset(layout, info)


def _write(layout: Layout, *, stem: str, records: int, like: Dataset) -> pa.Table:
    chance = np.random.default_rng(1)
    (template,) = like.manifest("train").slice(0, 1).to_pylist()
    n_mels = like.info.contract.features.n_mels
    rows, offset = [], 0
    with layout.shard(stem).open("wb") as file:
        for index in range(records):
            mel = chance.normal(-5, 2, (int(chance.integers(1, MAX_FRAMES + 1)), n_mels)).astype(np.float16)
            name = f"crowd/{index:06d}"
            tokens = (256047, *range(4, 4 + index % 9), 2)
            framed = frame_record(
                encode(
                    Record(
                        utterance_id=name,
                        mel=mel,
                        frames=len(mel),
                        tokens=tokens,
                        language=256047,
                        speaker=1,
                        text="a",
                    )
                )
            )
            file.write(framed)
            place = {"shard": stem, "index": index, "offset_bytes": offset, "length_bytes": len(framed)}
            rows.append({**template, **place, "utterance_id": name, "frames": len(mel), "tokens": len(tokens)})
            offset += len(framed)
    table = pa.Table.from_pylist(rows, schema=MANIFEST)
    write_table(layout.manifest(stem), table, durable=False)
    return table
