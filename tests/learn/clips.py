"""The recordings of the learn check, read from the shards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shared.dataset import Dataset
from shared.records import MEL_DTYPES, decode
from shared.tfrecord import read_framed_records
from shared.vocabulary import Vocabulary


class Clip(NamedTuple):
    """A sentence spoken in a voice."""

    text: str
    voice: str
    tokens: np.ndarray  # [T] int32, dense
    mel: np.ndarray  # [F, M] float32, ln magnitude

    @property
    def frames(self) -> int:
        return len(self.mel)


def read_clips(dataset: Dataset, *, split: str) -> list[Clip]:
    """Every clip of a split, sorted by sentence and voice."""
    contract, vocabulary = dataset.info.contract, Vocabulary.load(dataset.layout.vocabulary)
    table, dtype = vocabulary.table(), MEL_DTYPES[contract.mel_dtype]
    voices = {speaker.id: name.rpartition("/")[2] for name, speaker in dataset.info.speakers.items()}
    clips = []
    for shard in dataset.info.shards_of(split):
        with dataset.layout.shard(shard.name).open("rb") as file:
            for frame in read_framed_records(file):
                record = decode(frame.payload)
                mel = np.frombuffer(record["mel"][0], dtype).reshape(-1, contract.features.n_mels)
                clips.append(
                    Clip(
                        text=record["text"][0].decode(),
                        voice=voices[record["speaker"][0]],
                        tokens=table[np.array(record["tokens"])],
                        mel=mel.astype(np.float32),
                    )
                )
    return sorted(clips, key=lambda clip: (clip.text, clip.voice))
