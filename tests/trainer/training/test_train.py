"""Complete training runs, undisturbed and resumed from the folder that a kill would have left."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from tests.trainer import runs
from trainer.checkpoint.checkpoint_files import list_checkpoints

pytestmark = pytest.mark.slow


def test_the_loss_falls(trained: runs.Trained) -> None:
    losses = [row["loss"] for row in runs.rows(trained.undisturbed.run)]
    print(f"mean loss of the first 10 steps {np.mean(losses[:10]):.3f}, of the last 10 {np.mean(losses[-10:]):.3f}")
    assert len(losses) == runs.STEPS
    assert np.isfinite(losses).all()
    assert np.mean(losses[-10:]) < 0.75 * np.mean(losses[:10])


def test_the_trainer_counts_one_program_for_each_bucket_shape(trained: runs.Trained) -> None:
    words = "XLA programs: 2 for training, 0 for validation (bucket shapes: 2)"
    assert words in trained.undisturbed.stderr


def test_a_resumed_run_compiles_nothing_that_the_run_before_it_compiled(trained: runs.Trained) -> None:
    before, after = trained.programs
    assert len(before) == 3  # two shapes and the update
    assert after == before


def test_a_run_begins_with_its_shapes_and_what_an_epoch_hears(trained: runs.Trained) -> None:
    begun = trained.undisturbed.stderr
    assert re.search(r"2 bucket shapes \(clips×frames×tokens\): \d+×\d+×\d+, \d+×\d+×\d+; padding \d+\.\d%", begun)
    assert "times that an epoch repeats a record, by language 1.00 to 1.00" in begun


def test_a_stopped_run_goes_on_from_its_last_checkpoint(trained: runs.Trained) -> None:
    checkpoint = trained.stopped_after_step // runs.CHECKPOINT_EVERY * runs.CHECKPOINT_EVERY
    assert trained.stopped_after_step > checkpoint > 0
    assert re.search(rf"resuming after step {checkpoint}, epoch \d+, chunk \d+, batch \d+", trained.resumed.stderr)


def test_a_resumed_run_logs_every_step_once_with_the_figures_of_an_undisturbed_run(trained: runs.Trained) -> None:
    def figures(run: Path) -> list[dict]:
        return [
            {
                name: row[name]
                for name in (
                    "step",
                    "loss",
                    "mel",
                    "kl",
                    "flux",
                    "stop",
                    "guided_attention",
                    "gradient_norm",
                    "learning_rate",
                )
            }
            for row in runs.rows(run)
        ]

    resumed = figures(trained.resumed.run)
    assert [row["step"] for row in resumed] == list(range(1, runs.STEPS + 1))
    assert resumed == figures(trained.undisturbed.run)


def test_a_resumed_run_ends_with_the_weights_of_an_undisturbed_run(trained: runs.Trained) -> None:
    resumed, undisturbed = (
        safetensors.numpy.load_file(list_checkpoints(ended.run)[-1].path)
        for ended in (trained.resumed, trained.undisturbed)
    )
    assert resumed.keys() == undisturbed.keys()
    assert [name for name in resumed if resumed[name].tobytes() != undisturbed[name].tobytes()] == []


def test_only_the_last_checkpoints_are_kept(trained: runs.Trained) -> None:
    steps = [saved.step for saved in list_checkpoints(trained.undisturbed.run)]
    assert steps == [runs.STEPS - runs.CHECKPOINT_EVERY, runs.STEPS]


def test_a_finished_run_started_again_makes_no_step_and_shows_no_loss_that_is_none(
    trained: runs.Trained, tmp_path: Path, command: Callable
) -> None:
    run = shutil.copytree(trained.undisturbed.run, tmp_path / "run")
    before = (run / "metrics.jsonl").read_bytes()
    outcome = command(*runs.words(trained.data, run=run))
    assert outcome.code == 0
    assert (run / "metrics.jsonl").read_bytes() == before
    assert "nan" not in outcome.out
