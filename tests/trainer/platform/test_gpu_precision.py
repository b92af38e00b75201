"""Warnings about slow precisions, with simulated GPUs."""

from __future__ import annotations

import pytest
import tensorflow as tf

from trainer.platform.gpu_precision import slow_precision_warning


def said(precision: str, *cards: dict, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: list(cards))
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda card: card)
    return slow_precision_warning(precision)


def card(name: str, *capability: int) -> dict:
    return {"device_name": name, "compute_capability": capability}


@pytest.mark.parametrize(
    ("precision", "capability", "remedy"),
    [("bfloat16", (7, 5), "float16"), ("bfloat16", (6, 1), "float32"), ("float16", (6, 1), "float32")],
)
def test_a_precision_without_hardware_units_is_reported_with_a_faster_one(
    monkeypatch: pytest.MonkeyPatch, precision: str, capability: tuple[int, int], remedy: str
) -> None:
    told = str(said(precision, card("new", 9, 0), card("old", *capability), monkeypatch=monkeypatch))
    major, minor = capability
    assert told.startswith(f"GPU 1 (old): compute capability {major}.{minor} has no fast {precision}")
    assert f"model.precision={remedy}," in told


@pytest.mark.parametrize(
    ("precision", "cards"),
    [
        ("bfloat16", [card("new", 8, 0)]),
        ("float16", [card("old", 7, 0)]),
        ("float32", [card("old", 3, 5)]),
        ("bfloat16", [{}]),  # a driver that tells nothing
        ("bfloat16", []),
    ],
)
def test_otherwise_there_is_no_warning(monkeypatch: pytest.MonkeyPatch, precision: str, cards: list[dict]) -> None:
    assert said(precision, *cards, monkeypatch=monkeypatch) is None
