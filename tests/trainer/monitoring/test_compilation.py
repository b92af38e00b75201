"""What is said before shapes are compiled."""

from __future__ import annotations

from trainer.data.buckets import Bucket
from trainer.monitoring.compilation import CompilationLogger

BUCKETS = (Bucket(8, 100, 20), Bucket(4, 200, 40), Bucket(2, 400, 80))


def test_each_shape_of_each_program_is_told_once_in_the_order_in_which_it_comes() -> None:
    said: list[str] = []
    compilations = CompilationLogger(said.append)
    for number in (1, 0, 1, 1, 0):
        compilations.log_once("training", BUCKETS[number], of=BUCKETS)
    compilations.log_once("validation", BUCKETS[1], of=BUCKETS)
    assert said == [
        "compiling training: shape 1 of 3, 4×200×40 (clips×frames×tokens)",
        "compiling training: shape 2 of 3, 8×100×20 (clips×frames×tokens)",
        "compiling validation: shape 1 of 3, 4×200×40 (clips×frames×tokens)",
    ]


def test_the_part_of_a_batch_that_a_device_gets_is_told_as_the_whole() -> None:
    said: list[str] = []
    compilations = CompilationLogger(said.append)
    for clips in (4, 8):
        compilations.log_once("training", Bucket(clips, 100, 20), of=BUCKETS)
    assert said == ["compiling training: shape 1 of 3, 8×100×20 (clips×frames×tokens)"]


def test_a_shape_that_is_given_up_counts_no_longer() -> None:
    said: list[str] = []
    compilations = CompilationLogger(said.append)
    compilations.log_once("training", BUCKETS[0], of=BUCKETS)
    lowered = (Bucket(6, 100, 20), *BUCKETS[1:])
    compilations.log_once("training", lowered[0], of=lowered)
    assert said[1] == "compiling training: shape 1 of 3, 6×100×20 (clips×frames×tokens)"
