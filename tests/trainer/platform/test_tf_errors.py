"""TensorFlow's GPU errors, raised without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from tests.trainer.batches import DEVICE, make_stream
from tests.trainer.described_runs import describe_run
from trainer.data.bucket_types import Bucket
from trainer.data.pipeline import Stream
from trainer.distributed.device_memory import OutOfMemory, translate_oom_in_input
from trainer.platform.tf_errors import (
    is_collective_error,
    is_compiler_error,
    is_device_error,
    is_out_of_memory,
    translate_errors,
)

FULL = tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[64]\nhint\n\ttrace")
UNCOPIED = tf.errors.InternalError(
    None, None, "Failed copying input tensor from CPU:0 to GPU:0 in order to run Copy: Dst tensor is not initialized."
)
LOST = tf.errors.InternalError(
    None, None, "CUDA error: Could not synchronize CUDA stream: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access"
)
DISK = tf.errors.ResourceExhaustedError(None, None, "/out/saved_model.pb; No space left on device")
CORRUPT = tf.errors.DataLossError(
    None,
    None,
    "{{function_node __wrapped__IteratorGetNext_device_/job:localhost/replica:0/task:0/device:GPU:0}} CRC of "
    "/data/cuda/gpu/x.tfrecord is another [Op:IteratorGetNext]",
)


@pytest.mark.parametrize(
    ("error", "full", "of_device"),
    [
        (FULL, True, False),
        (UNCOPIED, True, True),
        (LOST, False, True),
        (DISK, False, False),
        (CORRUPT, False, False),
        (OSError(), False, False),
    ],
)
def test_device_errors_are_distinguished_from_others(error: Exception, full: bool, of_device: bool) -> None:
    assert (is_out_of_memory(error), is_device_error(error)) == (full, of_device)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FULL, r"^the device's memory is full \(OOM when allocating tensor with shape\[64\]\); `nvidia-smi` shows"),
        (UNCOPIED, "^the device's memory is full"),
        (DISK, r"^/out/saved_model\.pb; No space left on device; free disk space"),
        (LOST, r"^the GPU failed or is unavailable \(CUDA error.*illegal memory access\); `nvidia-smi` shows"),
    ],
)
def test_a_full_or_failed_device_is_reported_in_one_line(error: Exception, told: str) -> None:
    with pytest.raises(UserError, match=told) as found, translate_errors():
        raise error
    assert "\n" not in str(found.value)


def test_other_errors_are_raised_unchanged() -> None:
    with pytest.raises(tf.errors.DataLossError), translate_errors():
        raise CORRUPT


@pytest.mark.parametrize("error", [FULL, LOST])
@pytest.mark.parametrize(
    ("words", "broken"),
    [
        (["train", "configs/train_sample.yaml", "--data", "d"], "trainer.training.train.train"),
        (["export", "--out", "o"], "trainer.tools.export.export_run"),
        (["say", *"a --language eng_Latn --out o.wav".split()], "trainer.speech.synthesizer.Synthesizer.load"),
    ],
    ids=["train", "export", "say"],
)
def test_no_command_ends_in_a_traceback_for_a_device(
    command: Callable,
    speak_command: Callable,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    words: list[str],
    broken: str,
    tmp_path: Path,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    for name in ("trainer.cli", "trainer.speak_cli"):
        monkeypatch.setattr(f"{name}.start_tensorflow", lambda **_: "allocator: x")
    monkeypatch.setattr(broken, fail)
    speaks, run, (verb, *options) = words[0] == "say", describe_run(tmp_path / "run"), words
    outcome = speak_command(verb, run, *options) if speaks else command(*words, "--run", run)
    assert outcome.code == 2
    assert [line.partition(" (")[0] for line in outcome.err.splitlines()] in (
        ["error: the device's memory is full"],
        ["error: the GPU failed or is unavailable"],
    )


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            OSError(5, "Input/output error", "clip.wav"),
            2,
            "error: clip.wav: Input/output error; check that it can be read",
        ),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_a_disk_that_fails_and_an_interrupt_are_a_line(
    command: Callable, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, told: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("trainer.cli.start_tensorflow", lambda **_: "allocator: x")
    monkeypatch.setattr("trainer.tools.export.export_run", fail)
    outcome = command("export", "--run", "r", "--out", "o")
    (line,) = filter(None, outcome.err.splitlines())  # click ends the line in which ^C was typed
    assert (outcome.code, line[: len(told)]) == (code, told)


def failing(after: int, error: Exception) -> Iterator[dict[str, tf.Tensor]]:
    for clips in range(1, after + 1):
        yield {"mel": tf.zeros([clips, 40, 2]), "tokens": tf.zeros([clips, 7]), "next": tf.constant([0, 0, clips])}
    raise error


@pytest.mark.parametrize("error", [FULL, UNCOPIED])
def test_a_batch_that_does_not_fit_beside_the_current_one_reports_the_current_bucket(error: Exception) -> None:
    with pytest.raises(OutOfMemory) as found:
        for _ in translate_oom_in_input(failing(3, error)):
            pass
    assert found.value.bucket == Bucket(3, 40, 7)


@pytest.mark.parametrize(("after", "error"), [(0, FULL), (3, LOST)])
def test_an_error_that_a_smaller_batch_cannot_fix_is_raised_unchanged(after: int, error: Exception) -> None:
    with pytest.raises(type(error)) as found:
        list(translate_oom_in_input(failing(after, error)))
    assert found.value is error


@pytest.mark.slow
def test_a_gpu_error_between_batches_is_not_reported_as_a_disk_error(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, _, _ = make_stream(dataset)
    monkeypatch.setattr(Stream, "_to_device", lambda *_, **__: failing(2, LOST))
    with pytest.raises(tf.errors.InternalError) as found:
        for _ in stream.endless(device=DEVICE):
            pass
    assert found.value is LOST


def test_collective_and_compiler_errors_are_distinguished_from_unreadable_shards() -> None:
    lost = tf.errors.AbortedError(None, None, "shard; Stale file handle")
    waited = tf.errors.AbortedError(None, None, "Collective ops is aborted by: host 1 is gone")
    compiler = tf.errors.InternalError(None, None, "ptxas exited with non-zero error code 2")
    assert [is_collective_error(one) for one in (lost, waited, compiler)] == [False, True, False]
    assert [is_compiler_error(one) for one in (lost, waited, compiler)] == [False, False, True]
