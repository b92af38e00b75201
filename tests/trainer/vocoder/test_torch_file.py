"""Weights of PyTorch's files, read by PyTorch itself: `make soak` runs these tests in the environment of `make bench`,
which has it; it takes gigabytes."""

from __future__ import annotations

import collections
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shared.errors import UserError
from trainer.vocoder import torch_file
from trainer.vocoder.torch_file import read_torch_weights

pytestmark = [pytest.mark.soak, pytest.mark.torch]


@pytest.fixture(scope="module")
def torch() -> Any:
    import torch

    return torch


WEIGHTS = {
    "conv.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "conv.bias": np.array([1.5, -2.0], np.float32),
}


def tensors(torch: Any) -> dict[str, Any]:
    return collections.OrderedDict((name, torch.tensor(value)) for name, value in WEIGHTS.items())


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("is_nested", [True, False])
def test_weights_are_read_from_both_formats_and_from_among_other_networks(
    torch: Any, tmp_path: Path, is_zip: bool, is_nested: bool
) -> None:
    """PyTorch wrote other files before its version 1.6, as the first checkpoints of HiFi-GAN are."""
    saved = tensors(torch)
    content = {"generator": saved, "steps": 1000} if is_nested else saved
    torch.save(content, tmp_path / "g", _use_new_zipfile_serialization=is_zip)
    found = read_torch_weights(tmp_path / "g")
    assert found.keys() == WEIGHTS.keys()
    for name, value in WEIGHTS.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], value)


def test_weights_that_are_still_parameters_are_read(torch: Any, tmp_path: Path) -> None:
    torch.save({name: torch.nn.Parameter(one) for name, one in tensors(torch).items()}, tmp_path / "g")
    assert read_torch_weights(tmp_path / "g").keys() == WEIGHTS.keys()


def test_weights_in_half_precision_become_float32(torch: Any, tmp_path: Path) -> None:
    torch.save({name: one.to(torch.bfloat16) for name, one in tensors(torch).items()}, tmp_path / "g")
    assert {value.dtype for value in read_torch_weights(tmp_path / "g").values()} == {np.dtype(np.float32)}


class Harm:
    """Runs a command when it is unpickled."""

    def __init__(self, path: Path):
        self._path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self._path}",)


@pytest.mark.parametrize("how", ["zip", "old", "pickle"])
def test_code_in_a_file_is_not_run(torch: Any, tmp_path: Path, how: str) -> None:
    content, path = {"conv.bias": Harm(tmp_path / "harmed")}, tmp_path / "g"
    if how == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=how == "zip")
    with pytest.raises(UserError) as caught:
        read_torch_weights(path)
    assert str(caught.value).startswith(f"{path}: not read, since it holds objects other than weights"), caught.value
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "harmed").exists()


def test_files_that_hold_no_weights_are_refused_in_a_line(torch: Any, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    torch.save(tensors(torch), cut)
    cut.write_bytes(cut.read_bytes()[:-300])
    texts = {"empty": b"", "text": b"hello", "half": cut.read_bytes()[:100]}
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    for name, content in {"list": [1], "number": 3.0, "nothing": {}, "mixed": {"a": "b"}}.items():
        torch.save(content, tmp_path / name)
    torch.save({"a": torch.zeros(3, dtype=torch.int64)}, tmp_path / "integers")
    torch.save({"a": torch.zeros(3, device="meta")}, tmp_path / "meta")
    for name in ("cut", *texts, "list", "number", "nothing", "mixed", "integers", "meta", "none", "."):
        with pytest.raises(UserError) as caught:
            read_torch_weights(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: "), caught.value
        assert "\n" not in str(caught.value)


def test_a_small_file_cannot_fill_the_memory(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a tensor that repeats one value, or by an archive that is compressed."""
    torch.save({"a": torch.zeros(1, dtype=torch.float16).expand(1 << 40)}, tmp_path / "repeated")
    with pytest.raises(UserError, match="no weights of a generator"):
        read_torch_weights(tmp_path / "repeated")
    shared = torch.zeros(1 << 16, dtype=torch.float16)
    torch.save({f"a{place}": shared for place in range(50)}, tmp_path / "shared")
    with pytest.raises(UserError, match=r"shared: \d+,\d+ bytes for 3,276,800 values, several to the same bytes"):
        read_torch_weights(tmp_path / "shared")
    torch.save({"a": torch.zeros(1 << 20)}, tmp_path / "plain")
    with zipfile.ZipFile(tmp_path / "plain") as plain, zipfile.ZipFile(tmp_path / "packed", "w", 8) as packed:
        for one in plain.namelist():
            packed.writestr(one, plain.read(one))
    monkeypatch.setattr(torch_file, "MAX_BYTES", 1 << 20)
    assert (tmp_path / "packed").stat().st_size < 1 << 16
    with pytest.raises(UserError, match=r"packed: 4,\d+,\d+ bytes; a generator's weights have at most 1,048,576"):
        read_torch_weights(tmp_path / "packed")


def test_a_pytorch_that_runs_code_is_refused(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(UserError, match=r"PyTorch 2.5.1\+cpu may run code .* expected 2.6 or newer"):
        read_torch_weights(tmp_path / "g")
