"""Importing this module imports TensorFlow as `import_tensorflow` does: in half the time of `import tensorflow`.

Modules that people import themselves import it first, before another module imports TensorFlow. Keras keeps data frames
and sparse matrices there: the process is not ours.
"""

from __future__ import annotations

from trainer.platform.tf_import import FOR_FIGURES, import_tensorflow

import_tensorflow(without=FOR_FIGURES)
