"""TensorFlow is imported without packages that nothing here asks Keras for; afterwards they can be imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainer.platform.tf_import import OFFERED

PROGRAM = """
import sys
from trainer.platform.tf_setup import start_tensorflow

start_tensorflow(gpus="hidden", check_compiler=False)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
import matplotlib.pyplot, sklearn, keras, tensorflow
print(sklearn.__name__, matplotlib.pyplot.__name__, keras.layers.Dense(2)(tensorflow.ones([1, 3])).shape)
"""


@pytest.mark.slow
def test_neither_is_imported_with_tensorflow_and_both_can_be_afterwards() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    modules, after = ended.stdout.splitlines()
    assert {"tensorflow", "keras"} <= set(modules.split())
    assert not {*OFFERED} & set(modules.split())
    assert after == "sklearn matplotlib.pyplot (1, 2)"


@pytest.mark.slow
def test_the_synthesizer_of_the_python_interface_imports_neither_and_leaves_the_collector_as_it_was() -> None:
    program = (
        "import gc, sys; gc.disable(); from trainer.speech.synthesizer import Synthesizer; "
        "print(sorted({'sklearn', 'matplotlib'} & sys.modules.keys()), gc.isenabled())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[] False\n"
