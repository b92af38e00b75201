"""What the doctor says of a machine that is to train."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest
import tensorflow as tf

from shared.errors import UserError
from trainer.tools import doctor


def driver(*names: str, error: int | None = None) -> SimpleNamespace:
    """NVML of a machine with such cards, or with a driver that is absent or broken."""

    def begin() -> None:
        if error is not None:
            raise pynvml.NVMLError(error)

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
    monkeypatch.setattr("trainer.monitoring.gpu_stats.importlib.util.find_spec", lambda name: None)
    usage = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    outcome = command("doctor", "--run", tmp_path)
    assert outcome.code == 1
    assert "   GPU            TensorFlow does not see H100, L4: `make … GPU=1` adds CUDA's libraries" in outcome.out
    assert f"   disk for RUN   0.0 GiB free at {tmp_path}; expected 2 or more; make room, or RUN=" in outcome.out


def test_a_machine_without_a_driver_has_no_cards() -> None:
    assert doctor._cards(driver(error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)) == []


def test_a_driver_that_does_not_answer_is_trouble() -> None:
    with pytest.raises(UserError, match=r"driver does not answer .*version mismatch"):
        doctor._cards(driver(error=pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH))


def test_an_xla_that_cannot_compile_is_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*_: object, **__: object) -> None:
        raise tf.errors.InternalError(None, None, "libdevice not found at ./libdevice.10.bc\nmore")

    monkeypatch.setattr(tf, "function", lambda *_, **__: refused)
    (found,) = (one for one in doctor.check_environment(tmp_path) if one.name == "XLA")
    assert found.trouble.startswith("cannot compile here (libdevice not found at ./libdevice.10.bc); xla=false")


def test_what_xla_compiles_needs_more_than_a_product() -> None:
    """On a GPU a product alone is a library's; powers and logarithms need CUDA's libdevice."""
    program = tf.function(doctor._step_like, jit_compile=True)
    text = program.experimental_get_compiler_ir(tf.ones([8, 8]))(stage="hlo")
    for operation in ("dot(", "power(", "log-plus-one(", "exponential("):
        assert operation in text


def test_a_device_that_is_full_is_no_fault_of_xla(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "Out of memory while trying to allocate 1 GiB")

    monkeypatch.setattr(tf, "function", lambda *_, **__: full)
    (found,) = (one for one in doctor.check_environment(tmp_path) if one.name == "XLA")
    assert found.trouble.startswith("the device's memory is full")


def test_a_folder_that_cannot_be_looked_at_is_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def denied(place: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "disk_usage", denied)
    (found,) = (one for one in doctor.check_environment(tmp_path) if one.name == "disk for RUN")
    assert found.trouble == f"{tmp_path} cannot be examined (Permission denied); expected a folder of yours: RUN="


def test_gpus_are_named_with_the_precisions_that_they_are_fast_in(monkeypatch: pytest.MonkeyPatch) -> None:
    details = {"device_name": "Tesla T4", "compute_capability": (7, 5)}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: details)
    assert doctor._gpus() == "Tesla T4"
    assert doctor._precisions() == "float32, float16"


def test_a_card_that_cannot_be_compiled_for_is_trouble_and_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse() -> None:
        raise UserError("GPU 0 is too new")

    monkeypatch.setattr(doctor, "check_gpu_support", refuse)
    monkeypatch.setattr(tf, "function", None)
    (found,) = (one for one in doctor.check_environment(tmp_path) if one.name == "XLA")
    assert found.trouble == "GPU 0 is too new"


def test_the_command_looks_at_a_card_that_cannot_be_compiled_for_and_goes_on(
    command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise UserError("GPU 0 is too new")

    monkeypatch.setattr("trainer.platform.gpu_support.check_gpu_support", refuse)
    monkeypatch.setattr(doctor, "check_gpu_support", refuse)
    outcome = command("doctor", "--run", tmp_path)
    assert outcome.code == 1
    assert "XLA" in outcome.out
    assert "GPU 0 is too new" in outcome.out
    assert "disk for RUN" in outcome.out
