"""Entry point of training: lock dataset and run, then train as the chief or as a worker."""

from __future__ import annotations

from pathlib import Path

from shared.locks import read_lock
from trainer.checkpoint.pretrained import prepare_run
from trainer.checkpoint.run_dir import training_lock, write_run_files
from trainer.config.train_config import TrainConfig
from trainer.data.dataset_checks import open_dataset
from trainer.distributed.collectives import Hosts
from trainer.training.trainer import FitResult, Trainer
from trainer.training.worker import Worker


def train(
    config: TrainConfig,
    *,
    data: Path,
    run: Path,
    allocator: str,
    break_lock: bool = False,
    hosts: Hosts | None = None,
) -> FitResult:
    """Train to `config.steps`, from the run's last checkpoint or from fresh weights.

    Only the chief of several hosts reads and writes the run's folder.

    Args:
        data: dataset; locked against writers while training.
        run: folder of the run; created if absent.
        allocator: how memory is allocated, for the log.
        break_lock: train although the run is locked, because the process that held the lock is gone.

    Raises:
        UserError: dataset or run are unusable or locked by another process, losses stay non-finite, or another host
            is gone.
        Interrupted: a signal arrived; a checkpoint is written.
    """
    hosts = hosts or Hosts()
    with read_lock(data), hosts.translate_errors():
        dataset = open_dataset(data)
        if not hosts.is_chief:
            steps = Worker(config, dataset=dataset, run=run, hosts=hosts).fit()
            return FitResult(steps, "see the chief host, which has the run")
        with training_lock(run, break_lock=break_lock):
            info = prepare_run(run, config=config, dataset=dataset)
            trainer = Trainer(config, dataset=dataset, run=run, info=info, hosts=hosts)
            notice = trainer.resume()
            write_run_files(run, info.model_copy(update={"devices": trainer.devices}), dataset=dataset)
            return trainer.fit(allocator=allocator, notice=notice)
