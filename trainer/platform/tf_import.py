"""Import TensorFlow and Keras without garbage collection, and without packages that they only offer functions for.

Keras' wrappers of scikit-learn's estimators, its galleries, and what it does with data frames and sparse matrices then
are not there in this process.
"""

from __future__ import annotations

import gc
import sys

# Keras and TensorFlow import them where they are installed. Nothing here uses what they offer for them.
# Of the 7.2 s that `import tensorflow` takes where all are installed, FOR_FIGURES take 2.0 s and FOR_TABLES 0.5 s.
FOR_FIGURES = ("matplotlib", "sklearn")
FOR_TABLES = ("pandas", "scipy")


def import_tensorflow(*, without: tuple[str, ...] = FOR_FIGURES + FOR_TABLES) -> None:
    """Import TensorFlow as if those packages were not installed; afterwards they can be imported as ever.

    Nothing happens if TensorFlow is imported already. No other thread may import those packages meanwhile.
    """
    if "tensorflow" in sys.modules:
        return
    was_enabled = gc.isenabled()
    hidden = [name for name in without if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: ModuleNotFoundError
    gc.disable()  # modules are no garbage, and looking for some takes a quarter of the time
    try:
        import tensorflow  # noqa: F401
    finally:
        if was_enabled:
            gc.enable()
        for name in hidden:
            del sys.modules[name]
