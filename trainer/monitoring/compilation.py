"""What XLA is about to compile, said before it: it takes up to minutes for each shape of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainer.data.buckets import Bucket


class CompilationLogger:
    """Those of a session; the first batch of a shape is what has its program compiled."""

    def __init__(self, log: Callable[[str], object]):
        self._log = log
        self._begun: set[tuple[str, Bucket]] = set()

    def log_once(self, program: str, bucket: Bucket, *, of: Sequence[Bucket]) -> None:
        """Before a program, such as that of training, is called with a batch of a bucket, or with a part of it."""
        whole = next((one for one in of if one[1:] == bucket[1:]), bucket)
        if (program, whole) in self._begun:
            return
        self._begun.add((program, whole))
        number = sum((program, one) in self._begun for one in of)
        self._log(f"compiling {program}: shape {number} of {len(of)}, {whole} (clips×frames×tokens)")
