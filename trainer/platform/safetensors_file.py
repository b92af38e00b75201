"""Safetensors files with described contents: written at once, and checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pydantic
import safetensors
import safetensors.numpy

from shared.errors import UserError, writing
from shared.files import write_bytes

KINDS = ("F16", "F32", "F64")  # safetensors' names of numbers; NumPy has no others for weights and mels
Metadata = TypeVar("Metadata", bound=pydantic.BaseModel)


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], *, metadata: dict[str, str]) -> None:
    """Write arrays and what describes them.

    Raises:
        UserError: the file cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, safetensors.numpy.save(dict(tensors), metadata))


def read_tensors(
    path: Path, *, metadata: type[Metadata], max_bytes: int, what: str, advice: str
) -> tuple[Metadata, dict[str, np.ndarray]]:
    """Read the arrays of a file, and its metadata as a pydantic model.

    Args:
        what: what the file should be, such as "voice".
        advice: what the user can do about a file that is something else.

    Raises:
        UserError: the file cannot be read, is larger than `max_bytes`, or is something else.
    """
    try:
        if (size := path.stat().st_size) > max_bytes:
            raise UserError(f"{path}: {size:,} bytes; a {what} has at most {max_bytes:,}")
        with safetensors.safe_open(path, framework="numpy") as file:
            facts = metadata.model_validate(file.metadata() or {})
            names = sorted(file.keys())
            kinds = {name: file.get_slice(name).get_dtype() for name in names}
            if wrong := [name for name in names if kinds[name] not in KINDS]:
                expected = f"expected numbers of {', '.join(KINDS)}"
                raise UserError(
                    f"{path}: not a {what} ({wrong[0]} has numbers of {kinds[wrong[0]]}, {expected}); {advice}"
                )
            return facts, {name: file.get_tensor(name) for name in names}
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except pydantic.ValidationError as error:
        first = error.errors(include_input=False)[0]
        reason = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        raise UserError(f"{path}: not a {what} ({reason}); {advice}") from error
    except safetensors.SafetensorError as error:
        raise UserError(f"{path}: not a {what} ({str(error).splitlines()[0]}); {advice}") from error
