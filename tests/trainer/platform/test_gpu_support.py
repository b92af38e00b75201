"""Errors for GPUs that TensorFlow cannot compile for, with simulated GPUs."""

from __future__ import annotations

import pytest
import tensorflow as tf

from shared.errors import UserError
from trainer.platform.gpu_support import check_gpu_support


def check(built: str | None, *cards: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.sysconfig, "get_build_info", lambda: {"cuda_version": built} if built else {})
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: list(cards))
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda card: card)
    check_gpu_support()


def card(name: str, *capability: int) -> dict:
    return {"device_name": name, "compute_capability": capability}


@pytest.mark.parametrize("capability", [(10, 0), (12, 0)])
def test_a_gpu_newer_than_the_cuda_of_tensorflow_is_named_before_anything_is_compiled(
    capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError) as told:
        check("12.5.1", card("old", 9, 0), card("new", *capability), monkeypatch=monkeypatch)
    assert str(told.value).startswith("GPU 1 (new): ")
    assert f"cannot compile for compute capability {capability[0]}.{capability[1]};" in str(told.value)
    assert "built with CUDA 12.5.1" in str(told.value)


@pytest.mark.parametrize(
    ("built", "cards"),
    [
        ("12.5.1", [card("old", 9, 0), {}]),
        ("12.8.0", [card("new", 12, 0)]),
        ("13.0", [card("new", 12, 0)]),
        (None, [card("new", 12, 0)]),  # of a CPU alone
        ("12.5.1", []),
    ],
)
def test_supported_gpus_are_accepted(built: str | None, cards: list[dict], monkeypatch: pytest.MonkeyPatch) -> None:
    check(built, *cards, monkeypatch=monkeypatch)
