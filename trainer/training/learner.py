"""What learns in a run, on each of its hosts: model, optimizer and step, and the batches that they are fed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from shared.dataset import Dataset
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import named_variables
from trainer.checkpoint.run_dir import RunInfo, build_model
from trainer.config.train_config import TrainConfig
from trainer.data.buckets import Bucket
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import translate_oom
from trainer.distributed.devices import Batch, Devices
from trainer.optim.adamw import AdamW
from trainer.training.data_module import DataModule
from trainer.training.memory_probe import probe_memory
from trainer.training.train_step import TrainStep


class Learner:
    """The same on all hosts, which call its methods at the same places of their work."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo, hosts: Hosts):
        keras.utils.set_random_seed(config.seed)
        self._config, self._hosts = config, hosts
        self.devices = Devices(hosts)
        self.feed = DataModule(config, dataset=dataset, run=run, info=info, devices=self.devices.count)
        hosts.check_equal(self.feed.train.fingerprint, what="the order of batches")
        vocabulary = Vocabulary.load(dataset.layout.vocabulary)
        mel = dataset.info.mel
        with self.devices.scope():
            self.model = build_model(config, contract=dataset.info.contract, vocabulary=vocabulary)
            self.model.decoder.set_statistics(mean=list(mel.mean), std=list(mel.std))
            self.optimizer = AdamW(
                config.optimizer,
                steps=config.steps,
                variables=self.model.trainable_variables,
                scales_loss=config.model.precision == "float16",
            )
        self._step = TrainStep(
            self.model,
            self.optimizer,
            losses=config.loss,
            seed=config.seed,
            parts=config.optimizer.microbatches,
            strategy=self.devices.strategy,
            xla=config.xla,
        )

    @property
    def programs(self) -> int:
        """Shapes of which the step is compiled so far."""
        return self._step.programs

    @property
    def is_partly_done(self) -> bool:
        """Whether the last step ended amid its update: weights may be lost, or differ by device."""
        return self._step.is_updating

    @property
    def has_updated(self) -> bool:
        """Whether a step of this session came to its end."""
        return self._step.has_updated

    def train_on(self, batch: Batch) -> dict[str, tf.Tensor]:
        """The figures of a step.

        Raises:
            OutOfMemory: it did not fit, and may be partly done.
            UserError: another host is gone.
        """
        with self._hosts.translate_errors():
            return translate_oom(self._step, batch)

    def probe_memory(self, *, lower: Callable[[Bucket], object], announce: Callable[..., object]) -> None:
        """Where there is a GPU, or where it is asked for."""
        wanted = self._config.recovery.probe_memory
        if self.devices.gpus if wanted is None else wanted:
            probe_memory(
                self._step,
                feed=self.feed,
                devices=self.devices,
                state=named_variables(self.model, self.optimizer),
                frames_per_step=self._config.model.frames_per_step,
                lower=lower,
                announce=announce,
            )

    def share_state(self) -> None:
        """Have all hosts hold what the first one holds."""
        self._hosts.broadcast_variables(named_variables(self.model, self.optimizer).values())
