"""Failures that a run survives: non-finite steps, batches that do not fit, signals; with a toy model."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from tests.commands import Outcome
from tests.trainer import toy
from tests.trainer.batches import make_stream
from tests.trainer.conftest import built, spoil_record
from tests.trainer.device_runs import rows
from tests.trainer.toy import TrainStep
from trainer.checkpoint.checkpoint import read_progress
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.data.position import Position
from trainer.monitoring import logger as monitor
from trainer.training import chief_sync, skipped_steps
from trainer.training import trainer as loop

FRAMES = 800
SETTINGS = (
    "log_every=1",
    "validate_every=1000",
    "checkpoint_every=2",
    "input.buckets=2",
    f"input.global_frames_per_batch={FRAMES}",
)

Disturb = Callable[[int, dict], dict]


@pytest.fixture(scope="module")
def unvalidated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset without validation clips."""
    return built(tmp_path_factory.mktemp("sample") / "data", overrides=["validation_fraction=0"])


@pytest.fixture
def train(command: Callable, unvalidated: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the command; `disturb` is called with each step's number and batch, and returns a batch or raises."""

    def run(
        folder: Path, *overrides: str, disturb: Disturb = lambda _, batch: batch, data: Path = unvalidated
    ) -> Outcome:
        class Disturbed(TrainStep):
            calls = 0

            def __call__(self, batch: dict) -> dict:
                self.calls += 1
                return super().__call__(disturb(self.calls, dict(batch)))

        toy.put_in(monkeypatch.setattr, TrainStep=Disturbed)
        return command("train", "configs/train_sample.yaml", *SETTINGS, *overrides, "--data", data, "--run", folder)

    return run


def poisoned(*calls: int, seen: list[list[int]] | None = None) -> Disturb:
    """Batches of these calls are not finite; `seen` receives the rows of each call's batch."""

    def disturb(call: int, batch: dict) -> dict:
        if seen is not None:
            seen.append(batch["rows"].numpy().tolist())
        return {**batch, "mel": batch["mel"] * float("nan")} if call in calls else batch

    return disturb


def larger_than(clips: int, *, from_call: int = 1) -> Disturb:
    """Simulate a device on which more than so many of the longest clips run out of memory."""

    def disturb(call: int, batch: dict) -> dict:
        if call >= from_call and batch["mel"].shape[0] > clips:
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory while trying to allocate")
        return batch

    return disturb


def interrupted_compiler(at_call: int, *, asked: bool = True) -> Disturb:
    """Simulate a compiler that fails, with or without a signal."""

    def disturb(call: int, batch: dict) -> dict:
        if call != at_call:
            return batch
        if asked:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # for the thread that notes it
        raise tf.errors.InternalError(None, None, "ptxas exited with non-zero error code 2")

    return disturb


def lines(run: Path, name: str) -> list[dict]:
    return [json.loads(line) for line in (run / name).read_text(encoding="utf-8").splitlines()]


def losses(run: Path) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in lines(run, "metrics.jsonl") if row["kind"] == "train"]


