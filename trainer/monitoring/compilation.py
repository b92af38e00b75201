"""Log lines before XLA compiles a program, which may take minutes for each batch shape, or loads it from disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainer.data.bucket_types import Bucket
from trainer.platform.first_calls import caches_training_programs


class CompilationLogger:
    """Logs the first batch of each shape in a session: XLA compiles a program for it."""

    def __init__(self, log: Callable[[str], object], *, xla: bool = True):
        compiler = "XLA compiles or loads" if caches_training_programs() else "XLA compiles"
        self._log, self._compiler = log, compiler if xla else "TensorFlow traces"
        self._begun: set[tuple[str, Bucket]] = set()

    def log_once(self, program: str, bucket: Bucket, *, of: Sequence[Bucket]) -> None:
        """Log that a program is compiled or loaded, unless it was logged for this shape before.

        Args:
            program: its purpose, such as "training".
            bucket: the shape of the batch, or of a device's part of it.
            of: the shapes that the session may have.
        """
        whole = next((one for one in of if one[1:] == bucket[1:]), bucket)
        if (program, whole) in self._begun:
            return
        self._begun.add((program, whole))
        number = sum((program, one) in self._begun for one in of)
        self._log(f"{self._compiler} {program}: shape {number} of {len(of)}, {whole} (clips×frames×tokens)")
