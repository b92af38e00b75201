"""Every config that ships can be read, and says what it is for, what it costs and what to expect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.config import BuildConfig
from shared.config import CONFIG_KINDS, load_config
from shared.errors import UserError
from trainer.config.train_config import TrainConfig

CONFIGS = sorted(Path("configs").glob("*.yaml"))
COMMANDS = re.compile(r"^#   make (?:\S+=\S+ )*[a-z-]+", re.MULTILINE)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_is_valid_and_opens_with_its_command_its_cost_and_its_result(path: Path) -> None:
    head = path.read_text(encoding="utf-8").partition("\n\n")[0]
    assert COMMANDS.search(head)
    assert "\n# Cost: " in head
    assert "\n# Expect: " in head
    load_config(str(path), of=BuildConfig if path.stem.startswith("preprocess_") else TrainConfig, overrides=[])


def test_what_a_training_config_names_in_its_command_is_itself() -> None:
    for path in CONFIGS:
        named = re.findall(r"make train CONFIG=(\S+)", path.read_text(encoding="utf-8"))
        assert set(named) <= {str(path)}


def test_each_kind_of_config_is_known_by_keys_that_it_alone_has() -> None:
    data, training = CONFIG_KINDS
    assert data.keys <= BuildConfig.model_fields.keys() - TrainConfig.model_fields.keys()
    assert training.keys <= TrainConfig.model_fields.keys() - BuildConfig.model_fields.keys()
    assert {data.example, training.example} <= set(map(str, CONFIGS))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_for_the_other_command_is_named_as_such(path: Path) -> None:
    is_data = path.stem.startswith("preprocess_")
    found, command = ("data", "myxtts-data build") if is_data else ("training", "myxtts-train train")
    message = f"^{path}: this is a {found} config .* for `{command}` .*; expected a {'training' if is_data else 'data'}"
    with pytest.raises(UserError, match=message):
        load_config(str(path), of=TrainConfig if is_data else BuildConfig)
