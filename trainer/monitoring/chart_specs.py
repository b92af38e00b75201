"""The charts of a run, in the sections of its page."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.monitoring.line_charts import ChartSpec, Row
from trainer.monitoring.terminal import LOSS_TERMS, VOCODER_LOSS_TERMS, gpu_indices


def _of_term(term: str) -> ChartSpec:
    title = term.upper() if term in ("kl", "stft") else term.replace("_", " ")
    lines = [("training", "train", term), ("validation", "validation", term)]
    return ChartSpec(title, "", lines, note="term of the loss")


LEARNING = (
    ChartSpec("Loss in training", "", [("training", "train", "loss")], note="includes guided attention"),
    ChartSpec("Loss in validation", "", [("validation", "validation", "loss")], note="without guided attention"),
    *map(_of_term, LOSS_TERMS),
)
VOCODER_LEARNING = (
    ChartSpec("Mel distance of validation clips", "dB", [("recording to vocoder", "validation", "mel_distance_db")]),
    ChartSpec("Loss of the generator", "", [("training", "train", "loss")], note="weighted sum of its terms"),
    *(_of_term(term) for term in ("mel", *VOCODER_LOSS_TERMS)),
    ChartSpec("Loss of the discriminators", "", [("training", "train", "discriminators")]),
)
SYNTHESIS = (
    ChartSpec("Synthesis: mel distance", "dB", [("after time warping", "validation", "free_mel_distance_db")]),
    ChartSpec(
        "Synthesis: mel cepstral distance",
        "dB",
        [("envelopes, without their level", "validation", "free_mel_cepstral_distance_db")],
    ),
    ChartSpec("Synthesis: error of the length", "%", [("length", "validation", "free_length_error")], factor=100.0),
    ChartSpec(
        "Synthesis: attention and end",
        "%",
        [("steps that move on", "validation", "free_moves"), ("clips that ended", "validation", "free_ended")],
        factor=100.0,
    ),
)
OPTIMIZATION = (
    ChartSpec("Learning rate", "", [("learning rate", "train", "learning_rate")]),
    ChartSpec(
        "Gradient norm",
        "",
        [("gradient norm", "train", "gradient_norm"), ("discriminators", "train", "discriminators_gradient_norm")],
        note="before clipping",
    ),
    ChartSpec("Loss scale", "", [("loss scale", "train", "loss_scale")], note="of float16"),
    ChartSpec(
        "Weights of the loss",
        "",
        [(term.replace("_", " "), "train", f"{term}_weight") for term in LOSS_TERMS],
        note="if they adapt",
    ),
)
SPEED = (
    ChartSpec("Speed", "frames/s", [("frames", "train", "frames_per_second")]),
    ChartSpec("Input stall", "%", [("stall", "train", "stall")], factor=100.0, note="time without a batch"),
    ChartSpec("Memory", "MiB", [("process", "train", "memory_mib")]),
    ChartSpec(
        "Busy cores", "", [("training", "train", "host_own_cores"), ("other programs", "train", "host_other_cores")]
    ),
    ChartSpec("Free memory", "MiB", [("machine", "train", "host_memory_free_mib")]),
)
_GPU_METRICS = (
    ("Memory of GPUs", "MiB", "memory_peak_mib"),
    ("Power of GPUs", "W", "power_w"),
    ("Clock of GPUs", "MHz", "clock_mhz"),
    ("Data to GPUs over PCIe", "MiB/s", "pcie_received_mib_s"),
    ("Data from GPUs over PCIe", "MiB/s", "pcie_sent_mib_s"),
    ("GPU utilisation", "%", "utilisation"),
)
_KNOWN_SYNTHESIS = {key for spec in SYNTHESIS for _, _, key in spec.metrics}


def synthesis_charts(rows: Sequence[Row]) -> list[ChartSpec]:
    """The charts of synthesized clips: the known metrics, then every other one that validation logged."""
    keys = {key for row in rows for key in row if key.startswith("free_")}
    others = sorted(keys - _KNOWN_SYNTHESIS)
    words = (key.removeprefix("free_").replace("_", " ") for key in others)
    return [
        *SYNTHESIS,
        *(
            ChartSpec(f"Synthesis: {name}", "", [(name, "validation", key)])
            for name, key in zip(words, others, strict=True)
        ),
    ]


def speed_charts(rows: Sequence[Row]) -> list[ChartSpec]:
    """The charts of speed and memory, with a line for each GPU."""
    indices = gpu_indices(key for row in rows for key in row)
    return [
        *SPEED,
        *(
            ChartSpec(title, unit, [(f"GPU {index}", "train", f"gpu{index}_{metric}") for index in indices])
            for title, unit, metric in _GPU_METRICS
        ),
    ]
