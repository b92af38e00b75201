"""grain over ArrayRecord as its tutorial writes the files, each batch read at once, in two worker processes.

grain has no buckets; the batches are put together beforehand, and are what it shuffles and reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import grain
import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter

from tests.bench.peers.clips import Batch, Clip, Corpus, bucketed, padded, shuffled

TOLERANCE = 0.0
FILES = 8
WORKERS = 2
# an element is a batch of some megabytes, where grain's defaults (16 threads, 500 elements) are meant for records
THREADS = grain.ReadOptions(num_threads=4, prefetch_buffer_size=8)
EPOCHS = 50  # that are planned before they come again
HEADER = struct.Struct("<II")  # frames, tokens


def prepare(folder: Path, corpus: Corpus) -> None:
    write(folder, corpus, options="group_size:1")


def write(folder: Path, corpus: Corpus, *, options: str) -> None:
    """The clips in files of ArrayRecord, `options` as its writer has them."""
    writers = [ArrayRecordWriter(str(folder / f"{number}.array_record"), options) for number in range(FILES)]
    clips = list(corpus.clips())
    for number, clip in enumerate(clips):
        header = HEADER.pack(len(clip.mel), len(clip.tokens))
        writers[number * FILES // len(clips)].write(header + clip.tokens.tobytes() + clip.mel.tobytes())
    for writer in writers:
        writer.close()


class Batches:
    """Padded batches by number: what grain calls a source with random access."""

    def __init__(self, folder: Path, corpus: Corpus, *, epochs: int):
        self._records = grain.sources.ArrayRecordDataSource(sorted(map(str, folder.glob("*.array_record"))))
        self._log_silence = corpus.log_silence
        clips = [(len(clip.mel), *clip.mel.shape[1:], clip.mel.dtype) for clip in corpus.clips()]
        _, self._n_mels, self._dtype = clips[0]
        numbers = shuffled(len(clips), epochs=epochs)
        self._batches = list(bucketed(numbers, frames=lambda number: clips[number][0], bounds=corpus.bounds))

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, number: int) -> tuple[np.ndarray, ...]:
        clips = [self._parse(record) for record in self._records.__getitems__(self._batches[number])]
        return tuple(padded(clips, log_silence=self._log_silence))

    def _parse(self, record: bytes) -> Clip:
        frames, tokens = HEADER.unpack_from(record)
        mel = np.frombuffer(record, self._dtype, offset=HEADER.size + 4 * tokens)
        return Clip(mel.reshape(frames, self._n_mels), np.frombuffer(record, np.int32, tokens, offset=HEADER.size))


def batches(folder: Path, corpus: Corpus, *, epochs: int | None) -> Iterator[Batch]:
    read = planned(folder, corpus, epochs=epochs).to_iter_dataset(THREADS)
    loaded = read.mp_prefetch(grain.MultiprocessingOptions(num_workers=WORKERS, per_worker_buffer_size=2))
    return (Batch(*batch) for batch in loaded)


def planned(folder: Path, corpus: Corpus, *, epochs: int | None) -> grain.MapDataset:
    """The batches of so many epochs, or without an end."""
    source = grain.MapDataset.source(Batches(folder, corpus, epochs=epochs or EPOCHS))
    return source.repeat() if epochs is None else source
