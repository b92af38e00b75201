"""`myxtts-train vocoder train`: it learns, its file speaks, and a run that goes on ends as if undisturbed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import safetensors
import safetensors.numpy
import soundfile

from preprocess.mel import log_mel
from shared.config import load_config
from shared.dataset import Dataset
from shared.features import PRESETS, preset
from shared.files import write_json
from shared.mel_config import MelConfig, feature_spec
from tests.trainer.conftest import built
from tests.trainer.device_runs import rows
from tests.trainer.processes import begin, end, program
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.config.vocoder_config import HiFiGanConfig
from trainer.config.vocoder_train_config import VocoderTrainConfig
from trainer.vocoder.vocoder import Vocoder
from trainer.vocoder.vocoder_file import check_frames
from trainer.vocoder_training.copy_synthesis import CopySynthesis
from trainer.vocoder_training.gan import Gan, GanOptimizer
from trainer.vocoder_training.gan_losses import GanLosses, MelLoss
from trainer.vocoder_training.gan_step import GanStep
from trainer.vocoder_training.predicted_mels import STATE, PredictedMels, PredictedMelsInfo, mel_path
from trainer.vocoder_training.train import MAX_SKIPPED, _identity

CONFIG = "configs/vocoder_sample.yaml"
STEPS, KILLED = 24, 15  # logged losses, with those of validations
PRETRAINED = 6  # steps before the discriminators'
OVERRIDES = (
    *(f"steps={STEPS}", f"pretrain_mel_steps={PRETRAINED}", "log_every=1"),
    *("validate_every=8", "checkpoint_every=5", "xla=false"),
)
ENVIRONMENT = {"COLUMNS": "200"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    overrides = ["mel_dtype=none", "max_rejected_fraction=1", "validation_fraction=0.1"]
    return built(tmp_path_factory.mktemp("recordings") / "data", overrides=overrides)


def start(recordings: Path, run: Path, *overrides: str) -> subprocess.Popen[str]:
    words = ["vocoder", "train", CONFIG, *OVERRIDES, *overrides, "--data", str(recordings), "--run", str(run)]
    return begin([program("myxtts-train"), *words], environment=ENVIRONMENT)


@pytest.fixture(scope="module")
def finished(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run."""
    run = tmp_path_factory.mktemp("vocoder") / "run"
    ended = end(start(recordings, run), within_s=600)
    assert ended.code == 0, ended.err
    assert re.search(rf"{run}/vocoder.safetensors: step {STEPS}, mel distance .* sounds: {run}/summary.html", ended.out)
    return run


def wait_for(count: int, *, run: Path, process: subprocess.Popen[str]) -> None:
    """Wait until so many losses are logged."""
    while process.poll() is None and not ((run / "metrics.jsonl").exists() and len(losses(run)) >= count):
        time.sleep(0.01)


def losses(run: Path) -> dict[tuple[str, int], float]:
    return {(kind, row["step"]): row["loss"] for kind in ("train", "validation") for row in rows(run, kind=kind)}


def test_it_learns_from_validation_to_validation(finished: Path) -> None:
    found = [row["mel_distance_db"] for row in rows(finished, kind="validation")]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0] - 0.3
    steps = rows(finished, kind="train")
    assert [row["step"] for row in steps] == list(range(1, STEPS + 1))
    assert all({"adversarial", "feature", "discriminators"}.isdisjoint(row) for row in steps[:PRETRAINED])
    assert {"loss", "mel", "adversarial", "feature", "discriminators", "learning_rate", "stall"} <= steps[-1].keys()
    assert sum(row["skipped"] for row in steps) == 0
    assert sum(row["discriminators_skipped"] for row in steps[PRETRAINED:]) == 0
    assert steps[-1]["mel"] < steps[0]["mel"]


