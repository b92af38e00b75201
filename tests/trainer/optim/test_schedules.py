"""Learning rates over 200,000 steps, against formulas written down again in numpy."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import get_args

import keras
import matplotlib as mpl
import numpy as np
import pydantic
import pytest
import tensorflow as tf
import yaml

from shared.config import load_config
from shared.errors import UserError
from tests.bench.schedules import draw
from trainer.config.model_sizes import SIZES
from trainer.config.optim_config import OptimizerConfig
from trainer.config.presets import Preset, preset_settings
from trainer.config.schedule_config import Schedule
from trainer.config.train_config import TrainConfig
from trainer.optim.adamw import AdamW
from trainer.optim.schedules import scheduled_fraction

STEPS = 200_000
PRESETS = get_args(Preset)


def rates(config: OptimizerConfig, *, steps: int = STEPS, until: int | None = None) -> np.ndarray:
    numbers = tf.range(until or steps, dtype=tf.int64)
    fraction = scheduled_fraction(config.schedule, step=numbers, steps=steps, warmup_steps=config.warmup_steps)
    return config.learning_rate * fraction.numpy()


def schedule(**document: object) -> Schedule:
    return pydantic.TypeAdapter(Schedule).validate_python(document)


def in_numpy(config: OptimizerConfig, *, steps: int) -> np.ndarray:
    """The rate of each step, one by one, in Python's own floats."""
    peak, warmup, curve = config.learning_rate, config.warmup_steps, config.schedule
    found = []
    for step in range(steps):
        since, left = step - warmup, max(1, steps - warmup)
        if since < 0:
            found.append(peak * (step + 1) / warmup)
            continue
        match curve.kind:
            case "constant":
                share = 1.0
            case "noam":
                share = math.sqrt(max(1, warmup)) * (since + max(1, warmup)) ** -0.5
            case "cosine":
                progress = min(1.0, since / (curve.steps or left))
                share = curve.final_fraction + (1 - curve.final_fraction) * (1 + math.cos(math.pi * progress)) / 2
            case "cosine_restarts":
                cosine = (1 + math.cos(math.pi * (since % curve.steps) / curve.steps)) / 2
                share = (
                    curve.final_fraction
                    + (1 - curve.final_fraction) * curve.amplitude ** (since // curve.steps) * cosine
                )
            case "trapezoid":
                progress = max(0.0, (since / left - (1 - curve.cooldown)) / curve.cooldown)
                share = curve.final_fraction + (1 - curve.final_fraction) * (1 - math.sqrt(progress))
        found.append(peak * share)
    return np.array(found)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_presets_rate_is_finite_bounded_and_that_of_its_formula_for_200_000_steps(preset: str, size: str) -> None:
    config = TrainConfig.model_validate({"preset": preset, "model": {"size": size}}).optimizer
    drawn = rates(config)
    assert np.isfinite(drawn).all()
    assert (drawn > 0).all()
    assert drawn.max() <= config.learning_rate * (1 + 1e-6)
    np.testing.assert_allclose(drawn, in_numpy(config, steps=STEPS), rtol=2e-3, atol=1e-5 * config.learning_rate)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_presets_rate_stays_finite_long_after_its_last_step(preset: str) -> None:
    config = TrainConfig.model_validate({"preset": preset}).optimizer
    drawn = rates(config, steps=1_000, until=2_000_000)
    assert np.isfinite(drawn).all()
    assert (drawn >= 0).all()
    assert drawn.max() <= config.learning_rate * (1 + 1e-6)


def test_a_cosine_stays_at_its_foot_after_its_own_steps() -> None:
    config = OptimizerConfig(learning_rate=1.0, warmup_steps=5, schedule=schedule(kind="cosine", steps=100))
    found = rates(config, steps=1_000)
    np.testing.assert_allclose(found, in_numpy(config, steps=1_000), rtol=1e-4)
    np.testing.assert_allclose(found[105:], 0.05, rtol=1e-5)


def test_a_cooldown_stays_at_its_end_after_the_last_step() -> None:
    config = OptimizerConfig(learning_rate=1.0, warmup_steps=0, schedule=schedule(kind="trapezoid", final_fraction=0.1))
    np.testing.assert_allclose(rates(config, steps=50, until=500)[50:], 0.1, rtol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_rates_jump_at_restarts_alone(preset: str) -> None:
    """From step to step by no more than the warm-up's; the root of a cooldown is steep in its first steps."""
    config = TrainConfig.model_validate({"preset": preset, "model": {"size": "normal"}}).optimizer
    jumps = np.flatnonzero(np.abs(np.diff(rates(config))) > config.learning_rate / 500)
    expected = {"enhanced": 2_000 + 8_000 * np.arange(1, 25) - 1, "experimental": 160_400 + np.arange(2)}
    assert jumps.tolist() == list(expected.get(preset, []))
    if preset == "experimental":
        assert np.abs(np.diff(rates(config))).max() < 1.01 * config.learning_rate / math.sqrt(39_600)


def test_each_restart_begins_at_four_fifths_of_the_one_before() -> None:
    config = TrainConfig.model_validate({"preset": "enhanced"}).optimizer
    starts = rates(config)[2_000 + 8_000 * np.arange(20)] - 0.01 * config.learning_rate
    np.testing.assert_allclose(starts[1:] / starts[:-1], 0.8, rtol=1e-3)
    assert starts[0] == pytest.approx(0.99 * config.learning_rate)


def test_a_restart_stays_a_restart_after_a_million_steps() -> None:
    """7,000 is no power of two: a quotient of floats would round to the wrong side somewhere."""
    curve, numbers = schedule(kind="cosine_restarts", steps=7_000, amplitude=1.0), np.arange(1, 1_500) * 7_000
    at, before = (
        scheduled_fraction(curve, step=tf.constant(steps, tf.int64), steps=STEPS, warmup_steps=0).numpy()
        for steps in (numbers, numbers - 1)
    )
    np.testing.assert_allclose(at, 1.0)
    np.testing.assert_allclose(before, 0.01, atol=1e-4)


@pytest.mark.parametrize("kind", ["constant", "noam", "cosine", "cosine_restarts", "trapezoid"])
@pytest.mark.parametrize(("warmup_steps", "steps"), [(0, 10), (10, 10), (100, 10), (0, 1), (1, 1), (5, 17)])
def test_short_schedules_are_those_of_their_formulas(kind: str, warmup_steps: int, steps: int) -> None:
    config = OptimizerConfig(learning_rate=1e-3, warmup_steps=warmup_steps, schedule=schedule(kind=kind))
    np.testing.assert_allclose(rates(config, steps=steps), in_numpy(config, steps=steps), rtol=1e-4, atol=1e-9)


def test_the_compiled_optimizer_follows_its_schedule_and_begins_it_anew() -> None:
    config = TrainConfig.model_validate({"optimizer": {"warmup_steps": 3, "learning_rate": 0.5}}).optimizer
    weight = keras.Variable([1.0, 2.0])
    optimizer = AdamW(config, steps=20, variables=[weight])
    apply = tf.function(optimizer.apply, jit_compile=True)
    found = []
    for step in range(20):
        if step == 12:
            optimizer.restart_schedule()
        found.append(float(apply([tf.ones(2)], loss=tf.constant(1.0))["learning_rate"]))
    np.testing.assert_allclose(found[:12], in_numpy(config, steps=20)[:12], rtol=1e-5)
    np.testing.assert_allclose(found[12:], in_numpy(config, steps=8), rtol=1e-5)


def read(folder: Path, document: dict, *overrides: str) -> TrainConfig:
    path = folder / "train.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return load_config(path, of=TrainConfig, overrides=overrides)


def test_what_a_config_says_wins_over_its_level_field_by_field(tmp_path: Path) -> None:
    plain = read(tmp_path, {"preset": "enhanced", "model": {"size": "small"}}).optimizer
    assert (plain.learning_rate, plain.clip_norm, plain.schedule.steps) == (5e-5, 0.7, 7_000)
    document = {"preset": "enhanced", "model": {"size": "small"}, "optimizer": {"schedule": {"amplitude": 0.5}}}
    changed = read(tmp_path, document, "optimizer.clip_norm=0.6").optimizer
    expected = plain.schedule.model_copy(update={"amplitude": 0.5})
    assert changed == plain.model_copy(update={"clip_norm": 0.6, "schedule": expected})
    other = read(tmp_path, document | {"optimizer": {"schedule": {"kind": "constant"}}}).optimizer
    assert other == plain.model_copy(update={"schedule": schedule(kind="constant")})


@pytest.mark.parametrize("preset", get_args(Preset))
@pytest.mark.parametrize("path", sorted(Path("configs").glob("train_*.yaml")), ids=lambda path: path.stem)
def test_a_preset_that_is_asked_for_wins_over_what_the_config_says(path: Path, preset: Preset) -> None:
    given = load_config(path, of=TrainConfig)
    asked = load_config(path, of=TrainConfig, overrides=["optimizer.epsilon=1e-9", f"preset={preset}"])
    bare = TrainConfig.model_validate({"preset": preset, "model": {"size": given.model.size}})
    assert asked.preset == preset
    assert asked.optimizer.schedule.kind == bare.optimizer.schedule.kind
    messages = preset_settings(preset, size=given.model.size)
    for name in messages["optimizer"].keys() - {"schedule"}:
        assert getattr(asked.optimizer, name) == getattr(bare.optimizer, name) == messages["optimizer"][name]
    for name, value in messages["optimizer"]["schedule"].items():
        assert getattr(asked.optimizer.schedule, name) == value
    assert asked.plateau == (bare.plateau or given.plateau)
    assert asked.optimizer.epsilon == 1e-9
    assert (asked.steps, asked.model, asked.input) == (given.steps, given.model, given.input)


def test_other_words_win_over_a_preset_that_is_asked_for_wherever_they_stand(tmp_path: Path) -> None:
    document = {"preset": "enhanced", "model": {"size": "small"}, "optimizer": {"learning_rate": 1.0}}
    for words in (["optimizer.clip_norm=0.9", "preset=basic"], ["preset=basic", "optimizer.clip_norm=0.9"]):
        asked = read(tmp_path, document, *words)
        assert (asked.preset, asked.optimizer.learning_rate, asked.optimizer.clip_norm) == ("basic", 1e-5, 0.9)
    tiny = read(tmp_path, document, "preset=enhanced", "model.size=tiny").optimizer
    assert (tiny.learning_rate, tiny.clip_norm, tiny.schedule.steps) == (3e-5, 0.5, 6_000)
    plain = read(tmp_path, document, "preset=null")
    assert (plain.preset, plain.optimizer.learning_rate, plain.optimizer.clip_norm) == (None, 1.0, 1.0)


@pytest.mark.parametrize("preset", get_args(Preset))
@pytest.mark.parametrize("kind", ["constant", "cosine", "cosine_restarts", "noam", "trapezoid"])
def test_a_schedule_of_another_kind_than_that_of_a_preset_takes_nothing_of_it(
    tmp_path: Path, preset: Preset, kind: str
) -> None:
    messages = preset_settings(preset, size="tiny")["optimizer"]["schedule"]
    expected = schedule(**messages) if messages["kind"] == kind else schedule(kind=kind)
    for document in ({}, {"optimizer": {"schedule": {"kind": "cosine", "final_fraction": 0.2}}}):
        asked = read(
            tmp_path, document | {"model": {"size": "tiny"}}, f"preset={preset}", f"optimizer.schedule.kind={kind}"
        )
        assert asked.optimizer.schedule.kind == kind
        if not document or messages["kind"] != "cosine":
            assert asked.optimizer.schedule == expected


def test_a_config_that_was_written_down_with_its_level_reads_as_the_same() -> None:
    config = TrainConfig.model_validate({"preset": "basic", "optimizer": {"learning_rate": 0.5}})
    assert TrainConfig.model_validate_json(config.model_dump_json()) == config


def test_an_unknown_level_is_told_the_known_ones(tmp_path: Path) -> None:
    message = "preset: found 'fast'; expected one of basic, enhanced, plateau_breaker, experimental"
    with pytest.raises(UserError, match=message):
        read(tmp_path, {"preset": "fast"})


@pytest.mark.slow
def test_the_documentation_has_the_rates_drawn_as_they_are(tmp_path: Path) -> None:
    """Here byte for byte; elsewhere a processor's own cosine may move a point by what nobody sees."""
    with mpl.rc_context():
        draw(tmp_path / "schedules.svg")
    number = re.compile(r"(?<![\w.])-?\d+\.\d+")
    drawn, committed = (path.read_text("utf-8") for path in (tmp_path / "schedules.svg", Path("docs/schedules.svg")))
    assert number.sub("…", drawn) == number.sub("…", committed), "`make schedules` draws it anew"
    np.testing.assert_allclose(*(np.array(number.findall(one), float) for one in (drawn, committed)), atol=0.01)
