"""A running speech server for the tests, without a model: it speaks tones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.dataset import Dataset
from tests.trainer.server.serving import RunningServer, running
from trainer.server.settings import ServerSettings


@pytest.fixture
def server(dataset: Dataset, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """A server with default settings, or those that a test asks for."""
    settings = getattr(request, "param", ServerSettings())
    (tmp_path / "run").mkdir()
    with running(tmp_path / "run", contract=dataset.info.contract, settings=settings) as started:
        yield started
