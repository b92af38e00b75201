"""The log lines before XLA compiles a program for a batch shape."""

from __future__ import annotations

from trainer.data.bucket_types import Bucket
from trainer.monitoring.compilation import CompilationLogger

BUCKETS = (Bucket(8, 100, 20), Bucket(4, 200, 40), Bucket(2, 400, 80))


def test_each_shape_of_each_program_is_logged_once_in_the_order_of_its_first_batch() -> None:
    lines: list[str] = []
    compilations = CompilationLogger(lines.append)
    for number in (1, 0, 1, 1, 0):
        compilations.log_once("training", BUCKETS[number], of=BUCKETS)
    compilations.log_once("validation", BUCKETS[1], of=BUCKETS)
    assert lines == [
        "XLA compiles training: shape 1 of 3, 4×200×40 (clips×frames×tokens)",
        "XLA compiles training: shape 2 of 3, 8×100×20 (clips×frames×tokens)",
        "XLA compiles validation: shape 1 of 3, 4×200×40 (clips×frames×tokens)",
    ]


def test_a_devices_part_of_a_batch_is_logged_as_the_whole_bucket() -> None:
    lines: list[str] = []
    compilations = CompilationLogger(lines.append)
    for clips in (4, 8):
        compilations.log_once("training", Bucket(clips, 100, 20), of=BUCKETS)
    assert lines == ["XLA compiles training: shape 1 of 3, 8×100×20 (clips×frames×tokens)"]


def test_a_bucket_that_was_reduced_counts_once() -> None:
    lines: list[str] = []
    compilations = CompilationLogger(lines.append)
    compilations.log_once("training", BUCKETS[0], of=BUCKETS)
    lowered = (Bucket(6, 100, 20), *BUCKETS[1:])
    compilations.log_once("training", lowered[0], of=lowered)
    assert lines[1] == "XLA compiles training: shape 1 of 3, 6×100×20 (clips×frames×tokens)"


def test_without_xla_no_compilation_is_claimed() -> None:
    lines: list[str] = []
    CompilationLogger(lines.append, xla=False).log_once("training", BUCKETS[0], of=BUCKETS)
    assert lines == ["TensorFlow traces training: shape 1 of 3, 8×100×20 (clips×frames×tokens)"]