def test_the_page_of_a_run_has_its_sounds_and_settings(finished: Path) -> None:
    page = (finished / "summary.html").read_text(encoding="utf-8")
    (last,) = (row["mel_distance_db"] for row in rows(finished, kind="validation") if row["step"] == STEPS)
    distances = [float(one) for one in re.findall(r"mel distance ([\d.]+) dB", page)]
    assert len(distances) == page.count("<audio") / 2 == page.count('class="mels"') == 2
    assert np.mean(distances) == pytest.approx(last, rel=0.01)
    assert "<code>pretrain_mel_steps</code>" in page


def test_the_file_of_a_run_is_a_vocoder_with_the_averaged_weights(finished: Path) -> None:
    vocoder = Vocoder.load(finished / "vocoder.safetensors", spec=preset("hifigan-22k"))
    samples = vocoder(np.full([30, 80], -4.0, np.float32))
    assert samples.shape == (30 * 256,)
    assert np.abs(samples).max() > 0
    saved = safetensors.numpy.load_file(finished / "checkpoints" / "best.safetensors")
    (raw,) = (value for name, value in saved.items() if name.startswith("model/") and name.endswith("head.out/bias"))
    own = next(one for one in vocoder._generator.weights if one.path.endswith("head.out/bias")).numpy()
    averages = [value for name, value in saved.items() if "head.out/bias" in name and np.array_equal(value, own)]
    assert len(averages) == 1
    assert not np.array_equal(raw, own)


