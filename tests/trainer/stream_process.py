"""Stream batches and do nothing else, to be killed or to measure memory.

    python -m tests.trainer.stream_process rows DATA OUT EPOCHS SETTINGS [EPOCH CHUNK BATCH]
    python -m tests.trainer.stream_process memory DATA EPOCHS SETTINGS

`rows` appends a line `[next, rows, sha256 of the batch]` for each batch, from a position on. `memory` prints the
memory that is in use at the end of each epoch, in MiB, when all buffers of the stream are full. SETTINGS is JSON.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from trainer.platform.allocator import tune_allocator
from trainer.platform.tf_import import import_tensorflow

# TensorFlow is imported after the allocator was tuned, as in training
POLL_S, POLLS, SETTLED_MIB, MAX_WAIT_S = 0.1, 4, 0.25, 10.0
CONTENT = ("mel", "frames", "tokens", "token_counts", "rows")
HEAP_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()


def write_rows(data: str, out: str, until: str, settings: str, *position: str) -> None:
    from shared.dataset import Dataset
    from tests.trainer.batches import as_numpy, make_stream, until_epoch
    from trainer.data.position import Position

    stream, _, _ = make_stream(Dataset.open(data), **json.loads(settings))
    with Path(out).open("a", encoding="utf-8") as file:
        for batch in as_numpy(until_epoch(stream, int(until), position=Position(*map(int, position)))):
            file.write(json.dumps([batch["next"].tolist(), batch["rows"].tolist(), digest(batch)]) + "\n")
            file.flush()


def digest(batch: dict) -> str:
    """Of the content of a batch, shapes and all."""
    parts = (part for name in CONTENT for part in (str(batch[name].shape).encode(), batch[name].tobytes()))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def print_memory(data: str, until: str, settings: str) -> None:
    from shared.dataset import Dataset
    from tests.trainer.batches import make_stream, until_epoch

    stream, _, _ = make_stream(Dataset.open(data), **json.loads(settings))
    epoch = 0
    for batch in until_epoch(stream, int(until) + 1):
        if int(batch["next"][0]) > epoch:
            print(settled_mib(), flush=True)
            epoch += 1


def settled_mib() -> float:
    """Memory in use once it hardly changes: then all buffers are full, however busy the machine is."""
    sizes_mib, deadline_s = [live_mib()], time.monotonic() + MAX_WAIT_S
    while len(sizes_mib) < POLLS or (
        max(sizes_mib[-POLLS:]) - min(sizes_mib[-POLLS:]) > SETTLED_MIB and time.monotonic() < deadline_s
    ):
        time.sleep(POLL_S)
        sizes_mib.append(live_mib())
    return sizes_mib[-1]


class Heap(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [(name, ctypes.c_size_t) for name in HEAP_FIELDS]


def live_mib() -> float:
    """Memory that is allocated and not freed; unlike resident memory, it does not depend on fragments and threads.

    Python's objects are counted if it was started with PYTHONMALLOC=malloc.
    """
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = Heap
    heap = library.mallinfo2()
    return (heap.uordblks + heap.hblkhd) / 2**20


if __name__ == "__main__":
    tune_allocator()
    import_tensorflow()
    {"rows": write_rows, "memory": print_memory}[sys.argv[1]](*sys.argv[2:])
