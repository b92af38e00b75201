"""Reads the weights in a file that PyTorch before 1.6 saved, without PyTorch: no code in the file is run.

The file is a row of pickles: a number, a version, the sizes of types, the object, and the keys of its storages. The
values of each storage follow, behind their number. Source: torch/serialization.py of PyTorch 1.5, `_legacy_save`.
"""

from __future__ import annotations

import collections
import io
import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shared.errors import UserError

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
VERSION = 1001

# What reading a damaged file can raise.
_DAMAGES = (
    *(pickle.UnpicklingError, ValueError, TypeError, LookupError, AttributeError, EOFError),
    *(MemoryError, OverflowError, RecursionError),
)


class _Tensor(NamedTuple):
    """A tensor whose values are in a storage of float32."""

    storage: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(storage: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


class _Unpickler(pickle.Unpickler):
    """Knows what a file of weights needs, and no other class or function."""

    _KNOWN: ClassVar[dict[tuple[str, str], Any]] = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch", "FloatStorage"): "FloatStorage",
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name} in it, expected float32 weights alone")
        return self._KNOWN[module, name]

    def persistent_load(self, pid: Sequence[Any]) -> Any:
        key = pid[2]  # ("storage", type, key, device, number of values, …)
        if not isinstance(key, str):
            raise pickle.UnpicklingError("a storage without a name")
        return key


def read_weights(path: Path, *, key: str) -> dict[str, np.ndarray]:
    """The weights by name, float32.

    Args:
        key: of the saved dictionary, under which the weights are.

    Raises:
        UserError: the file cannot be read, is no such file, or is damaged.
    """
    try:
        file = io.BytesIO(path.read_bytes())
        if [_Unpickler(file).load(), _Unpickler(file).load()] != [MAGIC_NUMBER, VERSION]:
            raise pickle.UnpicklingError("another number at its start")
        _Unpickler(file).load()  # the sizes of types
        saved, keys = _Unpickler(file).load(), _Unpickler(file).load()
        storages = {storage: _values(file) for storage in keys}
        return {name: _array(one, storages) for name, one in saved[key].items()}
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except _DAMAGES as error:
        raise UserError(f"{path}: no weights that PyTorch saved, or damaged: {error}") from error


def _values(file: io.BytesIO) -> np.ndarray:
    """The values of the storage that comes next."""
    count = int.from_bytes(file.read(8), "little")
    data = file.read(4 * count)
    if len(data) != 4 * count:
        raise ValueError(f"{len(data)} bytes of {4 * count}")
    return np.frombuffer(data, "<f4")


def _array(tensor: _Tensor, storages: dict[str, np.ndarray]) -> np.ndarray:
    """The values of a tensor, checked to lie in its storage."""
    values = storages[tensor.storage][tensor.offset :]
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True))
    is_valid = min((*tensor.shape, *tensor.strides), default=1) >= 1 and tensor.offset >= 0
    if not is_valid or last >= len(values) or math.prod(tensor.shape) > len(values):
        raise ValueError(f"a tensor {tensor.shape} in a storage of {len(values)} values")
    return np.lib.stride_tricks.as_strided(values, tensor.shape, [4 * stride for stride in tensor.strides]).copy()