def test_a_run_that_goes_on_from_an_earlier_checkpoint_ends_as_if_undisturbed(
    recordings: Path, finished: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    for saved in list_checkpoints(run)[1:]:
        saved.path.unlink()
    check_end(recordings, run=run, finished=finished)


@pytest.mark.soak
def test_a_killed_run_ends_as_if_undisturbed(recordings: Path, finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(recordings, run)
    wait_for(KILLED, run=run, process=process)
    process.kill()
    _, err = process.communicate()
    assert process.returncode == -signal.SIGKILL, err
    check_end(recordings, run=run, finished=finished)


def check_end(recordings: Path, *, run: Path, finished: Path) -> None:
    """Resume a run, and compare its losses and its last checkpoint with an undisturbed one's, bit for bit."""
    first = list_checkpoints(run)[-1].step
    assert 0 < first < STEPS
    ended = end(start(recordings, run), within_s=600)
    assert ended.code == 0, ended.err
    assert f"resuming after step {first}," in ended.err
    assert losses(run) == losses(finished)
    one, other = (safetensors.numpy.load_file(list_checkpoints(each)[-1].path) for each in (run, finished))
    assert one.keys() == other.keys()
    assert [name for name, value in one.items() if value.tobytes() != other[name].tobytes()] == []


@pytest.mark.slow
def test_a_signal_saves_the_step_and_says_how_to_go_on(recordings: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(recordings, run, "steps=100000")
    wait_for(1, run=run, process=process)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, err
    last = list_checkpoints(run)[-1].step
    assert f"SIGTERM: stopped after step {last}, which is saved; run the same command again" in out + err


def write_mels(folder: Path, *, recordings: Path, louder: float) -> Path:
    """Write the mel of each recording, with another loudness in ln magnitude, as if a model had predicted it."""
    dataset, spec = Dataset.open(recordings), preset("hifigan-22k")
    for row in [row for split in ("train", "validation") for row in dataset.manifest(split).to_pylist()]:
        path = mel_path(folder, utterance_id=row["utterance_id"])
        path.parent.mkdir(parents=True, exist_ok=True)
        mel = log_mel(soundfile.read(row["audio_path"], dtype="float32")[0], spec=spec) + louder
        np.save(path, mel.astype(np.float16))
    info = PredictedMelsInfo(
        features=spec,
        run="run",
        checkpoint="step 1",
        checkpoint_sha256="0" * 64,
        dataset_sha256="0" * 64,
        is_finished=True,
    )
    write_json(folder / STATE, info)
    return folder


def test_a_fine_tuning_begins_with_the_weights_of_a_file(
    recordings: Path, finished: Path, command: Callable, tmp_path: Path
) -> None:
    """With a learning rate of nearly 0 and the recordings' own mels, the validation says what the file's run said."""
    mels, best = write_mels(tmp_path / "mels", recordings=recordings, louder=0.0), finished / "vocoder.safetensors"
    words = ["steps=1", "optimizer.learning_rate=1e-12", f"init_from={best}", f"mels={mels}", "xla=false"]
    outcome = command("vocoder", "train", CONFIG, *words, "--data", recordings, "--run", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    assert f"the generator begins with the weights of {best}" in outcome.err
    assert f"mels of {mels}" in outcome.err
    assert "fresh weights" not in outcome.err
    with safetensors.safe_open(tmp_path / "run" / "vocoder.safetensors", framework="numpy") as file:
        assert file.metadata()["licence"].startswith(f"that of {best} and that of the recordings")
    found, before = (rows(run, kind="validation")[-1]["mel_distance_db"] for run in (tmp_path / "run", finished))
    assert found == pytest.approx(before, abs=0.02)


def test_a_run_that_goes_on_with_other_mels_judges_its_vocoder_anew(
    recordings: Path, finished: Path, command: Callable, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    mels = write_mels(tmp_path / "mels", recordings=recordings, louder=1.0)
    words = [*OVERRIDES, f"steps={STEPS + 1}", f"mels={mels}", "optimizer.learning_rate=1e-12"]
    outcome = command("vocoder", "train", CONFIG, *words, "--data", recordings, "--run", run)
    assert outcome.code == 0, outcome.err
    assert "no best step and no plateau yet: validations are not comparable" in outcome.err
    with safetensors.safe_open(run / "vocoder.safetensors", framework="numpy") as file:
        assert file.metadata()["source"] == f"{run}, step {STEPS + 1}"


def test_in_validation_the_generator_gets_predicted_mels_and_is_compared_with_recordings(
    recordings: Path, tmp_path: Path
) -> None:
    folder, spec = write_mels(tmp_path / "mels", recordings=recordings, louder=2.0), preset("hifigan-22k")
    dataset = Dataset.open(recordings)
    validation = CopySynthesis(dataset, clips=2, mels=PredictedMels(folder, contract=dataset.info.contract))
    assert len(validation.clips) == 2
    for clip in validation.clips:
        np.testing.assert_allclose(clip.mel, log_mel(clip.samples, spec=spec), atol=1e-3)
        np.testing.assert_allclose(clip.input_mel, clip.mel + 2.0, atol=0.01)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["generator.num_layers=3"], "another generator than the config's; expected there: num_layers=2"),
        (["generator={kind: hifi-gan}"], "expected there: kind=vocos, "),
        (["mels=nowhere"], "nowhere/mels.json: cannot be read (No such file or directory); `make vocoder-mels` writes"),
        (["init_from=nowhere.safetensors"], "nowhere.safetensors: "),
    ],
)
def test_a_mistake_of_a_fine_tuning_is_one_line(
    recordings: Path, finished: Path, command: Callable, tmp_path: Path, words: list[str], message: str
) -> None:
    given = [*OVERRIDES, f"init_from={finished / 'vocoder.safetensors'}", *words]
    outcome = command("vocoder", "train", CONFIG, *given, "--data", recordings, "--run", tmp_path / "run")
    assert outcome.code == 2
    assert message in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["generator.dim=48"], "holds another generator or other discriminators; train into another RUN"),
        (["discriminators.periods=[5]"], "holds another generator or other discriminators"),
        (["optimizer.microbatches=2"], "a vocoder's batch is not divided; lower batch_size instead"),
        (["segment_frames=4000"], "clips of the split train have 4000 frames or more, and a batch takes 8"),
        (["generator.hop_length=300"], "generator: hop_samples is 300, the mels have 256"),
        (["generator.padding=center"], "generator: pad_samples is 512, the mels have 384"),
    ],
)
def test_a_mistake_is_one_line(
    recordings: Path, finished: Path, command: Callable, words: list[str], message: str
) -> None:
    before = json.loads((finished / "vocoder_run.json").read_text("utf-8"))
    given = [*OVERRIDES, *words, "--data", recordings, "--run", finished]
    outcome = command("vocoder", "train", CONFIG, *given)
    assert outcome.code == 2
    assert message in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err
    assert json.loads((finished / "vocoder_run.json").read_text("utf-8")) == before