def last_weights(run: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load_file(list_checkpoints(run)[-1].path)


def heard(data: Path, *, batch: int) -> list[str]:
    """Return the utterances of a batch, from a separate stream."""
    stream, _, _ = make_stream(Dataset.open(data), global_frames_per_batch=FRAMES)
    batches = stream.endless(Position(), device="/CPU:0")
    for _ in range(batch - 1):
        next(batches)
    return stream.utterance_ids(next(batches)["rows"].numpy())


@pytest.mark.slow
def test_a_nonfinite_batch_is_logged_and_changes_no_weight(train: Callable, unvalidated: Path, tmp_path: Path) -> None:
    assert train(tmp_path / "run", "steps=2").code == 0
    before = last_weights(tmp_path / "run")
    outcome = train(tmp_path / "run", "steps=3", disturb=poisoned(1))
    assert outcome.code == 0, outcome.err
    (row,) = lines(tmp_path / "run", "incidents.jsonl")
    assert (row["step"], row["kind"], row["loss"]) == (3, "skipped", "nan")
    assert row["utterances"] == heard(unvalidated, batch=3) != []
    assert lines(tmp_path / "run", "metrics.jsonl")[-1]["loss"] is None
    after = last_weights(tmp_path / "run")
    changed = {name for name in before if before[name].tobytes() != after[name].tobytes()}
    assert not [name for name in changed if name.startswith("model/") or name.endswith(("momentum", "velocity"))]
    assert "optimizer/iterations" in changed


@pytest.mark.slow
def test_too_many_nonfinite_steps_roll_back_once_and_then_end_the_run(train: Callable, tmp_path: Path) -> None:
    """Checkpoints at step 2 and, among the non-finite steps, at 4: the rollback must not use the latter."""
    overrides = ("steps=6", "recovery.max_nonfinite_steps=3", "kept_checkpoints=1")
    seen, undisturbed = list[list[int]](), list[list[int]]()
    outcome = train(tmp_path / "run", *overrides, disturb=poisoned(4, 5, 6, seen=seen))
    assert outcome.code == 0, outcome.err
    assert train(tmp_path / "whole", "steps=10", disturb=poisoned(seen=undisturbed)).code == 0
    assert seen == undisturbed  # steps 3 to 6 are made with the batches after those that were not finite
    assert "3 consecutive steps not finite: rolled back to step 3" not in outcome.err
    assert "3 consecutive steps not finite: rolled back to step 2, learning rate scaled by 0.5" in outcome.err
    rows = lines(tmp_path / "run", "metrics.jsonl")
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert all(np.isfinite(row["loss"]) for row in rows)
    assert rows[2]["learning_rate"] == pytest.approx(0.5 * 3 / 20 * 0.002)  # warm-up over 20 steps
    kinds = [(row["kind"], row["step"]) for row in lines(tmp_path / "run", "incidents.jsonl")]
    assert kinds == [("skipped", 4), ("skipped", 5), ("skipped", 6), ("went back", 6)]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["first_step"], summary["last_step"]) == (1, 6)
    outcome = train(tmp_path / "run", *overrides, "steps=12", disturb=poisoned(*range(1, 20)))
    assert outcome.code == 2
    (error,) = (line for line in outcome.err.splitlines() if line.startswith("error: "))
    assert "not finite in 3 consecutive steps, up to step 9, after an earlier rollback" in error


@pytest.mark.slow
def test_a_run_that_diverges_before_its_first_checkpoint_restarts_at_a_lower_rate(
    train: Callable, tmp_path: Path
) -> None:
    overrides = ("steps=4", "checkpoint_every=4", "recovery.max_nonfinite_steps=2")
    seen, undisturbed = list[list[int]](), list[list[int]]()
    outcome = train(tmp_path / "run", *overrides, "recovery.rate_factor=0.25", disturb=poisoned(1, 2, seen=seen))
    assert outcome.code == 0, outcome.err
    assert "2 consecutive steps not finite: rolled back to step 0, learning rate scaled by 0.25" in outcome.err
    slow = ("optimizer.learning_rate=0.0005", "steps=6")
    assert train(tmp_path / "whole", *overrides, *slow, disturb=poisoned(seen=undisturbed)).code == 0
    assert seen == undisturbed  # the batches that were not finite do not come again
    found, expected = (lines(tmp_path / name, "metrics.jsonl") for name in ("run", "whole"))
    assert [row["learning_rate"] for row in found] == [row["learning_rate"] for row in expected[:4]]
    saved, fresh = (safetensors.numpy.load_file(list_checkpoints(tmp_path / name)[0].path) for name in ("run", "whole"))
    assert all(np.array_equal(saved[name], value) for name, value in fresh.items() if name.startswith("model/"))


