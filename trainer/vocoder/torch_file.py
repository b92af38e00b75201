"""Read the weights of PyTorch's files, without running code that a file may hold.

PyTorch is needed here only, and only for this.
"""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from shared.errors import UserError

MAX_BYTES = 4 << 30
SAFE_VERSION = (2, 6)  # before it `weights_only` could run code of a file (CVE-2025-32434)


def read_torch_weights(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by their names, in float32; those of the generator where it holds several networks.

    Raises:
        UserError: PyTorch is not installed or too old; the file cannot be read, is too large, or holds no weights.
    """
    torch = _import_torch()
    try:
        size = _checked_size(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: {_refusal(error)}") from error
    except (RuntimeError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise UserError(f"{path}: not a file of PyTorch's weights ({_first_line(error)})") from error
    loaded = loaded.get("generator", loaded) if isinstance(loaded, dict) else loaded
    if not isinstance(loaded, dict) or not loaded or not all(_is_plain(one, torch=torch) for one in loaded.values()):
        raise UserError(f"{path}: no weights of a generator; expected tensors by name, or `generator` with them")
    if (values := sum(value.numel() for value in loaded.values())) > size:  # a value has two bytes or more in a file
        raise UserError(f"{path}: {size:,} bytes for {values:,} values, several to the same bytes; expected weights")
    return {str(name): value.detach().float().numpy() for name, value in loaded.items()}


INSTALL = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise UserError(
            f"PyTorch is needed to read its files: `{INSTALL}` into this environment; only this command needs PyTorch, "
            "and its build for GPUs would replace files of TensorFlow"
        ) from error
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < SAFE_VERSION:
        raise UserError(
            f"PyTorch {torch.__version__} may run code that a file holds (CVE-2025-32434); "
            f"expected {'.'.join(map(str, SAFE_VERSION))} or newer: `{INSTALL} --upgrade`"
        )
    return torch


def _checked_size(path: Path) -> int:
    """The bytes of the contents, also of what an archive would unpack to; raises UserError if these are too many."""
    size = path.stat().st_size
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            size = max(size, sum(one.file_size for one in archive.infolist()))
    if size > MAX_BYTES:
        raise UserError(f"{path}: {size:,} bytes; a generator's weights have at most {MAX_BYTES:,}")
    return size


def _refusal(error: Exception) -> str:
    if "Unsupported global" in str(error) or "Weights only load failed" in str(error):
        return "not read, since it holds objects other than weights, which could run code; expected a state_dict"
    return f"not a file of PyTorch's weights ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _is_plain(value: Any, *, torch: Any) -> bool:
    """Whether it is a tensor that has as many values as its storage holds at most."""
    return (
        isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.layout == torch.strided
        and value.device.type == "cpu"  # those of the device "meta" have no values
        and value.numel() * value.element_size() <= value.untyped_storage().nbytes()
    )