def test_a_generator_of_other_frames_than_the_mels_is_refused() -> None:
    generator, centred = HiFiGanConfig(), PRESETS["vocos-24k"]
    check_frames(generator, spec=PRESETS["hifigan-22k"])
    with pytest.raises(ValueError, match="generator: pad_samples is 384, the mels have 512"):
        check_frames(generator, spec=centred)


def test_runs_on_mels_of_own_settings_are_told_apart_by_their_values() -> None:
    one, other = (feature_spec("hifigan-22k", mel=MelConfig(fmax_hz=fmax_hz)) for fmax_hz in (7000, 7600))
    assert one.name == other.name
    assert _identity(one) != _identity(other)
    assert _identity(PRESETS["hifigan-22k"]) == "hifigan-22k"  # as in runs of before


def test_steps_that_stay_non_finite_end_the_run_in_one_line(
    recordings: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GanOptimizer, "skipped_in_row", MAX_SKIPPED)
    outcome = command("vocoder", "train", CONFIG, *OVERRIDES, "--data", recordings, "--run", tmp_path / "run")
    assert outcome.code == 2
    assert (
        "not finite in 10 consecutive steps, up to step 1; the weights did not change" in outcome.err.splitlines()[-1]
    )


def random_segments() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    return {
        "mel": random.normal(-4.0, 2.0, (2, 16, 80)).astype(np.float32),
        "samples": (0.1 * random.normal(size=(2, 16 * 256))).astype(np.float32),
    }


def test_steps_without_discriminators_leave_them_as_they_are_and_follow_the_mel_loss() -> None:
    config, spec, segments = load_config(CONFIG, of=VocoderTrainConfig), preset("hifigan-22k"), random_segments()
    gan = Gan(config, spec=spec)
    losses = GanLosses(config.loss, spec=spec)
    step = GanStep(gan, GanOptimizer(config, gan=gan), losses=losses, xla=False)
    mel_loss = MelLoss(spec, resolutions=config.loss.mel_resolutions)
    before = [one.numpy() for one in gan.discriminator_variables]
    expected = mel_loss(gan.generator.call(segments["mel"]), segments["samples"])
    found = step(segments, with_discriminators=False)
    assert float(found["mel"]) == pytest.approx(float(expected), rel=1e-5)
    assert float(found["loss"]) == pytest.approx(config.loss.mel_weight * float(expected), rel=1e-5)
    later = [float(step(segments, with_discriminators=False)["mel"]) for _ in range(20)]
    assert later[-1] < 0.95 * float(expected)
    for old, one in zip(before, gan.discriminator_variables, strict=True):
        np.testing.assert_array_equal(one, old)


def test_a_compiled_step_is_the_step_of_the_graph() -> None:
    spec, segments, found = preset("hifigan-22k"), random_segments(), []
    for xla in (False, True):
        config = load_config(CONFIG, of=VocoderTrainConfig)
        keras.utils.set_random_seed(1)
        gan = Gan(config, spec=spec)
        step = GanStep(gan, GanOptimizer(config, gan=gan), losses=GanLosses(config.loss, spec=spec), xla=xla)
        found.append([{name: float(value) for name, value in step(segments).items()} for _ in range(3)])
        assert step.programs == 1
    for one, other in zip(*found, strict=True):
        for name, value in one.items():
            assert other[name] == pytest.approx(value, rel=2e-3, abs=1e-5), name
