"""Validation: the model as at synthesis, always with the same noise, all batches as if they were one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from tests.trainer import toy
from tests.trainer.batches import DEVICE, make_stream
from tests.trainer.events import steps_shown
from tests.trainer.models import perturbed_narrow, random_batch, teacher_force
from tests.trainer.vocoders import write_small_vocoder
from trainer.config.loss_config import LossConfig
from trainer.config.train_config import TrainConfig
from trainer.data.pipeline import Stream
from trainer.data.reference_length import ReferenceLength
from trainer.model.decoder import LOG_VARIANCE_RANGE, soft_clamp
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.plots import mel_comparison_image
from trainer.monitoring.samples import Sample
from trainer.training import validation
from trainer.training.incidents import IncidentLog
from trainer.training.synthesis_metrics import synthesis_metrics
from trainer.training.train_step import EvalOutput, EvalStep
from trainer.training.validation import Validation, ValidationOutcome, evaluate_batches

BATCH = random_batch(frames=[24, 17], token_counts=[6, 4], width=24, tokens=6)


def terms(*, seed: int = 1, **options: object) -> dict[str, float]:
    evaluated = EvalStep(perturbed_narrow(**options), losses=LossConfig(), seed=seed)(BATCH)
    return {name: float(term) for name, term in evaluated.terms.items()}


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
def test_evaluation_drops_the_pre_net_and_samples_but_nothing_that_is_dropped_in_training_alone() -> None:
    found = terms()
    assert terms() == found
    assert terms(dropout=0.5) == found
    assert terms(reference_dropout=0.9) == found
    assert terms(seed=2) != found
    without = teacher_force(perturbed_narrow(), BATCH, losses=LossConfig(), step=None, noise=None)[1]
    assert abs(found["mel"] - float(without["mel"])) > 1e-3


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
def test_the_losses_of_clips_do_not_depend_on_their_batches() -> None:
    """As they are on another number of devices, or after a bucket was reduced."""
    whole = random_batch(frames=[24, 17, 9, 16], token_counts=[10, 4, 7, 6], width=24, tokens=10)
    halves = [
        {name: value[:2] for name, value in whole.items()},
        {
            **{name: value[2:] for name, value in whole.items()},
            "mel": whole["mel"][2:, :16],
            "tokens": whole["tokens"][2:, :7],
        },
    ]
    step = EvalStep(perturbed_narrow(), losses=LossConfig(guided_attention={"weight": 0.0}), seed=1, xla=False)
    found, parts = step(whole), [step(half) for half in halves]
    assert found.terms.keys() >= {"mel", "kl", "flux", "stop"}
    for name, term in found.terms.items():
        total = sum(float(part.counts[name]) * float(part.terms[name]) for part in parts)
        assert float(found.counts[name]) * float(term) == pytest.approx(total, rel=1e-4), name


@pytest.mark.slow
@pytest.mark.usefixtures("op_by_op")
def test_evaluation_in_bfloat16_says_what_it_says_in_float32_within_a_percent_and_always_the_same() -> None:
    exact, rounded, again = (terms(precision=one) for one in ("float32", "bfloat16", "bfloat16"))
    assert rounded == pytest.approx(exact, rel=0.01)
    assert again == rounded != exact


@pytest.mark.slow
def test_validation_is_a_mean_over_things_and_not_over_batches() -> None:
    rng = np.random.default_rng(0)
    things = {name: [rng.uniform(size=size) for size in (3, 50, 1)] for name in ("mel", "kl", "flux", "stop")}
    things["guided_attention"] = [rng.uniform(size=size) for size in (7, 2, 5)]
    decoded = teacher_force(perturbed_narrow(), BATCH, losses=LossConfig(), step=None, noise=None)[0]
    evaluated = [
        EvalOutput(
            {name: tf.constant(each[number].mean()) for name, each in things.items()},
            {name: tf.constant(float(len(each[number]))) for name, each in things.items()},
            decoded,
        )
        for number in range(3)
    ]
    losses = LossConfig(kl=0.3)
    validated = evaluate_batches([BATCH] * 3, step=lambda _: evaluated.pop(), losses=losses)
    assert validated is not None
    means = {name: np.concatenate(each).mean() for name, each in things.items()}
    expected = {**means, "loss": means["mel"] + 0.3 * means["kl"] + 0.02 * means["flux"] + 0.5 * means["stop"]}
    assert validated.losses == pytest.approx(expected)
    assert evaluate_batches([], step=lambda _: evaluated.pop(), losses=losses) is None


@pytest.mark.slow
def test_batches_whose_clips_were_all_skipped_as_corrupt_are_no_picture_and_no_validation() -> None:
    decoded = teacher_force(perturbed_narrow(), BATCH, losses=LossConfig(), step=None, noise=None)[0]
    values = {name: tf.constant(1.0) for name in ("mel", "kl", "flux", "stop", "guided_attention")}
    nothing = EvalOutput(dict.fromkeys(values, tf.constant(0.0)), dict.fromkeys(values, tf.constant(0.0)), decoded)
    empty, half = ({**BATCH, "frames": tf.constant(frames)} for frames in ([0, 0], [0, 17]))

    def step(batch: dict) -> EvalOutput:
        return nothing if batch is empty else EvalOutput(values, values, decoded)

    assert evaluate_batches([empty], step=step, losses=LossConfig()) is None
    validated = evaluate_batches([empty, half], step=step, losses=LossConfig())
    assert validated is not None
    alone = evaluate_batches([half], step=step, losses=LossConfig())
    assert alone is not None
    assert validated.losses == alone.losses
    for name, picture in validated.images.items():
        np.testing.assert_array_equal(picture, alone.images[name])
    second = BATCH["mel"][1, :17].numpy()
    target = validated.images["target_over_prediction"]
    np.testing.assert_array_equal(target, mel_comparison_image(second, np.asarray(decoded.mel[1, :17], np.float32)))


class Average:
    """An optimizer that records whether its EMA weights are in use."""

    is_in_use = False

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        self.is_in_use = True
        yield
        self.is_in_use = False


class Speech:
    """A substitute for SynthesisEval with given samples."""

    programs = 0

    def __init__(self, speak: Callable[[], list[Sample]]):
        self.synthesize, self.measure = speak, synthesis_metrics

    def collect_clips(self, batches: Iterator, *, stream: Stream) -> Iterator:
        return iter(batches)


def run(at: list[int], *, average: Average, dataset: Dataset, run: Path, **config: object) -> list[ValidationOutcome]:
    """Validate a toy model after each of the given steps."""
    outcomes: list[ValidationOutcome] = []
    stream, plan, _ = make_stream(dataset, buckets=1)
    held = Validation(
        toy.Toy(80),  # type: ignore[arg-type]
        average,  # type: ignore[arg-type]
        config=TrainConfig.model_validate(config),
        dataset=dataset,
        lengths=ReferenceLength.of(dataset, max_frames=None),
        run=run,
        incidents=IncidentLog(run),
    )
    with RunLogger(run, step=0, steps=10, validate_every=1) as monitor:
        for step in at:
            outcome = held.run(
                stream,
                buckets=plan.buckets,
                device=DEVICE,
                step=step,
                logger=monitor,
                log_reading=print,
                should_stop=lambda: False,
            )
            assert outcome.loss is not None
            outcomes.append(outcome)
    return outcomes


@pytest.mark.slow
def test_losses_and_speech_are_those_of_the_moving_average(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    average, seen = Average(), []

    class Watched(toy.EvalStep):
        def __call__(self, batch: dict) -> SimpleNamespace:
            seen.append(("judged", average.is_in_use))
            return super().__call__(batch)

    def speak() -> list[Sample]:
        seen.append(("spoken", average.is_in_use))
        return []

    monkeypatch.setattr(validation, "EvalStep", Watched)
    monkeypatch.setattr(validation, "SynthesisEval", lambda *_, **__: Speech(speak))
    (outcome,) = run([1000], average=average, dataset=dataset, run=tmp_path)
    assert outcome.score == outcome.loss
    assert {what for what, _ in seen} == {"judged", "spoken"}
    assert all(is_in_use for _, is_in_use in seen)
    assert not average.is_in_use


@pytest.mark.slow
def test_clips_are_synthesized_at_every_nth_validation_and_after_the_last_step(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mel, sound = np.arange(8.0 * 80).reshape(8, 80), np.zeros(256, np.int16)
    said = Sample("one", "Yes.", mel, mel, np.eye(2), np.True_, sound, sound)
    monkeypatch.setattr(validation, "EvalStep", toy.EvalStep)
    monkeypatch.setattr(validation, "SynthesisEval", lambda *_, **__: Speech(lambda: [said]))
    settings = {"steps": 50, "validate_every": 10, "synthesis_eval": {"every": 2, "best_by": "mel_distance_db"}}
    outcomes = run([10, 20, 30, 40, 50], average=Average(), dataset=dataset, run=tmp_path, **settings)
    alike = pytest.approx(0.0, abs=0.1)  # the distance of clips that equal their recordings
    assert [one.score for one in outcomes] == [None, alike, None, alike, alike]
    shown = steps_shown(tmp_path)
    assert shown["alignment"] == shown["target_over_prediction"] == shown["validation/mel"] == [10, 20, 30, 40, 50]
    spoken = {tag: steps for tag, steps in shown.items() if tag.startswith(("spoken/", "validation/free_"))}
    assert {tag.partition("/")[0] for tag in spoken} == {"spoken", "validation"}
    assert all(steps == [20, 40, 50] for steps in spoken.values())


@pytest.mark.slow
def test_a_score_that_no_clip_has_is_reported(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mel, sound = np.arange(8.0 * 80).reshape(8, 80), np.zeros(256, np.int16)
    said = Sample("one", "Yes.", mel, mel, np.eye(2), np.True_, sound, sound)
    monkeypatch.setattr(validation, "EvalStep", toy.EvalStep)
    monkeypatch.setattr(validation, "SynthesisEval", lambda *_, **__: Speech(lambda: [said]))
    asked = {"listener": "pocketsphinx", "best_by": "word_errors"}
    (outcome,) = run([1000], average=Average(), dataset=dataset, run=tmp_path, synthesis_eval=asked)
    assert outcome.score is None
    assert "no word_errors: the listener knows the language of no clip" in "".join(capsys.readouterr())


@pytest.mark.slow
def test_a_device_that_is_full_while_clips_are_spoken_costs_that_speech_alone(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    average = Average()

    def full() -> list[Sample]:
        assert average.is_in_use
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory while trying to allocate")

    monkeypatch.setattr(validation, "EvalStep", toy.EvalStep)
    monkeypatch.setattr(validation, "SynthesisEval", lambda *_, **__: Speech(full))
    run([20], average=average, dataset=dataset, run=tmp_path, steps=50, validate_every=20, synthesis_eval={"every": 1})
    assert not average.is_in_use
    row = json.loads((tmp_path / "incidents.jsonl").read_text(encoding="utf-8"))
    assert (row["kind"], row["step"], row["clips_spoken"]) == ("out of memory", 20, TrainConfig().synthesis_eval.clips)
    (judged,) = map(json.loads, (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    assert judged["loss"] > 0
    assert not [name for name in judged if name.startswith("free_")]


@pytest.mark.slow
def test_a_validation_is_another_by_what_makes_its_loss_and_by_its_clips_alone(
    dataset: Dataset, tmp_path: Path
) -> None:
    def validation_fingerprint(frames: int = 1500, max_frames: int = 800, **config: object) -> str:
        settings = TrainConfig.model_validate(config)
        _, plan, asked = make_stream(dataset, buckets=1, global_frames_per_batch=frames, max_frames=max_frames)
        stream = Stream(dataset, split="train", plan=plan, config=asked, seed=settings.seed)
        held = Validation(
            toy.Toy(80),  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            config=settings,
            dataset=dataset,
            lengths=ReferenceLength.of(dataset, max_frames=None),
            run=tmp_path,
            incidents=IncidentLog(tmp_path),
        )
        return held.validation_fingerprint(stream)

    usual = validation_fingerprint()
    for same in (
        validation_fingerprint(frames=1000),
        validation_fingerprint(loss={"adaptive": True, "guided_attention": {"weight": 1.0}}),
        validation_fingerprint(preset="basic"),
    ):
        assert same == usual
    for other in (
        validation_fingerprint(max_frames=300),
        validation_fingerprint(seed=3),
        validation_fingerprint(loss={"kl": 0.2}),
        validation_fingerprint(loss={"mel_kind": "huber"}),
        validation_fingerprint(model={"crop_frames": 33}),
        validation_fingerprint(synthesis_eval={"best_by": "mel_distance_db"}),
        validation_fingerprint(input={"reference": "other"}),
    ):
        assert other != usual
    file = str(write_small_vocoder(tmp_path / "vocoder.safetensors", features="hifigan-22k"))
    by_words = {"best_by": "word_errors", "listener": "pocketsphinx"}
    heard = [validation_fingerprint(synthesis_eval={**by_words, **more}) for more in ({}, {"vocoder": file})]
    assert heard[0] != heard[1]
    chunks = [validation_fingerprint(input={"reference": "mixed", "chunk_bytes": size}) for size in (1000, 2000)]
    assert chunks[0] != chunks[1]  # references are drawn within chunks


def test_a_log_variance_out_of_its_range_is_led_back_into_it() -> None:
    low, high = LOG_VARIANCE_RANGE
    values = tf.constant([-40.0, low - 1.0, -3.0, 0.0, 1.0, high + 1.0, 40.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        bent = soft_clamp(values, low, high)
    slopes = tape.gradient(bent, values).numpy()
    assert (bent.numpy() >= low).all()
    assert (bent.numpy() <= high).all()
    assert (np.diff(bent) >= 0).all()
    np.testing.assert_allclose(bent[2:5], values[2:5], atol=0.06)
    assert (slopes[1:-1] > 0.2).all()
