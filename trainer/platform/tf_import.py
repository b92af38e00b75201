"""Import TensorFlow and Keras without garbage collection, and without packages that Keras has only functions for.

Keras' wrappers of scikit-learn's estimators, and its galleries, then do without these packages in this process.
"""

from __future__ import annotations

import gc
import sys

# Keras imports them where they are installed: for its wrappers of scikit-learn's estimators, and for its galleries.
# Nothing here uses those. Of the 4.6 s that `import tensorflow` took, these two took 1.4 s.
OFFERED = ("matplotlib", "sklearn")


def import_tensorflow() -> None:
    """Import TensorFlow as if those packages were not installed; afterwards they can be imported as ever.

    Nothing happens if TensorFlow is imported already. No other thread may import those packages meanwhile.
    """
    if "tensorflow" in sys.modules:
        return
    was_enabled = gc.isenabled()
    hidden = [name for name in OFFERED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: ModuleNotFoundError
    gc.disable()  # modules are no garbage, and looking for some takes a quarter of the time
    try:
        import tensorflow  # noqa: F401
    finally:
        if was_enabled:
            gc.enable()
        for name in hidden:
            del sys.modules[name]
