"""Where the reference files are: corpora, golden arrays and NLLB's tokenizer, beside the project and not part of it."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# Tests fork. gRPC's handlers of a fork abort the child while another thread calls gRPC: 4 of 100 forks did.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# A shell starts what it runs in the background with ignored interrupts; tests send some.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no failure.
hypothesis.settings.register_profile(
    "patient", parent=hypothesis.settings(), deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True)
def interrupts_as_before() -> Iterator[None]:
    """After each test, Ctrl-C does again what Ctrl-C did: a command in this process changes that for good."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="session")
def reference(pytestconfig: pytest.Config) -> Path:
    """The folder `shared` beside the project's root."""
    folder = pytestconfig.rootpath.parent / "shared"
    if not (folder / "golden").is_dir():
        reason = f"{folder} is absent: its corpora, golden arrays and tokenizer do not ship with the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return folder


@pytest.fixture
def op_by_op() -> Iterator[None]:
    """Functions of TensorFlow neither traced nor compiled: a few steps take less time so."""
    import tensorflow as tf  # many tests do without

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
