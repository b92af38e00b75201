"""Numbers in the names of traced functions: they follow from the name of a program, and none is given twice.

`test_program_cache.py` shows that a process that traces in another order finds its programs.
"""

from __future__ import annotations

import threading

import pytest
import tensorflow as tf
from tensorflow.python.framework import ops

from trainer.platform.trace_numbers import numbered_by


def number_of(function: str) -> int:
    """The number at the end of the name that TensorFlow gives to a function that is traced now."""
    with numbered_by(function):
        traced = tf.function(lambda x: x + 1.0, autograph=False).get_concrete_function(tf.TensorSpec([]))
    return int(tf.compat.as_str(traced.name).rsplit("_", 1)[1])


def test_tensorflow_takes_the_numbers_of_the_program_that_is_traced() -> None:
    assert tf.__version__.startswith("2.21."), "ops.uid is private: see whether this version still asks it"
    number, other = number_of("of numbers"), number_of("of others")
    assert number >= 1 << 60
    assert abs(other - number) > 1000
    assert number < number_of("of numbers") < number + 1000


def test_no_number_is_given_twice() -> None:
    given = []
    for program in ("a", "b", "a", "c", "a"):
        with numbered_by(program):
            given += [ops.uid() for _ in range(100)]
    assert len(set(given)) == len(given)


def test_outside_of_a_trace_and_in_other_threads_tensorflow_counts_as_before() -> None:
    found: list[int] = []
    before = ops.uid()
    with numbered_by("elsewhere"):
        thread = threading.Thread(target=lambda: found.append(ops.uid()))
        thread.start()
        thread.join()
        with numbered_by("within"):
            within = ops.uid()
        again = ops.uid()
    assert before < found[0] < ops.uid() < 1 << 60
    assert within >= 1 << 60
    assert again >= 1 << 60
    assert within != again


def test_a_trace_that_fails_gives_the_numbers_back_to_tensorflow() -> None:
    with pytest.raises(ValueError, match="no trace"), numbered_by("failing"):
        raise ValueError("no trace")
    assert ops.uid() < 1 << 60
