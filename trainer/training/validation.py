"""Validation: teacher-forced losses over the validation split, and synthesis of some of its clips."""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from shared.dataset import Dataset
from trainer.config.loss_config import LossConfig
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.pipeline import Stream
from trainer.data.reference_length import ReferenceLength
from trainer.distributed.device_memory import bucket_of, translate_oom, translate_oom_in_input
from trainer.model.decoder import Decoded
from trainer.model.xtts import XTTS
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.plots import alignment_image, mel_comparison_image
from trainer.monitoring.samples import Samples, write_samples
from trainer.optim.adamw import AdamW
from trainer.platform.tf_errors import is_out_of_memory
from trainer.training.incidents import IncidentLog
from trainer.training.losses import loss_weights
from trainer.training.synthesis_eval import SynthesisEval
from trainer.training.train_step import Batch, EvalOutput, EvalStep

NOISE_VERSION = 2  # raise this with any change of what a clip's losses are drawn from


class Validation:
    """Runs the validations of a run, with the EMA weights if the run has them."""

    def __init__(
        self,
        model: XTTS,
        optimizer: AdamW,
        *,
        config: TrainConfig,
        dataset: Dataset,
        lengths: ReferenceLength,
        run: Path,
        incidents: IncidentLog,
    ):
        self._optimizer, self._config, self._run, self._incidents = optimizer, config, run, incidents
        self._rate_hz = dataset.info.contract.features.sample_rate_hz
        self.eval_step = EvalStep(model, losses=config.loss, seed=config.seed, xla=config.xla)
        self.synthesis = SynthesisEval(
            model, config=config.synthesis_eval, dataset=dataset, lengths=lengths, seed=config.seed, xla=config.xla
        )

    def run(
        self,
        stream: Stream,
        *,
        buckets: Sequence[Bucket],
        device: str,
        step: int,
        logger: RunLogger,
        log_reading: Callable[[str], object],
        should_stop: Callable[[], bool],
    ) -> ValidationOutcome:
        """Validate after step `step`, and log metrics, images and audio.

        Args:
            buckets: batch shapes of the stream, for the log.
            device: that computes.
            log_reading: receives a message for each corrupt record, and for each read that is tried again.
            should_stop: polled for each batch; True interrupts the validation.

        Returns:
            The loss and the score; none if there is no clip, or the validation was interrupted.

        Raises:
            OutOfMemory: a batch did not fit.
        """
        if not len(stream.sampled_rows):
            return ValidationOutcome()
        start_s, programs = time.monotonic(), self.programs

        def evaluate(batch: Batch) -> EvalOutput:
            logger.log_compilation("validation", bucket_of(batch), of=buckets)
            return translate_oom(self.eval_step, batch)

        batches = translate_oom_in_input(stream.once(device=device, log=log_reading))
        batches = self.synthesis.collect_clips(batches, stream=stream)
        batches = itertools.takewhile(lambda _: not should_stop(), batches)
        with self._optimizer.averaged():
            validated = evaluate_batches(batches, step=evaluate, losses=self._config.loss)
        if validated is None or should_stop():
            return ValidationOutcome()
        values = validated.losses | self._synthesize(step, logger=logger)
        if self.programs == programs:
            values["validation_s"] = time.monotonic() - start_s
        logger.log_metrics("validation", step=step, values=values)
        for name, image in validated.images.items():
            logger.log_image(name, step=step, image=image)
        best_by = self._config.synthesis_eval.best_by
        score = values.get("loss" if best_by == "loss" else f"free_{best_by}")
        if score is None and "free_ended" in values:
            logger.log(f"no {best_by}: the listener knows the language of no clip; no checkpoint becomes the best")
        return ValidationOutcome(values["loss"], score)

    def validation_fingerprint(self, stream: Stream) -> str:
        """Return everything that makes losses and scores comparable, as JSON: loss terms, weights, noise, clips, score.

        The seed draws the noise and the crops, and chooses the clips that are spoken. The default seed is left out, and
        the vocoder where there is none: older runs noted neither.
        """
        config = self._config
        terms = config.loss.model_dump(exclude={"adaptive", "guided_attention"})
        own = config.input.reference == "same"
        # references from other clips are drawn within chunks
        references = [] if own else [config.input.model_dump(include={"reference", "chunk_bytes"})]
        seed = [] if config.seed == TrainConfig.model_fields["seed"].default else [{"seed": config.seed}]
        facts = [NOISE_VERSION, terms, config.model.crop_frames, stream.contents]
        return json.dumps([*facts, *self._score_facts(), *references, *seed])

    def _score_facts(self) -> list[dict[str, object]]:
        """What makes scores comparable, where they are not the loss."""
        spoken = self._config.synthesis_eval
        names = {"clips", "listener", "best_by", *(["vocoder"] if spoken.vocoder else [])}
        return [] if spoken.best_by == "loss" else [spoken.model_dump(include=names)]

    @property
    def programs(self) -> int:
        """Number of programs compiled so far, for losses and for synthesis."""
        return self.eval_step.programs + self.synthesis.programs

    def _synthesize(self, step: int, *, logger: RunLogger) -> dict[str, float]:
        """Synthesize the evaluation clips if due, log them, and return their metrics."""
        config = self._config
        if not config.is_due(step, config.validate_every * config.synthesis_eval.every):
            return {}
        if config.synthesis_eval.clips and not self.synthesis.programs:
            logger.log(f"compiling speech synthesis: {config.synthesis_eval.clips} clips")
        with self._optimizer.averaged():  # running out of memory here may lose weights, so it must not be caught below
            try:
                synthesized = self.synthesis.synthesize()
            except tf.errors.OpError as error:
                if not is_out_of_memory(error):
                    raise
                self._incidents.add("out of memory", step=step, clips_spoken=config.synthesis_eval.clips)
                logger.log("out of memory while clips were synthesized: skipped this time; lower synthesis_eval.clips")
                return {}
        if not synthesized:
            return {}
        samples = Samples(step, self._rate_hz, synthesized)
        logger.log_samples(samples)
        write_samples(samples, run=self._run)
        return self.synthesis.measure(synthesized)


