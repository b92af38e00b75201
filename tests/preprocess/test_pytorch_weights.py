"""Weights in PyTorch's older format: read value for value, and what a hostile file may not do."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preprocess.pytorch_weights import MAGIC_NUMBER, VERSION, read_weights
from shared.errors import UserError


class Global:
    """Stands for a class or function of another module in a pickle."""

    def __init__(self, name: str):
        self.name = name

    def __reduce__(self) -> str:
        return self.name


class Storage:
    """Stands for the values of tensors, which a file names by a key."""

    def __init__(self, key: str, count: int):
        self.key, self.count = key, count


class Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes references to storages and to PyTorch's names as PyTorch 1.5 does."""

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, Storage):
            return ("storage", Global("torch.FloatStorage"), obj.key, "cpu", obj.count, None)
        return None

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Global):
            module, _, name = obj.name.rpartition(".")
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        elif isinstance(obj, Tensor):
            arguments = (obj.storage, obj.offset, obj.shape, obj.strides, False, collections.OrderedDict())
            self.save(Global("torch._utils._rebuild_tensor_v2"))
            self.save(arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(obj, save_persistent_id)


class Tensor:
    def __init__(self, storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]):
        self.storage, self.offset, self.shape, self.strides = storage, offset, shape, strides


def saved(weights: dict[str, Any], values: dict[str, np.ndarray], *, version: int = VERSION) -> bytes:
    """A file as PyTorch 1.5 writes it."""
    file = io.BytesIO()
    for one in (MAGIC_NUMBER, version, {"little_endian": True}):
        pickle.dump(one, file, protocol=2)
    Pickler(file, protocol=2).dump({"state": collections.OrderedDict(weights), "step": 7})
    pickle.dump(list(values), file, protocol=2)
    for one in values.values():
        file.write(len(one).to_bytes(8, "little") + one.astype("<f4").tobytes())
    return file.getvalue()


@pytest.fixture
def whole() -> bytes:
    shared = Storage("b", 12)
    weights = {
        "row": Tensor(Storage("a", 3), 0, (3,), (1,)),
        "part": Tensor(shared, 2, (2, 3), (4, 1)),
        "turned": Tensor(shared, 0, (4, 3), (1, 4)),
        "one": Tensor(shared, 11, (), ()),
    }
    return saved(weights, {"b": np.arange(12.0), "a": np.array([1.5, -2, 3])})


def test_every_tensor_has_its_values(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "w.pt").write_bytes(whole)
    found = read_weights(tmp_path / "w.pt", key="state")
    grid = np.arange(12.0).reshape(3, 4)
    expected = {"row": [1.5, -2, 3], "part": grid[:2, 2:].tolist(), "turned": grid.T, "one": 11}
    expected["part"] = [[2, 3, 4], [6, 7, 8]]
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
        assert found[name].dtype == np.float32


def test_a_file_that_is_cut_off_or_changed_is_one_line(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(UserError, match=r"w\.pt: no weights that PyTorch saved, or damaged"):
            read_weights(path, key="state")
    chance = np.random.default_rng(3)
    huge = whole.index((12).to_bytes(8, "little")) + 7  # the number of a storage's values
    path.write_bytes(whole[:huge] + b"\x40" + whole[huge + 1 :])
    with pytest.raises(UserError, match="damaged"):
        read_weights(path, key="state")
    for _ in range(200):
        changed = bytearray(whole)
        changed[chance.integers(len(whole))] ^= 1 << chance.integers(8)
        path.write_bytes(changed)
        with contextlib.suppress(UserError):
            read_weights(path, key="state")


class Hostile:
    """Makes a folder where a pickle is read without care."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_code_in_a_file_is_not_run(tmp_path: Path) -> None:
    content = saved({"a": Hostile(tmp_path / "made")}, {"a": np.zeros(3)})
    (tmp_path / "w.pt").write_bytes(content)
    with pytest.raises(UserError, match=r"posix\.mkdir in it, expected float32 weights alone"):
        read_weights(tmp_path / "w.pt", key="state")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("weights", "version", "message"),
    [
        ({"a": Global("torch.DoubleStorage")}, VERSION, r"torch\.DoubleStorage in it"),
        ({}, 1002, "another number at its start"),
        ({"a": Tensor(Storage("a", 3), 1, (3,), (1,))}, VERSION, "a tensor .3,. in a storage of 2"),
        ({"a": Tensor(Storage("a", 3), 0, (1 << 40,), (0,))}, VERSION, "a tensor"),
        ({"a": Tensor(Storage("a", 3), 0, (2,), (-1,))}, VERSION, "a tensor"),
        ({"a": Tensor(Storage("a", 3), -2, (2,), (1,))}, VERSION, "a tensor"),
        ({"a": Tensor(Storage("a", 3), 0, (2, 2), (1, 1))}, VERSION, "a tensor"),
        ({"a": Tensor(Storage("x", 3), 0, (3,), (1,))}, VERSION, "'x'"),
    ],
)
def test_what_a_file_may_not_hold(weights: dict[str, Any], version: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "w.pt").write_bytes(saved(weights, {"a": np.zeros(3)}, version=version))
    with pytest.raises(UserError, match=message):
        read_weights(tmp_path / "w.pt", key="state")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"w\.pt: cannot be read \(No such file"):
        read_weights(tmp_path / "w.pt", key="state")
