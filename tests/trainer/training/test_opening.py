"""Training opens a dataset only if it is unchanged since its publication, and locks it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shared.config import load_config
from shared.dataset import Dataset
from shared.errors import UserError
from shared.locks import write_lock
from trainer.checkpoint.run_dir import training_lock
from trainer.config.train_config import TrainConfig
from trainer.data.dataset_checks import open_dataset
from trainer.training import train as training

CONFIG = load_config("configs/train_sample.yaml", of=TrainConfig)


def test_a_dataset_as_it_was_published_is_opened(data: Path) -> None:
    assert open_dataset(data) == Dataset.open(data)


def without_last_piece(path: Path) -> None:
    """Write a valid vocabulary with other token ids."""
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))[:-1]), encoding="utf-8")


def with_another_mean(path: Path) -> None:
    """Write a dataset.json with wrong mel features."""
    document = json.loads(path.read_text(encoding="utf-8"))
    document["mel"]["mean"][0] += 1.0
    path.write_text(json.dumps(document), encoding="utf-8")


def with_longer_clips(path: Path) -> None:
    """Write a valid manifest with wrong frame counts."""
    table = pq.read_table(path)
    place = table.schema.get_field_index("frames")
    frames = pc.add(table["frames"], pa.scalar(400, pa.int64()))
    pq.write_table(table.set_column(place, table.schema.field(place), frames), path)


@pytest.mark.parametrize(
    ("name", "spoil", "told"),
    [
        ("vocab.json", lambda path: path.write_text("{"), "not the file that was published"),
        ("vocab.json", without_last_piece, "not the file that was published"),
        ("vocab.json", Path.unlink, "cannot be read (No such file or directory)"),
        ("dataset.json", with_another_mean, "not the file that was published"),
        ("_SUCCESS", lambda path: path.write_text(""), "no sha256 of dataset.json in it"),
        ("manifest/*-train-*", with_longer_clips, "not the file that was published"),
        ("manifest/*-validation-*", lambda path: path.write_bytes(b"PAR1"), "not the file that was published"),
        ("manifest/*-train-*", lambda path: path.write_bytes(b""), "not the file that was published"),
        ("manifest/*-train-*", Path.unlink, "cannot be read (No such file or directory)"),
    ],
)
def test_a_dataset_that_is_not_described_as_it_was_published_is_not_trained_on(
    data: Path, tmp_path: Path, name: str, spoil: Callable[[Path], object], told: str
) -> None:
    copy = shutil.copytree(data, tmp_path / "data")
    path = next(copy.glob(name))
    spoil(path)
    with pytest.raises(UserError) as refused:
        open_dataset(copy)
    assert str(refused.value).startswith(f"{path}: {told}")
    assert str(refused.value).endswith(f"run `make validate DATA={copy}`, then `make repair DATA={copy}`")


def test_nobody_writes_to_a_dataset_while_a_training_reads_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(data, tmp_path / "data")

    class Trainer:
        devices = 1

        def __init__(self, *_: object, dataset: Dataset, **__: object):
            assert dataset.layout.root == copy

        def resume(self) -> str:
            return "as it was"

        def fit(self, **_: object) -> str:
            message = rf"^{copy}: another process reads this dataset, such as a training; wait for it, or end it$"
            with pytest.raises(UserError, match=message), write_lock(copy, command="build"):
                pass
            with pytest.raises(UserError, match=r"train of .* is writing here"):
                training_lock(tmp_path / "run", break_lock=False).__enter__()
            return "to the end"

    monkeypatch.setattr(training, "Trainer", Trainer)
    assert training.train(CONFIG, data=copy, run=tmp_path / "run", allocator="") == "to the end"
    with write_lock(copy, command="build"):
        pass


def test_no_training_begins_while_a_build_writes(data: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(data, tmp_path / "data")
    with write_lock(copy, command="build"), pytest.raises(UserError, match=r"build of .* is writing here; wait for it"):
        training.train(CONFIG, data=copy, run=tmp_path / "run", allocator="")
    assert not (tmp_path / "run").exists()
