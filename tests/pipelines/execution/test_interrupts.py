"""Ctrl-C while a pipeline runs."""

from __future__ import annotations

import logging
import signal

import pytest

from pipelines.execution.interrupts import interrupts_recorded, is_interrupted


def test_what_workers_log_after_an_interrupt_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    """Beam logs the tracebacks of disconnected workers with the root logger."""
    with pytest.raises(KeyboardInterrupt), interrupts_recorded():
        signal.raise_signal(signal.SIGINT)
    logging.error("Error processing instruction 7: Channel closed prematurely")
    assert caplog.records == []
    with interrupts_recorded():
        logging.error("an error of the next pipeline")
    assert [record.getMessage() for record in caplog.records] == ["an error of the next pipeline"]


def test_what_a_program_has_set_for_interrupts_and_logging_is_left_as_it_was() -> None:
    before, caught = signal.getsignal(signal.SIGINT), list[int]()
    try:
        signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
        logging.disable(logging.WARNING)
        with interrupts_recorded():
            pass
        assert logging.root.manager.disable == logging.WARNING
        signal.raise_signal(signal.SIGINT)
        assert caught == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
        logging.disable(logging.NOTSET)


def test_a_handler_of_the_program_is_called_and_its_level_of_logging_comes_back() -> None:
    before, caught = signal.getsignal(signal.SIGINT), list[int]()
    try:
        signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
        logging.disable(logging.WARNING)
        with interrupts_recorded():
            signal.raise_signal(signal.SIGINT)
            assert caught == [signal.SIGINT]
            assert is_interrupted()
        with interrupts_recorded():
            assert logging.root.manager.disable == logging.WARNING
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a job of a script that was started with &
        with interrupts_recorded():
            signal.raise_signal(signal.SIGINT)
            assert not is_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
        logging.disable(logging.NOTSET)
