"""TensorFlow is imported without packages that nothing here asks Keras for; afterwards they can be imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainer.platform.tf_import import FOR_FIGURES, FOR_TABLES

PROGRAM = """
import sys
from trainer.platform.tf_setup import start_tensorflow

start_tensorflow(gpus="hidden", check_compiler=False)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
import matplotlib.pyplot, sklearn, keras, pandas, scipy.sparse, tensorflow
print(sklearn.__name__, matplotlib.pyplot.__name__, pandas.__name__, scipy.sparse.__name__)
print(keras.layers.Dense(2)(tensorflow.ones([1, 3])).shape)
"""


@pytest.mark.slow
def test_none_is_imported_with_tensorflow_and_all_can_be_afterwards() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    modules, names, shape = ended.stdout.splitlines()
    assert {"tensorflow", "keras"} <= set(modules.split())
    assert not {*FOR_FIGURES, *FOR_TABLES} & set(modules.split())
    assert (names, shape) == ("sklearn matplotlib.pyplot pandas scipy.sparse", "(1, 2)")


@pytest.mark.slow
def test_the_python_interface_leaves_keras_its_data_frames_and_the_collector_as_it_was() -> None:
    program = (
        "import gc, sys; gc.disable(); from trainer.speech.synthesizer import Synthesizer; "
        "print(sorted({'sklearn', 'matplotlib', 'pandas'} & sys.modules.keys()), gc.isenabled())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "['pandas'] False\n"
