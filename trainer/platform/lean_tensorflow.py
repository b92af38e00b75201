"""Importing this module imports TensorFlow as `import_tensorflow` does: in half the time of `import tensorflow`.

Modules that people import themselves import it first, before another module imports TensorFlow.
"""

from __future__ import annotations

from trainer.platform.tf_import import import_tensorflow

import_tensorflow()
