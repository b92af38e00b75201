"""The training of a vocoder: steps, validation, checkpoints, and a vocoder file after each best validation."""

from __future__ import annotations

import dataclasses
import json
import statistics
from pathlib import Path
from typing import NamedTuple

import keras
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import CUSTOM, FeatureSpec
from shared.files import write_json
from shared.locks import read_lock
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.checkpoint.run_dir import training_lock
from trainer.checkpoint.run_state import FRESH_WEIGHTS, RunState
from trainer.config.vocoder_config import GeneratorConfig
from trainer.config.vocoder_train_config import VocoderTrainConfig
from trainer.data.dataset_checks import open_dataset
from trainer.evaluation.dtw import DB_PER_NEPER
from trainer.monitoring.interval_means import IntervalMeans
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.run_files import VOCODER_RUN_FILE
from trainer.monitoring.samples import as_int16
from trainer.monitoring.session import Session
from trainer.monitoring.vocoder_report import CopiedClip, VocoderRun, write_vocoder_report
from trainer.training.signals import Interrupted, SignalHandler
from trainer.vocoder.vocoder_file import VocoderInfo, check_frames, read_vocoder, refuse_other_mels, write_vocoder
from trainer.vocoder_training.copy_synthesis import CopySynthesis
from trainer.vocoder_training.gan import Gan, GanOptimizer
from trainer.vocoder_training.gan_losses import GanLosses
from trainer.vocoder_training.gan_step import GanStep
from trainer.vocoder_training.predicted_mels import PredictedMels
from trainer.vocoder_training.segments import SegmentStream

MAX_SKIPPED = 10  # consecutive steps that are not finite, before the run ends
VOCODER = "vocoder.safetensors"  # of the least mel distance
LAST_VOCODER = "vocoder-last.safetensors"  # discriminators improve the sound, often at a greater mel distance


class Fitted(NamedTuple):
    """How a training ended."""

    step: int
    vocoder: Path
    mel_distance_db: float | None  # of the last validation


def train_vocoder(config: VocoderTrainConfig, *, data: Path, run: Path, break_lock: bool = False) -> Fitted:
    """Train to `config.steps`, from the run's last checkpoint or from fresh weights.

    Args:
        data: a dataset with waveforms, or one without mels, whose recordings are read; locked against writers.
        run: folder of the run; created if absent.
        break_lock: train although the run is locked, because the process that held the lock is gone.

    Raises:
        UserError: dataset or run are unusable or locked by another process, or losses stay non-finite.
        Interrupted: a signal arrived; a checkpoint is written.
    """
    with read_lock(data), training_lock(run, break_lock=break_lock):
        dataset = open_dataset(data)
        return _Trainer(config, dataset=dataset, run=run).fit()


