"""XLA's flags on a machine with a GPU: those of the user go before ours. test_program_cache.py has XLA read them."""

from __future__ import annotations

import os

import pytest

from trainer.platform import tf_setup
from trainer.platform.gpu_autotuning import FLAGS, reduce_autotuning
from trainer.platform.visible_gpus import GpuModel


def test_the_flags_follow_those_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")
    reduce_autotuning()
    assert os.environ["XLA_FLAGS"].split() == list(FLAGS)
    reduce_autotuning()
    assert os.environ["XLA_FLAGS"].split() == list(FLAGS)
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=true --xla_other=1")
    reduce_autotuning()
    assert os.environ["XLA_FLAGS"].split() == ["--xla_gpu_enable_triton_gemm=true", "--xla_other=1", FLAGS[0]]
    monkeypatch.setenv("XLA_FLAGS", "flags of mine.txt")  # XLA reads the flags from this file
    reduce_autotuning()
    assert os.environ["XLA_FLAGS"] == "flags of mine.txt"


@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_only_a_visible_gpu_changes_the_flags(gpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = GpuModel("NVIDIA H200", driver="580.159")
    monkeypatch.setattr(tf_setup, "visible_models", lambda: [gpu] * gpus)
    monkeypatch.setenv("XLA_FLAGS", "")
    tf_setup._set_up_compiler(keep_programs=False, is_one_host=True)
    assert os.environ["XLA_FLAGS"].split() == (list(FLAGS) if gpus else [])


def test_once_tensorflow_is_imported_no_flag_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA reads its flags once."""
    monkeypatch.setattr(tf_setup, "visible_models", lambda: [GpuModel("NVIDIA H200", driver="580.159")])
    monkeypatch.setenv("XLA_FLAGS", "")
    tf_setup.start_tensorflow()
    assert os.environ["XLA_FLAGS"] == ""
