"""What the doctor says of a machine that is to train."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest
import tensorflow as tf

from trainer import doctor


def driver(*names: str, is_there: bool = True) -> SimpleNamespace:
    """NVML of a machine with such cards, or without a driver."""

    def begin() -> None:
        if not is_there:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    return SimpleNamespace(
        NVMLError=pynvml.NVMLError,
        nvmlInit=begin,
        nvmlDeviceGetCount=lambda: len(names),
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: names[handle],
    )


def test_a_cpu_is_enough_and_is_told(command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_cards", list)
    outcome = command("doctor", "--run", tmp_path / "not" / "yet")
    assert outcome.code == 0, outcome.out
    marks = [line[:17].split(maxsplit=1) for line in outcome.out.splitlines()]
    assert [(mark, name.strip()) for mark, name in marks] == [
        ("ok", "TensorFlow"),
        ("ok", "GPU"),
        ("ok", "XLA"),
        ("ok", "precision"),
        ("ok", "disk for RUN"),
    ]
    assert "none: training computes on " in outcome.out
    assert not (tmp_path / "not").exists()


def test_a_card_that_tensorflow_does_not_see_and_a_full_disk_are_told_with_what_to_do(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = doctor._cards(driver("H100", "L4"))
    monkeypatch.setattr(doctor, "_cards", lambda: cards)
    monkeypatch.setattr("trainer.gpu.importlib.util.find_spec", lambda name: None)
    usage = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    outcome = command("doctor", "--run", tmp_path)
    assert outcome.code == 1
    assert "   GPU            TensorFlow does not see H100, L4: `make … GPU=1` adds CUDA's libraries" in outcome.out
    assert f"   disk for RUN   0.0 GiB free at {tmp_path}, wanted 2 or more; make room, or RUN=" in outcome.out


def test_a_machine_without_a_driver_has_no_cards() -> None:
    assert doctor._cards(driver(is_there=False)) == []


def test_an_xla_that_cannot_compile_is_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*_: object, **__: object) -> None:
        raise tf.errors.InternalError(None, None, "libdevice not found at ./libdevice.10.bc\nmore")

    monkeypatch.setattr(tf, "function", lambda *_, **__: refused)
    (found,) = (one for one in doctor.examine(tmp_path) if one.name == "XLA")
    assert found.trouble.startswith("cannot compile here (libdevice not found at ./libdevice.10.bc); xla=false")


def test_gpus_are_named_with_the_precisions_that_they_are_fast_in(monkeypatch: pytest.MonkeyPatch) -> None:
    details = {"device_name": "Tesla T4", "compute_capability": (7, 5)}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: details)
    assert doctor._gpus() == "Tesla T4"
    assert doctor._precisions() == "float32, float16"