class _Trainer:
    def __init__(self, config: VocoderTrainConfig, *, dataset: Dataset, run: Path):
        self._config, self._run, self._spec = config, run, dataset.info.contract.features
        _check_generator(config.generator, spec=self._spec)
        mels = PredictedMels(Path(config.mels), contract=dataset.info.contract) if config.mels else None
        keras.utils.set_random_seed(config.seed)
        self._gan = Gan(config, spec=self._spec)
        self._origin = FRESH_WEIGHTS
        if config.init_from and not list_checkpoints(run):
            _init_from(Path(config.init_from), gan=self._gan, config=config.generator, spec=self._spec)
            self._origin = f"the generator begins with the weights of {config.init_from}"
        self._optimizer = GanOptimizer(config, gan=self._gan)
        self._stream = SegmentStream(
            dataset,
            split="train",
            segment_frames=config.segment_frames,
            segment_samples=self._segment_samples(),
            batch_size=config.batch_size,
            seed=config.seed,
            mels=mels,
        )
        self._validation = CopySynthesis(dataset, clips=config.validation_clips, mels=mels)
        losses = GanLosses(config.loss, spec=self._spec)
        self._step = GanStep(self._gan, self._optimizer, losses=losses, xla=config.xla)
        contract = json.dumps([_identity(self._spec), config.generator.model_dump()])
        self._state = RunState(
            run,
            model=self._gan,
            optimizer=self._optimizer,  # type: ignore[arg-type]  # of both networks
            contract=contract,
            max_to_keep=config.kept_checkpoints,
            order=self._stream.fingerprint,
            steps=config.steps,
            validation_fingerprint=json.dumps(_validation_facts(self._validation, dataset=dataset, mels=mels)),
        )
        self._distance_db: float | None = None
        self._about = VocoderRun(
            data=str(dataset.layout.root),
            features=self._spec.name,
            rate_hz=self._spec.sample_rate_hz,
            parameters=self._gan.generator.count_params(),
        )

    def _segment_samples(self) -> int:
        mel = tf.zeros([1, self._config.segment_frames, self._spec.n_mels])
        return int(self._gan.generator.call(mel).shape[1])

    def fit(self) -> Fitted:
        """Train to the end."""
        config = self._config
        _check_run(self._run, config=config)
        notice = self._state.resume(origin=self._origin)
        progress = self._state.progress
        logger = RunLogger(
            self._run, step=progress.step, steps=config.steps, validate_every=config.validate_every, xla=config.xla
        )
        gpus = len(tf.config.list_logical_devices("GPU"))
        with (
            self._state,
            logger,
            SignalHandler(logger.log, stop_point="after this step") as signals,
            Session(gpus=gpus, first_step=progress.step + 1) as session,
        ):
            logger.log(f"generator of {self._gan.generator.count_params():,} parameters; {notice}")
            if config.mels:
                logger.log(self._mels_line())
            if progress.step < config.steps:
                logger.log(f"{'XLA compiles or loads' if config.xla else 'TensorFlow traces'} the training step")
                self._run_steps(logger, signals, session)
            self._state.wait()
        return Fitted(self._state.progress.step, self._run / VOCODER, self._distance_db)

    def _mels_line(self) -> str:
        left_out = self._stream.clips_without_mel
        without = f"; {left_out:,} training clips have none there and are left out" if left_out else ""
        return f"mels of {self._config.mels}{without}"

    def _run_steps(self, logger: RunLogger, signals: SignalHandler, session: Session) -> None:
        config, state = self._config, self._state
        first, means = state.progress.step, IntervalMeans()
        counts = tf.constant([config.batch_size * config.segment_frames, config.batch_size], tf.float32)
        batches = session.timer.batches(self._stream.batches(first, log=logger.log))
        for step, segments in zip(range(first + 1, config.steps + 1), batches, strict=False):
            state.raise_write_error()
            programs = self._step.programs
            values = self._step(segments, with_discriminators=step > config.pretrain_mel_steps)
            session.timer.record_step(counts, compiled=self._step.programs > programs)
            means.record(step, values)
            state.advance(step, position=self._stream.position(step))
            logger.advance(step)
            if config.is_due(step, config.log_every) or step == config.pretrain_mel_steps:
                logger.log_metrics("train", step=step, values=means.take() | session.metrics())
                self._check_skipped(step)
            if signals.received or config.is_due(step, config.validate_every, config.checkpoint_every):
                with session.timer.exclude():
                    self._pause(step, logger=logger, signals=signals)

    def _pause(self, step: int, *, logger: RunLogger, signals: SignalHandler) -> None:
        """Validate, save and stop after a step, whichever is due."""
        config, state = self._config, self._state
        is_best = config.is_due(step, config.validate_every) and self._validate(step, logger=logger)
        if is_best or signals.received or config.is_due(step, config.checkpoint_every):
            state.save()
        if signals.received:
            state.wait()
            message = f"{self._run}: {signals.received.name}: stopped after step {step}, which is saved"
            raise Interrupted(f"{message}; run the same command again to continue", signal_number=signals.received)

    def _check_skipped(self, step: int) -> None:
        if (skipped := self._state.skipped_in_row) >= MAX_SKIPPED:
            raise UserError(
                f"{self._run}: loss or gradient not finite in {skipped} consecutive steps, up to step {step}; the "
                "weights did not change; lower optimizer.learning_rate and run the same command again"
            )

    def _validate(self, step: int, *, logger: RunLogger) -> bool:
        """Validate with the averaged weights, and write these as the last vocoder, and as the best one if they are."""
        with self._optimizer.generator.averaged():
            clips = self._validation.compare(self._gan.generator)
            self._distance_db = statistics.fmean(clip.mel_distance_db for clip in clips)
            loss = self._distance_db / DB_PER_NEPER
            logger.log_metrics("validation", step=step, values={"loss": loss, "mel_distance_db": self._distance_db})
            self._log_sounds(step, clips=clips, logger=logger)
            write_vocoder_report(self._run, config=self._config, about=self._about, step=step, clips=clips)
            self._write_vocoder(LAST_VOCODER, step=step)
            if is_best := self._state.record_validation(loss):
                self._write_vocoder(VOCODER, step=step)
        return is_best

    def _log_sounds(self, step: int, *, clips: list[CopiedClip], logger: RunLogger) -> None:
        rate_hz = self._spec.sample_rate_hz
        for number, clip in enumerate(clips):
            logger.log_audio(f"copy/{number}/vocoder", step=step, samples=as_int16(clip.sound), rate_hz=rate_hz)
            logger.log_audio(f"copy/{number}/recording", step=step, samples=as_int16(clip.recording), rate_hz=rate_hz)

    def _write_vocoder(self, name: str, *, step: int) -> None:
        origin = self._config.init_from
        info = VocoderInfo.make(
            self._config.generator,
            features=self._spec,
            source=f"{self._run}, step {step}{f', which began with {origin}' if origin else ''}",
            source_sha256="",
            licence=f"{f'that of {origin} and ' if origin else ''}that of the recordings it was trained on",
        )
        write_vocoder(self._run / name, self._gan.generator, info=info)


