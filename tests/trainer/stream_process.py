"""Stream batches and do nothing else, to be killed or to measure memory.

    python -m tests.trainer.stream_process rows DATA OUT EPOCHS SETTINGS [EPOCH CHUNK BATCH]
    python -m tests.trainer.stream_process memory DATA EPOCHS SETTINGS

`rows` appends a line `[next, rows, sha256 of the batch]` for each batch, from a position on. `memory` prints the
most resident memory that it had at a batch of each epoch, in MiB. SETTINGS is JSON.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from trainer.platform.allocator import tune_allocator
from trainer.platform.tf_import import import_tensorflow

# TensorFlow is imported after the allocator was tuned, as in training
CONTENT = ("mel", "frames", "tokens", "token_counts", "rows")


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
        if (number := int(batch["next"][0])) > epoch:
            epoch = number
            print(live_mib(), flush=True)


def live_mib() -> float:
    """Memory in use, without what the allocator keeps for later: that depends on what else the machine does."""
    ctypes.CDLL(None).malloc_trim(0)
    return resident_mib()


def resident_mib() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kib,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(kib) / 1024


if __name__ == "__main__":
    tune_allocator()
    import_tensorflow()
    {"rows": write_rows, "memory": print_memory}[sys.argv[1]](*sys.argv[2:])
