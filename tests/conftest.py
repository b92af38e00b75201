"""Where the reference files are: corpora, golden arrays and NLLB's tokenizer, beside the project and not part of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.trainer.background_work import run_in_background

# A busy machine is no failure.
hypothesis.settings.register_profile(
    "patient", parent=hypothesis.settings(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.fixture(scope="session")
def reference(pytestconfig: pytest.Config) -> Path:
    """The folder `shared` beside the project's root."""
    folder = pytestconfig.rootpath.parent / "shared"
    if not (folder / "golden").is_dir():
        reason = f"{folder} is absent: its corpora, golden arrays and tokenizer do not ship with the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return folder


@pytest.fixture(scope="session", autouse=True)
def background(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Any]]]:
    """Results of the work that runs in background processes, by the fixtures that return them."""
    requested = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    with run_in_background(requested, make_folder=tmp_path_factory.mktemp) as works:
        yield works


@pytest.fixture
def op_by_op() -> Iterator[None]:
    """Functions of TensorFlow neither traced nor compiled: a few steps take less time so."""
    import tensorflow as tf  # many tests do without

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