class ValidationOutcome(NamedTuple):
    """What a validation says of the model; None: the validation did not measure it."""

    loss: float | None = None
    score: float | None = None  # the value whose lowest makes the best checkpoint


class ValidationResult(NamedTuple):
    """Losses by name, and images by name with values in [0, 1]."""

    losses: dict[str, float]
    images: dict[str, np.ndarray]


def evaluate_batches(
    batches: Iterable[Batch], *, step: Callable[[Batch], EvalOutput], losses: LossConfig
) -> ValidationResult | None:
    """Return the losses over all batches as if they were one batch, or None if there is no valid clip."""
    sums, counts, images = defaultdict[str, float](float), defaultdict[str, float](float), None
    for batch in batches:
        found = step(batch)
        for name, term in found.terms.items():
            sums[name] += float(found.counts[name]) * float(term)
            counts[name] += float(found.counts[name])
        rows = np.flatnonzero(batch["frames"])
        if images is None and len(rows):
            images = _make_images(batch, found.decoded, row=rows[0])
    if images is None:
        return None
    terms = {name: total / max(counts[name], 1.0) for name, total in sums.items()}
    loss = sum(float(weight) * terms[name] for name, weight in loss_weights(losses, step=None).items())
    return ValidationResult({"loss": loss, **terms}, images)


def _make_images(batch: Batch, decoded: Decoded, *, row: int) -> dict[str, np.ndarray]:
    """Return images of one clip of a batch: target above prediction, and alignment."""
    frames, tokens = int(batch["frames"][row]), int(batch["token_counts"][row])
    r = decoded.mel.shape[1] // decoded.alignment.shape[1]
    target, predicted = (np.asarray(mel[row, :frames], np.float32) for mel in (batch["mel"], decoded.mel))
    return {
        "target_over_prediction": mel_comparison_image(target, predicted),
        "alignment": alignment_image(np.asarray(decoded.alignment[row])[: -(-frames // r), :tokens]),
    }
