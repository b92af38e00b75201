"""Assumptions of the loader benchmark: the same clips for all loaders, and CPU time of all their processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.measure import tree_cpu_s
from tests.bench.peers.clips import CLIPS_PER_BATCH, Batch, Clip, Corpus, bucketed, check_epoch, padded, shuffled

SILENCE = -11.5


class ThreeClips(Corpus):
    """Two clips of one length and one text, and a third."""

    log_silence = SILENCE

    def clips(self) -> Iterator[Clip]:
        for value, frames in ((1, 5), (2, 5), (3, 7)):
            yield Clip(np.full((frames, 4), value, np.float16), np.array([7, 8], np.int32))


CORPUS = ThreeClips("", [])


def loaded() -> list[Batch]:
    """An epoch in two batches."""
    first, second, third = CORPUS.clips()
    return [padded([third, first], log_silence=SILENCE), padded([second], log_silence=SILENCE)]


def test_an_epoch_with_every_clip_passes() -> None:
    check_epoch(loaded(), CORPUS, tolerance=0)


def test_rows_without_frames_are_no_clips() -> None:
    first, *others = loaded()
    masked = Batch(*(np.concatenate([part, np.zeros_like(part[:1])]) for part in first))
    check_epoch([masked, *others], CORPUS, tolerance=0)
    assert masked.tally() == (2, 12, 21)


@pytest.mark.parametrize(
    ("spoil", "blame"),
    [
        (lambda batches: batches.pop(), "1 clips did not come"),
        (lambda batches: batches.append(batches[0]), "comes again"),
        (lambda batches: np.copyto(batches[0].mel[0, 6], 9), "none of the corpus"),
        (lambda batches: np.copyto(batches[0].mel[1, 5:], 0), "no silence"),
        (lambda batches: np.copyto(batches[0].tokens[0], 6), "none of the corpus"),
        (lambda batches: np.copyto(batches[0].frames[:1], 6), "no silence"),
    ],
)
def test_a_loader_that_does_less_is_found(spoil, blame: str) -> None:
    batches = loaded()
    spoil(batches)
    with pytest.raises(AssertionError, match=blame):
        check_epoch(batches, CORPUS, tolerance=0)


@given(st.lists(st.integers(1, 30), max_size=300), st.sampled_from([[30], [10, 30], [3, 4, 5, 30]]))
def test_buckets_hold_every_clip_once_and_no_other_lengths(lengths: list[int], bounds: list[int]) -> None:
    batches = list(bucketed(range(len(lengths)), frames=lengths.__getitem__, bounds=bounds))
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= CLIPS_PER_BATCH
        assert len({sum(bound < lengths[number] for bound in bounds) for number in batch}) == 1
    assert sum(len(batch) < CLIPS_PER_BATCH for batch in batches) <= len(bounds)


def test_each_epoch_has_every_number_in_an_order_of_its_own() -> None:
    first, second = np.array(list(shuffled(50, epochs=2))).reshape(2, 50)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()


def test_the_time_of_a_grandchild_counts_while_it_runs_and_after() -> None:
    burn = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {burn + chr(10) + 'print(flush=True); input()'!r}])\n"
        "child.wait(); print(flush=True); input()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", parent], stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        assert process.stdin
        process.stdout.readline()
        running_s = tree_cpu_s(process.pid)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        ended_s = tree_cpu_s(process.pid)
        process.stdin.write(b"\n")
    assert 0.29 <= running_s <= ended_s + 0.02
