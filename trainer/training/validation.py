"""Validation: teacher-forced losses over the split that is not trained on, and some of its clips as they are spoken."""

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
from trainer.data.buckets import Bucket
from trainer.data.pipeline import Stream
from trainer.data.reference_length import Lengths
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
from trainer.training.synthesis_eval import SynthesisEval, synthesis_metrics
from trainer.training.train_step import Batch, EvalOutput, EvalStep


class Validation:
    """The validations of a run, by the moving average of the weights where there is one."""

    def __init__(
        self,
        model: XTTS,
        optimizer: AdamW,
        *,
        config: TrainConfig,
        dataset: Dataset,
        lengths: Lengths,
        run: Path,
        incidents: IncidentLog,
    ):
        self._optimizer, self._config, self._run, self._incidents = optimizer, config, run, incidents
        self._rate_hz = dataset.info.contract.features.sample_rate_hz
        self.evaluation = EvalStep(model, losses=config.loss, seed=config.seed, xla=config.xla)
        self.free_running = SynthesisEval(
            model, config=config.synthesis_eval, dataset=dataset, lengths=lengths, seed=config.seed, xla=config.xla
        )

    def run(
        self,
        stream: Stream,
        *,
        buckets: Sequence[Bucket],
        device: str,
        step: int,
        monitor: RunLogger,
        tell: Callable[[str], object],
        is_cut_short: Callable[[], bool],
    ) -> float | None:
        """The loss after a step, all else being shown; None without a clip, and where it is cut short.

        `tell` hears of corrupt records.

        Raises:
            OutOfMemory: a batch did not fit.
        """
        began_s, programs = time.monotonic(), self._programs

        def evaluate(batch: Batch) -> EvalOutput:
            monitor.log_compilation("validation", bucket_of(batch), of=buckets)
            return translate_oom(self.evaluation, batch)

        batches = translate_oom_in_input(stream.once(device=device, tell=tell))
        overheard = self.free_running.collect_clips(batches, stream=stream)
        heard = itertools.takewhile(lambda _: not is_cut_short(), overheard)
        with self._optimizer.averaged():
            validated = evaluate_batches(heard, step=evaluate, losses=self._config.loss)
        if validated is None or is_cut_short():
            return None
        values = validated.losses | self._speak(step, monitor=monitor)
        if self._programs == programs:
            values["validation_s"] = time.monotonic() - began_s
        monitor.log_metrics("validation", step=step, values=values)
        for name, image in validated.pictures.items():
            monitor.log_image(name, step=step, image=image)
        return validated.losses["loss"]

    def validation_fingerprint(self, stream: Stream) -> str:
        """A loss's terms, their weights after the last step, and the clips, as JSON: others give another loss."""
        config = self._config
        terms = config.loss.model_dump(exclude={"adaptive", "guided_attention"})
        return json.dumps([terms, config.model.crop_frames, stream.contents])

    @property
    def _programs(self) -> int:
        return self.evaluation.programs + self.free_running.programs

    def _speak(self, step: int, *, monitor: RunLogger) -> dict[str, float]:
        """Speak the clips that always are spoken, where it is time; how well that was done."""
        config = self._config
        if not config.is_due(step, config.validate_every * config.synthesis_eval.every):
            return {}
        if config.synthesis_eval.clips and not self.free_running.programs:
            monitor.log(f"compiling speech: {config.synthesis_eval.clips} clips")
        with self._optimizer.averaged():  # if there is no memory for that, weights are not to be trusted
            try:
                spoken = self.free_running.synthesize()
            except tf.errors.OpError as error:
                if not is_out_of_memory(error):
                    raise
                self._incidents.add("out of memory", step=step, clips_spoken=config.synthesis_eval.clips)
                monitor.log("out of memory while clips were spoken: left out this time; lower synthesis_eval.clips")
                return {}
        if not spoken:
            return {}
        samples = Samples(step, self._rate_hz, spoken)
        monitor.log_samples(samples)
        write_samples(samples, run=self._run)
        return synthesis_metrics(spoken)


class ValidationResult(NamedTuple):
    """Losses by name, and pictures by name with values in [0, 1]."""

    losses: dict[str, float]
    pictures: dict[str, np.ndarray]


def evaluate_batches(
    batches: Iterable[Batch], *, step: Callable[[Batch], EvalOutput], losses: LossConfig
) -> ValidationResult | None:
    """Losses over all batches as if they were one; None without a clip, as where all are corrupt and were skipped."""
    sums, counts, pictures = defaultdict[str, float](float), defaultdict[str, float](float), None
    for batch in batches:
        found = step(batch)
        for name, term in found.terms.items():
            sums[name] += float(found.counts[name]) * float(term)
            counts[name] += float(found.counts[name])
        rows = np.flatnonzero(batch["frames"])
        if pictures is None and len(rows):
            pictures = _pictures(batch, found.decoded, row=rows[0])
    if pictures is None:
        return None
    terms = {name: total / max(counts[name], 1.0) for name, total in sums.items()}
    loss = sum(float(weight) * terms[name] for name, weight in loss_weights(losses, step=None).items())
    return ValidationResult({"loss": loss, **terms}, pictures)


def _pictures(batch: Batch, decoded: Decoded, *, row: int) -> dict[str, np.ndarray]:
    """Of a batch's clip in a row."""
    frames, tokens = int(batch["frames"][row]), int(batch["token_counts"][row])
    r = decoded.mel.shape[1] // decoded.alignment.shape[1]
    target, predicted = (np.asarray(mel[row, :frames], np.float32) for mel in (batch["mel"], decoded.mel))
    return {
        "target_over_prediction": mel_comparison_image(target, predicted),
        "alignment": alignment_image(np.asarray(decoded.alignment[row])[: -(-frames // r), :tokens]),
    }