def _identity(spec: FeatureSpec) -> object:
    """What tells mels of different kinds apart: the name of a preset, or all values."""
    return dataclasses.asdict(spec) if spec.name == CUSTOM else spec.name


def _check_generator(config: GeneratorConfig, *, spec: FeatureSpec) -> None:
    """Raises UserError if the generator's frames are not those of the mels."""
    try:
        check_frames(config, spec=spec)
    except ValueError as error:
        raise UserError(str(error)) from error


def _init_from(path: Path, *, gan: Gan, config: GeneratorConfig, spec: FeatureSpec) -> None:
    """Give the generator the weights of a vocoder file.

    Raises:
        UserError: the file cannot be read, or is a vocoder with other settings or for other mels.
    """
    generator, info = read_vocoder(path)
    if info.generator != config:
        own, other = config.model_dump(), info.generator.model_dump()
        names = [name for name in {**own, **other} if own.get(name) != other.get(name)]
        pairs = [f"{name}={other[name]}" if name in other else f"no {name}" for name in names]
        raise UserError(f"{path}: another generator than the config's; expected there: {', '.join(pairs)}")
    refuse_other_mels(info.features, expected=spec, source=f"{path}: a vocoder for mels")
    for own_weight, weight in zip(gan.generator.weights, generator.weights, strict=True):
        own_weight.assign(weight)


def _validation_facts(validation: CopySynthesis, *, dataset: Dataset, mels: PredictedMels | None) -> list[object]:
    """What decides whether the mel distances of two validations compare."""
    contract = dataset.info.contract
    processing = [contract.processing.model_dump()] if contract.stores_waveforms else []  # recordings have none
    return [[clip.utterance_id for clip in validation.clips], mels and mels.info.checkpoint_sha256, *processing]


def _check_run(run: Path, *, config: VocoderTrainConfig) -> None:
    """Write the settings, or compare the networks with those of the run.

    Raises:
        UserError: the run is another one.
    """
    path, networks = run / VOCODER_RUN_FILE, {"generator", "discriminators"}
    if path.is_file() and list_checkpoints(run):
        before = VocoderTrainConfig.model_validate_json(path.read_text(encoding="utf-8"))
        if before.model_dump(include=networks) != config.model_dump(include=networks):
            raise UserError(f"{run}: holds another generator or other discriminators; train into another RUN")
    elif list_checkpoints(run):
        raise UserError(f"{run}: the run of another model; train into another RUN")
    write_json(path, config)
