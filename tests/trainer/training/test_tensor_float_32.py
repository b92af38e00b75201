"""The setting `model.tensor_float_32` reaches the programs that XLA compiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from shared.dataset import Dataset
from trainer.checkpoint.run_dir import prepare_run_info
from trainer.config.train_config import TrainConfig
from trainer.distributed.collectives import Hosts
from trainer.training.components import TrainComponents


@pytest.fixture
def _as_before() -> Iterator[None]:
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    yield
    tf.config.experimental.enable_tensor_float_32_execution(before)


@pytest.mark.slow
@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize("is_on", [True, False])
def test_products_have_the_precision_that_is_asked_for(dataset: Dataset, tmp_path: Path, is_on: bool) -> None:
    """XLA's text of a program names the precision of a product only if the product may not be rounded."""
    config = TrainConfig.model_validate({"model": {"size": "pico", "tensor_float_32": is_on}})
    info = prepare_run_info(tmp_path, config=config, dataset=dataset)
    TrainComponents(config, dataset=dataset, run=tmp_path, info=info, hosts=Hosts())
    program = tf.function(lambda x: tf.matmul(x, x), jit_compile=True)
    text = program.experimental_get_compiler_ir(tf.ones([4, 4]))(stage="hlo")
    assert ("operand_precision={highest,highest}" in text) == (not is_on)
