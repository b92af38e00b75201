"""To train: the data opened for reading, the run held by one process, and the loop of the first host or of another."""

from __future__ import annotations

from pathlib import Path

from shared.locks import read_lock
from trainer.checkpoint.run_dir import prepare_run_info, training_lock, write_run_files
from trainer.config.train_config import TrainConfig
from trainer.data.dataset_checks import open_dataset
from trainer.distributed.collectives import Hosts
from trainer.training.follower import Followed, Follower
from trainer.training.trainer import FitResult, Trainer


def train(
    config: TrainConfig,
    *,
    data: Path,
    run: Path,
    allocator: str,
    break_lock: bool = False,
    hosts: Hosts | None = None,
) -> FitResult | Followed:
    """Train from the run's last checkpoint, or from fresh weights, to `config.steps`; nobody may write to the data.

    `allocator` says how memory is allocated; it goes into the log. `break_lock` where a process that trained in the
    run is known to be gone. Of several hosts the first alone reads and writes the run.

    Raises:
        UserError: data or run are not usable, another process writes to the data or trains in the run, losses are
            no numbers, or another host is gone.
        Interrupted: a signal asked for it; a checkpoint is written.
    """
    hosts = hosts or Hosts()
    with read_lock(data), hosts.translate_errors():
        dataset = open_dataset(data)
        if not hosts.is_chief:
            return Follower(config, dataset=dataset, run=run, hosts=hosts).follow()
        with training_lock(run, break_lock=break_lock):
            info = prepare_run_info(run, config=config, dataset=dataset)
            trainer = Trainer(config, dataset=dataset, run=run, info=info, hosts=hosts)
            notice = trainer.resume()
            write_run_files(run, info.model_copy(update={"devices": trainer.devices}), dataset=dataset)
            return trainer.train(allocator=allocator, notice=notice)
