"""Model, optimizer, training step, data and devices of a run: what every host of the run has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from shared.dataset import Dataset
from trainer.checkpoint.checkpoint import named_variables
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.checkpoint.pretrained import load_pretrained, open_pretrained
from trainer.checkpoint.run_dir import RunInfo, build_model, run_vocabulary
from trainer.checkpoint.run_state import FRESH_WEIGHTS
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import translate_oom
from trainer.distributed.devices import Batch, Devices
from trainer.optim.adamw import AdamW
from trainer.optim.part_rates import freeze, variable_factors
from trainer.training.data_module import DataModule
from trainer.training.memory_probe import probe_memory
from trainer.training.train_step import TrainStep


class TrainComponents:
    """The objects that a training step needs, the same on every host.

    All hosts call the methods in the same order: some methods run collective operations.
    """

    def __init__(self, config: TrainConfig, *, dataset: Dataset, run: Path, info: RunInfo, hosts: Hosts):
        keras.utils.set_random_seed(config.seed)
        self._config, self._hosts = config, hosts
        self.devices = Devices(hosts)
        vocabulary = run_vocabulary(info, dataset=dataset)
        self.data = DataModule(
            config, dataset=dataset, run=run, info=info, devices=self.devices.count, vocabulary=vocabulary
        )
        hosts.check_equal(self.data.train.fingerprint, what="the order of batches")
        mel = dataset.info.mel
        self.origin = FRESH_WEIGHTS
        with self.devices.scope():
            self.model = build_model(config, contract=dataset.info.contract, vocabulary=vocabulary)
            self.model.decoder.set_statistics(mean=list(mel.mean), std=list(mel.std))
            if config.init_from and hosts.is_chief and not list_checkpoints(run):  # other hosts get the chief's weights
                pretrained = open_pretrained(Path(config.init_from))
                self.origin = load_pretrained(pretrained, model=self.model, vocabulary=vocabulary)
            freeze(self.model, factors=config.rate_factors)
            self.optimizer = AdamW(
                config.optimizer,
                steps=config.steps,
                variables=self.model.trainable_variables,
                rate_factors=variable_factors(self.model, factors=config.rate_factors),
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
        """Number of batch shapes for which the training step is compiled so far."""
        return self._step.programs

    @property
    def is_mid_update(self) -> bool:
        """True if the last step failed during its update: weights may be lost, or differ between devices."""
        return self._step.is_updating

    @property
    def has_updated(self) -> bool:
        """True after the first complete step of this session."""
        return self._step.has_updated

    def train_on(self, batch: Batch) -> dict[str, tf.Tensor]:
        """Run one training step and return its metrics.

        Raises:
            OutOfMemory: the batch did not fit; the update may be partly done.
            UserError: another host is gone.
        """
        with self._hosts.translate_errors():
            return translate_oom(self._step, batch)

    def probe_memory(self, *, reduce: Callable[[Bucket], object], announce: Callable[..., object]) -> None:
        """Try the largest batches before training, by default only on GPUs; `reduce` lowers a bucket's batch size."""
        enabled = self._config.recovery.probe_memory
        if self.devices.gpus if enabled is None else enabled:
            probe_memory(
                self._step,
                data=self.data,
                devices=self.devices,
                variables=named_variables(self.model, self.optimizer),
                frames_per_step=self._config.model.frames_per_step,
                reduce=reduce,
                announce=announce,
            )

    def broadcast_state(self) -> None:
        """Copy the chief's weights and optimizer state to all hosts."""
        self._hosts.broadcast_variables(named_variables(self.model, self.optimizer).values())
