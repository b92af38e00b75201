"""The numbers of the presets, written down once more, beside what is loaded and what the documentation says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from trainer.config.model_sizes import SIZES
from trainer.config.presets import Preset
from trainer.config.train_config import TrainConfig
from trainer.optim.plateau import PlateauState, watch_plateau

# peak of the learning rate and greatest norm of the gradients, by size
PEAKS = {
    "basic": dict.fromkeys(SIZES, (1e-5, 0.5)),
    "enhanced": {
        "pico": (3e-5, 0.5),
        "nano": (3e-5, 0.5),
        "tiny": (3e-5, 0.5),
        "small": (5e-5, 0.7),
        "normal": (8e-5, 0.8),
        "big": (8e-5, 0.8),
    },
    "plateau_breaker": dict.fromkeys(SIZES, (1.5e-5, 0.5)),
    "experimental": {
        "pico": (1.5e-3, 1.0),
        "nano": (1e-3, 1.0),
        "tiny": (2.5e-4, 1.0),
        "small": (1.9e-4, 1.0),
        "normal": (1.25e-4, 1.0),
        "big": (9.4e-5, 1.0),
    },
}


class Expected(NamedTuple):
    """Down from the peak, the same for all sizes: its kind, its numbers, in words, and whether plateaus are sought."""

    kind: str
    numbers: dict[str, float]
    words: str
    seeks_plateaus: bool = False


EXPECTED = {
    "basic": Expected("noam", {}, "Noam"),
    "enhanced": Expected("cosine_restarts", {"amplitude": 0.8}, "cosines with restarts, each at 0.8 of the one before"),
    "plateau_breaker": Expected("cosine", {"steps": 200_000}, "one cosine over 200,000 steps", seeks_plateaus=True),
    "experimental": Expected("trapezoid", {"cooldown": 0.2}, "constant, then down over the last fifth"),
}
DOCUMENTATION = Path("docs/optimization.md")


def loaded(preset: str, *, size: str) -> TrainConfig:
    return TrainConfig.model_validate({"preset": preset, "model": {"size": size}})


def messages() -> dict[str, list[str]]:
    """Rate, clipping and schedule of each preset in the documentation's table."""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE)
    return {preset: [cell.strip() for cell in cells.split("|")[:3]] for preset, cells in rows}


def paragraphs() -> str:
    """The documentation, each item of a list on one line."""
    return re.sub(r"\n +", " ", DOCUMENTATION.read_text(encoding="utf-8"))


def peaks_told(rates: str, clips: str) -> dict[str, tuple[float, float]]:
    """By size: "tiny 3e-5, small and big 5e-5" beside one norm for each of the two rates, or one for both.

    A rate alone is that of every size in the table of sizes.
    """
    groups = [one.rsplit(" ", 1) for one in rates.split(", ")]
    norms = clips.split(", ") if ", " in clips else [clips] * len(groups)
    found = {}
    for (*names, rate), norm in zip(groups, norms, strict=True):
        sizes = names[0].split(" and ") if names else SIZES
        found.update(dict.fromkeys(sizes, (float(rate), float(norm))))
    return found


def test_every_level_and_size_is_in_the_table_of_this_test() -> None:
    assert set(PEAKS) == set(EXPECTED) == set(get_args(Preset))
    assert all(set(by_size) == set(SIZES) for by_size in PEAKS.values())


@pytest.mark.parametrize("preset", PEAKS)
def test_a_preset_has_the_peak_the_clipping_and_the_way_down_that_it_is_known_for(preset: str) -> None:
    expected = EXPECTED[preset]
    for size, peak in PEAKS[preset].items():
        config = loaded(preset, size=size)
        assert (config.optimizer.learning_rate, config.optimizer.clip_norm) == peak, size
        schedule = config.optimizer.schedule.model_dump()
        assert {name: schedule.get(name) for name in ("kind", *expected.numbers)} == {
            "kind": expected.kind,
            **expected.numbers,
        }, size
        assert (config.plateau is not None) == expected.seeks_plateaus, size


def test_the_plateau_breaker_halves_the_rate_four_times_and_then_ends_the_run() -> None:
    """On a loss that never moves: after ten validations, and after two more and ten from then on."""
    config, state, found = loaded("plateau_breaker", size="normal").plateau, PlateauState(), {}
    for number in range(59):
        state, remedy = watch_plateau(state, 1.0, config=config)
        if remedy:
            found[number] = (remedy.kind, remedy.factor)
    assert found == dict.fromkeys([10, 22, 34, 46], ("lower", 0.5)) | {58: ("stop", 1.0)}


@pytest.mark.parametrize("preset", PEAKS)
def test_the_documentation_says_the_same_of_a_preset(preset: str) -> None:
    rates, clips, words = messages()[preset]
    by_size = peaks_told(rates, clips)
    assert by_size == {size: PEAKS[preset][size] for size in by_size}
    assert set(SIZES) - set(by_size) <= {"pico", "nano"}
    assert words == EXPECTED[preset].words


def test_the_documentation_names_the_levels_that_seek_plateaus() -> None:
    assert list(messages()) == list(PEAKS)
    (named,) = re.findall(r"^- `plateau`: .*?((?:`\w+`, )*`\w+`) has it on\.$", paragraphs(), re.MULTILINE)
    assert re.findall(r"\w+", named) == [preset for preset, expected in EXPECTED.items() if expected.seeks_plateaus]


def test_the_documentation_says_what_is_done_without_a_level() -> None:
    config = TrainConfig()
    assert "Without a preset: 3e-4, clipping at 1.0, one cosine to 5 % at the run's last step." in paragraphs()
    assert (config.optimizer.learning_rate, config.optimizer.clip_norm, config.plateau) == (3e-4, 1.0, None)
    expected = {"kind": "cosine", "steps": None, "final_fraction": 0.05}
    assert config.optimizer.schedule.model_dump() == expected
