"""The live view in terminals of several widths, and the lines without a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from trainer.config.loss_config import LossConfig
from trainer.monitoring.terminal import LOSS_TERMS, Terminal
from trainer.training.losses import loss_weights

TRAIN = {
    **{"loss": 5.4321, "mel": 2.5, "kl": 0.25, "flux": -0.85, "stop": 0.19, "guided_attention": 0.51},
    **{"gradient_norm": 1.42, "learning_rate": 1.5e-3, "applied": 1.0},
    **{
        "frames_per_second": 4451.6,
        "clips_per_second": 25.5,
        "steps_per_second": 1.0,
        "stall": 0.0067,
        "memory_mib": 1531.2,
    },
    **{"gpu0_utilisation": 97.0, "gpu0_memory_peak_mib": 40123.0, "gpu1_utilisation": 96.0},
    **{"gpu0_clock_mhz": 1755.0, "gpu0_pcie_received_mib_s": 812.0, "gpu0_pcie_sent_mib_s": 41.0},
}
VALIDATION = {
    **{"loss": 3.49, "mel": 3.19, "free_length_error": 0.12, "free_mel_distance_db": 9.87},
    **{"free_moves": 0.98, "free_ended": 0.5, "validation_s": 2.0},
}


def shown(*, terminal: bool, width: int = 80, values: dict = TRAIN) -> str:
    """What a run of 100 steps, a second each, has written at its 10th, a minute of compilation behind it."""
    out, now_s = io.StringIO(), 0.0
    console = Console(file=out, force_terminal=terminal, width=width, height=40, color_system=None)
    with Terminal(step=0, steps=100, validate_every=10, console=console, clock=lambda: now_s) as view:
        now_s += 60.0
        for step in range(1, 11):
            now_s += 1.0
            view.advance(step)
        view.show("train", step=10, values=values)
        view.show("validation", step=10, values=VALIDATION)
        view.log("a [line] above")
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_shows_everything_within_its_width(width: int) -> None:
    text = shown(terminal=True, width=width)
    last = text.split("\x1b[2K")[-1]
    plain = " ".join(last.split())
    for words in (
        *("loss 5.4321", "mel 2.500", "guided attention 0.510", "learning rate 1.50e-03", "4,452 frames/s"),
        *("stall 0.7%", "memory 1,531 MiB", "0: 97 % busy", "40,123 MiB", "1: 96 % busy", "loss 3.4900"),
        *("1755 MHz", "812 MiB/s in", "41 MiB/s out"),
        *("mel 9.9 dB off", "length 12% off", "attention moves on 98%", "ended 50%"),
    ):
        assert words in plain
    assert max(map(len, last.splitlines())) <= width
    if width >= 80:
        assert "10.0 %, 0:01:10 elapsed, 0:01:48 left" in plain  # nine validations of 2 s each to come


def test_without_a_terminal_there_are_whole_lines_without_control_codes() -> None:
    text = shown(terminal=False)
    assert "\x1b" not in text
    assert "\r" not in text
    lines = text.splitlines()
    assert lines[0].startswith("step 10 of 100, 0:01:30 left without validations: loss 5.4321, mel 2.500")
    assert lines[1].startswith("validation: step 10, loss 3.4900")
    assert lines[2:] == ["a [line] above"]


def test_lines_without_a_terminal_come_ten_seconds_apart() -> None:
    out, now_s = io.StringIO(), 0.0
    console = Console(file=out, force_terminal=False)
    with Terminal(step=0, steps=1000, validate_every=100, console=console, clock=lambda: now_s) as view:
        for step in range(100):
            now_s += 1.0
            view.show("train", step=step, values=TRAIN)
    assert len(out.getvalue().splitlines()) == 10


def test_every_term_of_the_loss_is_shown() -> None:
    assert sorted(LOSS_TERMS) == sorted(loss_weights(LossConfig(), step=None))


def test_metrics_without_rates_are_shown_alone() -> None:
    text = shown(terminal=False, values={"loss": 1.0, "mel": 0.5})
    assert text.startswith("step 10 of 100: loss 1.0000, mel 0.500")
    assert "frames/s" not in text


def test_during_compilation_the_view_says_so_instead_of_a_time_left_that_nobody_knows() -> None:
    message, out = "XLA compiles training: shape 1 of 2, 8×100×20 (clips×frames×tokens)", io.StringIO()
    console = Console(file=out, force_terminal=True, width=200, height=40, color_system=None)
    with Terminal(step=0, steps=100, validate_every=10, console=console, clock=lambda: 0.0) as view:
        view.log_status(message)
    last = out.getvalue().split("\x1b[2K")[-1]
    assert f"step 0 of 100 {message}, 0:00:00 elapsed" in re.sub(r"[━\s]+", " ", last)
    assert "%" not in last
    assert "unknown" not in out.getvalue()
    view.advance(1)
    with console.capture() as shown:
        console.print(view._render())
    assert "XLA" not in shown.get()