@pytest.mark.slow
def test_a_run_that_diverges_between_pauses_rolls_back_after_enough_unread_steps(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps 3 and 4 are finite: a check at the end alone would find no skipped step last."""
    monkeypatch.setattr(skipped_steps, "MAX_UNREAD", 2)
    overrides = ("steps=4", "checkpoint_every=4", "log_every=4", "recovery.max_nonfinite_steps=2")
    outcome = train(tmp_path, *overrides, disturb=poisoned(1, 2))
    assert outcome.code == 0, outcome.err
    kinds = [(row["kind"], row["step"]) for row in lines(tmp_path, "incidents.jsonl")]
    assert kinds == [("skipped", 1), ("skipped", 2), ("went back", 2)]


@pytest.mark.slow
def test_a_checkpoint_that_is_due_is_saved_even_if_another_host_is_gone(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hosts notice it when they agree on how to continue, after a long validation."""

    def lost(*_: object, validated: bool) -> None:
        raise UserError("host 1 (b:2) is gone")

    monkeypatch.setattr(chief_sync.ChiefSync, "sync_stop", lost)
    outcome = train(tmp_path / "due", "steps=4", "log_every=2")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == "error: host 1 (b:2) is gone"
    assert [saved.step for saved in list_checkpoints(tmp_path / "due")] == [0, 2]
    assert train(tmp_path / "not_due", "steps=4", "log_every=1").code == 2
    assert [saved.step for saved in list_checkpoints(tmp_path / "not_due")] == [0]


@pytest.mark.slow
def test_a_disk_too_small_for_the_checkpoints_is_reported_before_the_first_step(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(tmp_path, "steps=2").code == 0
    saved = list_checkpoints(tmp_path)[-1].path.stat().st_size
    for free, code in ((3 * saved + 9_999, 0), (saved, 2)):  # two of the five are there
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        outcome = train(tmp_path, "steps=3")
        assert outcome.code == code, outcome.err
        assert re.search(r"a checkpoint takes 0\.\d MB, and up to 5 of them \(kept_checkpoints=3", outcome.err)
        (tmp_path / "checkpoints" / "step-00000003.safetensors").unlink(missing_ok=True)
    assert outcome.err.splitlines()[-1].startswith(f"error: {tmp_path}: a checkpoint takes")
    assert "free disk space, or lower kept_checkpoints" in outcome.err.splitlines()[-1]


@pytest.mark.slow
def test_a_checkpoint_that_is_refused_leaves_the_description_of_the_run_as_it_was(
    train: Callable, tmp_path: Path
) -> None:
    assert train(tmp_path, "steps=2").code == 0
    before = (tmp_path / "run.json").read_bytes()
    for saved in list_checkpoints(tmp_path):
        saved.path.write_bytes(b"damaged")
    outcome = train(tmp_path, "steps=3", "seed=7")
    assert outcome.code == 2
    assert "not a readable checkpoint" in outcome.err
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["bit", "end"])
def test_a_run_goes_on_from_the_last_checkpoint_that_is_whole(
    train: Callable, data: Path, tmp_path: Path, damage: str
) -> None:
    settings = ("checkpoint_every=2", "validate_every=2", "log_every=1", "synthesis_eval.clips=0")
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert train(whole, "steps=6", *settings, data=data).code == 0
    shutil.copytree(whole, run)
    path = list_checkpoints(run)[-1].path
    content, best_step = bytearray(path.read_bytes()), read_progress(path).best_step
    content[-8] ^= 1 if damage == "bit" else 0
    path.write_bytes(content if damage == "bit" else content[:-8])
    (run / "checkpoints" / "best.safetensors").unlink()
    if best_step == 6:  # two names of one file
        (run / "checkpoints" / "best.safetensors").hardlink_to(path)
    outcome = train(run, "steps=6", *settings, data=data)
    assert outcome.code == 0, outcome.err
    aside = path.with_name(f"damaged-{path.name}")
    assert f"damaged and renamed: {aside}; resuming after step 4, " in outcome.err
    assert aside.read_bytes() == (content if damage == "bit" else content[:-8])
    found, expected = ([(row["step"], row["loss"]) for row in rows(folder, kind="train")] for folder in (run, whole))
    assert found == expected
    assert len(list_checkpoints(run)) == len(list_checkpoints(whole))
    best = run / "checkpoints" / "best.safetensors"
    assert best.read_bytes() == (whole / "checkpoints" / "best.safetensors").read_bytes()


@pytest.mark.slow
def test_a_logged_loss_is_the_mean_since_the_last_line(train: Callable, tmp_path: Path) -> None:
    found = {}
    for interval in (1, 3):
        run = tmp_path / str(interval)
        assert train(run, "steps=7", f"log_every={interval}").code == 0
        found[interval] = {row["step"]: row for row in rows(run, kind="train")}
    each = [found[1][step]["loss"] for step in range(1, 8)]
    assert {step: row["loss"] for step, row in found[3].items()} == pytest.approx(
        {3: np.mean(each[:3]), 6: np.mean(each[3:6]), 7: each[6]}
    )
    assert {step: row["learning_rate"] for step, row in found[3].items()} == {
        step: found[1][step]["learning_rate"] for step in (3, 6, 7)
    }


@pytest.mark.slow
def test_an_unreadable_checkpoint_is_not_reported_as_damaged(train: Callable, tmp_path: Path) -> None:
    assert train(tmp_path, "steps=2").code == 0
    path = list_checkpoints(tmp_path)[-1].path
    path.unlink()
    path.mkdir()
    outcome = train(tmp_path, "steps=3")
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith(f"error: {path}: cannot be read (")
    assert "remove" not in outcome.err.splitlines()[-1]


@pytest.mark.slow
def test_precision_and_averaging_may_change_from_one_start_to_the_next(train: Callable, tmp_path: Path) -> None:
    for steps, *changed in (
        (2, "model.precision=bfloat16"),
        (3, "model.precision=float16", "optimizer.ema_decay=0.9"),
        (4, "model.precision=bfloat16"),
    ):
        outcome = train(tmp_path, f"steps={steps}", *changed)
        assert outcome.code == 0, outcome.err
    assert [step for step, _ in losses(tmp_path)] == [1, 2, 3, 4]


@pytest.mark.slow
def test_out_of_memory_reduces_its_bucket_for_the_rest_of_the_run(train: Callable, tmp_path: Path) -> None:
    outcome = train(tmp_path / "run", "steps=3", disturb=larger_than(1, from_call=2))
    assert outcome.code == 0, outcome.err
    assert "out of memory in bucket 2×" in outcome.err
    rows = lines(tmp_path / "run", "incidents.jsonl")
    assert {row["kind"] for row in rows} == {"out of memory"}
    assert [row["step"] for row in lines(tmp_path / "run", "metrics.jsonl")] == [1, 2, 3]
    ceilings = json.loads((tmp_path / "run" / "run.json").read_text())["ceilings"]
    assert ceilings == [[row["clips"], *row["bucket"][1:]] for row in rows]
    # a second start uses the reduced plan, without a failure and in the same order
    outcome = train(tmp_path / "run", "steps=4", disturb=larger_than(1))
    assert outcome.code == 0, outcome.err
    assert "out of memory" not in outcome.err
    assert "batch shapes changed" not in outcome.err


@pytest.mark.slow
def test_out_of_memory_during_the_update_loses_the_steps_since_the_last_checkpoint(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The update may be partly done, or weights may be lost."""
    monkeypatch.setattr(TrainStep, "is_updating", True)
    settings = ("steps=5", "checkpoint_every=2")
    outcome = train(tmp_path / "run", *settings, disturb=larger_than(1, from_call=4))
    assert outcome.code == 0, outcome.err
    assert "out of memory during a step: rolled back from step 3 to 2, whose weights are complete" in outcome.err
    kinds = [(row["kind"], row["step"]) for row in lines(tmp_path / "run", "incidents.jsonl")]
    assert kinds[0] == ("went back", 3)
    assert kinds[1][0] == "out of memory"
    assert [row["step"] for row in lines(tmp_path / "run", "metrics.jsonl")] == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_a_single_clip_that_does_not_fit_ends_the_run_with_the_reason(train: Callable, tmp_path: Path) -> None:
    outcome = train(tmp_path, "steps=3", disturb=larger_than(0))
    assert outcome.code == 2
    assert "out of memory: a single clip of" in outcome.err.splitlines()[-1]


@pytest.mark.slow
def test_the_memory_probe_finds_a_large_bucket_before_the_first_step_and_changes_nothing_else(
    train: Callable, tmp_path: Path
) -> None:
    assert train(tmp_path / "plain", "steps=2").code == 0
    probed = train(tmp_path / "probed", "steps=2", "recovery.probe_memory=true")
    assert probed.code == 0, probed.err
    assert losses(tmp_path / "probed") == losses(tmp_path / "plain")
    told = re.findall(r"XLA compiles training: shape (\d) of 2, \d+×\d+×\d+ \(clips×frames×tokens\)", probed.err)
    assert told in (["1"], ["1", "2"])  # the probe's shape is told before the probe, and not again
    planned = re.search(r"2 bucket shapes \(clips×frames×tokens\): (\S+), (\S+);", probed.err)
    assert planned
    assert f"shape 1 of 2, {planned[2]} " in probed.err  # longer clips, and more frames in all
    assert probed.err.index("XLA compiles") < probed.err.index("step 1 of 2")
    outcome = train(tmp_path / "small", "steps=1", "recovery.probe_memory=true", disturb=larger_than(1))
    assert outcome.code == 0, outcome.err
    rows = lines(tmp_path / "small", "incidents.jsonl")
    assert rows
    assert {(row["kind"], row["step"]) for row in rows} == {("out of memory", 0)}


@pytest.mark.slow
def test_a_full_disk_ends_a_run_in_one_line_and_loses_no_checkpoint(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(tmp_path / "whole", "steps=6").code == 0
    write, calls = monitor._write_row, iter(range(100))

    def write_while_there_is_room(*words: object) -> None:
        if next(calls) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(*words)

    with monkeypatch.context() as full:
        full.setattr(monitor, "_write_row", write_while_there_is_room)
        outcome = train(tmp_path / "run", "steps=6")
    assert outcome.code == 2
    told = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert told == outcome.err.splitlines()[-1:]
    assert "metrics.jsonl: cannot be written (No space left on device); checkpoints are intact; make room" in told[0]
    assert [saved.step for saved in list_checkpoints(tmp_path / "run")] == [0, 2, 4]
    assert train(tmp_path / "run", "steps=6").code == 0
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


@pytest.mark.slow
def test_a_signal_that_also_ends_the_compiler_is_a_signal(train: Callable, tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of a terminal; without a signal it is a failure."""
    outcome = train(tmp_path / "run", "steps=9", disturb=interrupted_compiler(4))
    assert outcome.code == 128 + signal.SIGINT, outcome.err
    assert "SIGINT: stopped after step 3, which is saved" in outcome.err.splitlines()[-1]
    assert list_checkpoints(tmp_path / "run")[-1].step == 3
    assert train(tmp_path / "run", "steps=9").code == 0
    assert train(tmp_path / "whole", "steps=9").code == 0
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")
    with pytest.raises(tf.errors.InternalError):
        train(tmp_path / "fault", "steps=9", disturb=interrupted_compiler(4, asked=False))
    assert "steps 1 to 3 on" in (tmp_path / "fault" / "summary.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("has_updated", "left"), [(False, 2), (True, 3)])
def test_a_signal_that_ends_the_compiler_of_the_first_update_leaves_the_last_checkpoint(
    has_updated: bool, left: int, train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some devices may be updated and others not; after the first update nothing is compiled any more."""
    assert train(tmp_path / "whole", "steps=6", "checkpoint_every=2").code == 0
    with monkeypatch.context() as amid:
        amid.setattr(TrainStep, "is_updating", True)
        amid.setattr(TrainStep, "has_updated", has_updated)
        outcome = train(tmp_path / "run", "steps=6", "checkpoint_every=2", disturb=interrupted_compiler(4))
    assert outcome.code == 128 + signal.SIGINT, outcome.err
    rolled_back = "a signal during a step: rolled back from step 3 to 2, whose weights are complete" in outcome.err
    assert rolled_back == (not has_updated)
    assert f"SIGINT: stopped after step {left}, which is saved" in outcome.err.splitlines()[-1]
    assert train(tmp_path / "run", "steps=6", "checkpoint_every=2").code == 0
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


@pytest.mark.slow
def test_a_signal_that_ends_the_compiler_during_the_probe_is_a_signal(train: Callable, tmp_path: Path) -> None:
    """Weights that the probe has changed are never saved."""
    asked = "recovery.probe_memory=true"
    outcome = train(tmp_path / "run", "steps=3", asked, disturb=interrupted_compiler(1))
    assert outcome.code == 128 + signal.SIGINT, outcome.err
    assert "SIGINT: stopped before the first step; run the same command" in outcome.err.splitlines()[-1]
    assert list_checkpoints(tmp_path / "run") == []
    assert train(tmp_path / "run", "steps=3", asked).code == 0
    assert train(tmp_path / "whole", "steps=3").code == 0
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


@pytest.mark.slow
def test_a_failed_report_does_not_hide_the_signal(
    train: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: Path) -> None:
        raise KeyError("samples")

    def interrupt(call: int, batch: dict) -> dict:
        if call == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)  # for the thread that notes it
        return batch

    monkeypatch.setattr(loop, "write_html_report", fail)
    outcome = train(tmp_path / "run", "steps=9", disturb=interrupt)
    assert outcome.code == 128 + signal.SIGTERM
    assert "SIGTERM: stopped after step" in outcome.err.splitlines()[-1]
    assert "run: no summary written: 'samples'" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_a_checkpoint_and_the_run_goes_on_as_if_undisturbed(
    sent: signal.Signals, train: Callable, tmp_path: Path
) -> None:
    def interrupt(call: int, batch: dict) -> dict:
        if call == 3:
            os.kill(os.getpid(), sent)
        if call >= 3:
            time.sleep(0.2)  # for the thread that notes it
        return batch

    outcome = train(tmp_path / "run", "steps=9", disturb=interrupt)
    assert outcome.code == 128 + sent
    told = rf"/run: {sent.name}: stopped after step (\d), which is saved; run the same command again"
    left = re.search(told, outcome.err.splitlines()[-1])
    assert left
    assert 3 <= int(left[1]) < 9
    assert list_checkpoints(tmp_path / "run")[-1].step == int(left[1])
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["last_step"] == int(left[1])
    assert f"steps 1 to {left[1]} on" in (tmp_path / "run" / "summary.html").read_text(encoding="utf-8")
    assert train(tmp_path / "run", "steps=9").code == 0
    assert train(tmp_path / "whole", "steps=9").code == 0
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


@pytest.mark.slow
def test_a_corrupt_record_that_is_passed_over_is_an_incident(
    train: Callable[..., Outcome], unvalidated: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shard = spoil_record(unvalidated, to=data)
    outcome = train(tmp_path / "run", "steps=30", "input.max_corrupt_records=1", data=data)
    assert outcome.code == 0, outcome.err
    (row,) = lines(tmp_path / "run", "incidents.jsonl")
    assert row["kind"] == "reading"
    assert 0 <= row["step"] <= 30
    assert row["message"].startswith(f"{shard}: the record of ")
    assert "skipped, 1 of 1" in row["message"]
    assert "".join(row["message"].split()) in "".join(outcome.err.split())  # which the terminal may have wrapped
