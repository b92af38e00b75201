"""Every config that ships can be read, and says what it is for, what it costs and what to expect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.config import BuildConfig
from shared.config import CONFIG_KINDS, load_config
from shared.errors import UserError
from trainer.config.train_config import TrainConfig
from trainer.config.vocoder_train_config import VocoderTrainConfig

CONFIGS = sorted(Path("configs").glob("*.yaml"))
COMMANDS = re.compile(r"^#   make (?:\S+=\S+ )*[a-z-]+", re.MULTILINE)


KINDS = {"preprocess": BuildConfig, "vocoder": VocoderTrainConfig}  # by the begin of the file's name; else TrainConfig
CLASSES = (BuildConfig, TrainConfig, VocoderTrainConfig)


def class_of(path: Path) -> type:
    return KINDS.get(path.stem.partition("_")[0], TrainConfig)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_is_valid_and_opens_with_its_command_its_cost_and_its_result(path: Path) -> None:
    head = path.read_text(encoding="utf-8").partition("\n\n")[0]
    assert COMMANDS.search(head)
    assert "\n# Cost: " in head
    assert "\n# Expect: " in head
    load_config(str(path), of=class_of(path), overrides=[])


def test_what_a_training_config_names_in_its_command_is_itself() -> None:
    for path in CONFIGS:
        named = re.findall(r"make (?:train|vocoder) CONFIG=(\S+)", path.read_text(encoding="utf-8"))
        assert set(named) <= {str(path)}


def test_each_kind_of_config_is_known_by_keys_that_it_alone_has() -> None:
    assert len(CONFIG_KINDS) == len(CLASSES)
    for kind, model in zip(CONFIG_KINDS, CLASSES, strict=True):
        others = {key for other in CLASSES if other is not model for key in other.model_fields}
        assert kind.keys <= model.model_fields.keys() - others
        assert class_of(Path(kind.example)) is model
        assert Path(kind.example) in CONFIGS


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_config_for_another_command_is_named_as_such(path: Path) -> None:
    kinds = dict(zip(CLASSES, CONFIG_KINDS, strict=True))
    own = kinds.pop(class_of(path))
    for model, kind in kinds.items():
        message = f"^{path}: this is {own.name} .* for {re.escape(own.command)}; expected {kind.name}"
        with pytest.raises(UserError, match=message):
            load_config(str(path), of=model)
