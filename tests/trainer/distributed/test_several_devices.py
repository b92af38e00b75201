"""Runs on two devices have the losses, weights and checkpoints of one device, also after a resumption."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from shared.dataset import Dataset
from tests.trainer.batches import make_stream
from tests.trainer.device_runs import RESUMED, STEPS, Runs, begin_training, rows, said_at_end, train
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.data.position import Position
from trainer.monitoring.samples import read_samples

LOSSES = ("loss", "mel", "kl", "flux", "stop", "guided_attention")
COMPILED_STEPS = 3
COMPILED = (
    "xla=true",
    "optimizer.microbatches=2",
    "validate_every=100",
    "input.max_frames=200",
)  # the last step is validated in any case

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "steps", "names"),
    [("train", [*range(1, STEPS + 1)], (*LOSSES, "gradient_norm")), ("validation", [STEPS // 2, STEPS], LOSSES)],
)
def test_two_devices_have_the_losses_of_one(
    on_devices: Runs, kind: str, steps: list[int], names: tuple[str, ...]
) -> None:
    ones, twos = ([row for row in rows(run, kind=kind) if row["step"] in steps] for run in on_devices[:2])
    assert [row["step"] for row in ones] == [row["step"] for row in twos] == steps
    for one, two in zip(ones, twos, strict=True):
        for name in names:
            assert two[name] == pytest.approx(one[name], rel=1e-3), (one["step"], name)


def test_two_devices_save_what_one_saves(on_devices: Runs) -> None:
    """Equal names and shapes, and values equal up to the order of summation."""
    check_saved(on_devices.one, on_devices.two)


def check_saved(one: Path, two: Path) -> None:
    """Compare value by value, relative to the largest of each array."""
    ones, twos = (safetensors.numpy.load_file(list_checkpoints(run)[-1].path) for run in (one, two))
    assert ones.keys() == twos.keys()
    for name, value in ones.items():
        assert twos[name].shape == value.shape
        apart = np.abs(twos[name].astype(np.float64) - value)
        assert float(apart.max()) <= 1e-4 * float(np.abs(value).max()), name


def test_two_devices_speak_as_one(on_devices: Runs) -> None:
    check_spoken(on_devices.one, on_devices.two)


def check_spoken(one: Path, two: Path) -> None:
    """Compare the mel of the one clip, value by value."""
    (spoken,), (other,) = (read_samples(run).all for run in (one, two))
    assert other.utterance_id == spoken.utterance_id
    assert other.spoken == pytest.approx(spoken.spoken, rel=2e-3, abs=1e-3)  # it is kept in float16


@pytest.mark.soak
def test_two_compiled_devices_train_validate_and_speak_as_one(data: Path, tmp_path: Path) -> None:
    """In two micro-batches. Both are compiled: XLA draws other numbers; `make test` compares steps in test_devices."""
    one, two = tmp_path / "one", tmp_path / "two"
    begun = [
        begin_training(data, *COMPILED, run=run, devices=devices, steps=COMPILED_STEPS)
        for devices, run in ((1, one), (2, two))
    ]
    _, said = map(said_at_end, begun)
    assert "/CPU:0, /CPU:1, " in said
    assert "XLA programs: 1 for training, 1 for validation, 1 for synthesis (" in said
    check_spoken(one, two)
    check_losses(one, two)
    check_saved(one, two)
    assert not any((run / "incidents.jsonl").exists() for run in (one, two))


def check_losses(one: Path, two: Path) -> None:
    for kind, steps in (("train", [*range(1, COMPILED_STEPS + 1)]), ("validation", [COMPILED_STEPS])):
        pair = rows(one, kind=kind), rows(two, kind=kind)
        assert [row["step"] for row in pair[0]] == [row["step"] for row in pair[1]] == steps
        for first, second in zip(*pair, strict=True):
            for name in LOSSES:
                assert second[name] == pytest.approx(first[name], rel=1e-5), (kind, first["step"], name)


def test_a_run_on_two_devices_resumes_where_it_stopped(on_devices: Runs) -> None:
    assert "/CPU:0, /CPU:1, " in on_devices.said
    assert f"resuming after step {RESUMED}, epoch 0" in on_devices.said
    assert not (on_devices.two / "incidents.jsonl").exists()


def test_a_failure_on_one_of_two_devices_is_logged_and_survived(data: Path, tmp_path: Path) -> None:
    """The first batch is no number on the second device, the second does not fit into the first one: of the toy.

    Which weights a step that failed has changed is not known: the run goes on from its checkpoint, that of step 0.
    """
    settings = ("recovery.probe_memory=false", "validate_every=100", "synthesis_eval.clips=0")
    train(data, *settings, run=tmp_path, devices=2, steps=2, is_disturbed=True)
    poisoned, back, large = (json.loads(line) for line in (tmp_path / "incidents.jsonl").read_text().splitlines())
    stream, plan, _ = make_stream(Dataset.open(data), global_frames_per_batch=1500, buckets=1)
    batch = next(stream.endless(Position(), device="/CPU:0"))
    assert (poisoned["step"], poisoned["kind"], poisoned["loss"]) == (1, "skipped", "nan")
    assert sorted(poisoned["utterances"]) == sorted(stream.utterance_ids(batch["rows"].numpy())) != []
    (bucket,) = plan.buckets
    assert back == {"step": 1, "kind": "went back", "to_step": 0, "reason": "out of memory amid a step"}
    assert large == {"step": 0, "kind": "out of memory", "bucket": list(bucket), "clips": int(0.75 * bucket.clips)}
    assert [row["step"] for row in rows(tmp_path, kind="train")] == [1, 2]
    assert [row["applied"] for row in rows(tmp_path, kind="train")] == [1.0, 1.0]
