"""One session of training, from its start or resumption to its last step: what it measures, and what that came to."""

from __future__ import annotations

import contextlib

from trainer.config.data_config import InputConfig
from trainer.monitoring.gpu_stats import GpuSampler
from trainer.monitoring.input_verdict import signs_of, verdict
from trainer.monitoring.step_timer import Stopwatch, Stretch, join
from trainer.monitoring.summary import Programs, Summary
from trainer.platform.process import Reading, bytes_read, resident_mib


class Session:
    """Holds the stopwatch of the steps and the sampler of the GPUs while it is entered."""

    def __init__(self, *, gpus: int, first_step: int = 1):
        """`gpus` that TensorFlow computes on."""
        self._first_step = first_step
        self.watch = Stopwatch(asynchronous=gpus > 0)
        self._gpus = GpuSampler(used=gpus)
        self._stretches: list[Stretch] = []
        self._read_before = bytes_read()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Session:
        self._stack.enter_context(self.watch)
        self._stack.enter_context(self._gpus)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def take_notice(self) -> str | None:
        """What there is to say about the measuring, once."""
        return self._gpus.take_notice()

    def forget_memory(self) -> None:
        """Tell of the GPUs' memory as if it had been used from now on only."""
        self._gpus.forget_memory()

    def figures(self) -> dict[str, float]:
        """What was measured since the last reading, by name; waits for the device."""
        stretch = self.watch.read()
        self._stretches.append(stretch)
        figures = stretch.figures()
        for use in self._gpus.read(stretch.apart):
            figures |= use.figures()
        memory_mib = resident_mib()
        return figures if memory_mib is None else {**figures, "memory_mib": memory_mib}

    def summarise(
        self,
        *,
        last_step: int,
        device: str,
        allocator: str,
        programs: Programs,
        config: InputConfig,
        stores_mels: bool,
    ) -> Summary:
        """What the session came to; `allocator` in words, `stores_mels` where they were not computed here."""
        self.figures()  # of what came after the last reading
        whole = join(self._stretches)
        return Summary(
            first_step=self._first_step,
            last_step=last_step,
            device=device,
            allocator=allocator,
            training_s=whole.seconds,
            first_batch_s=whole.apart_s("first batch"),
            compilation_s=whole.apart_s("compilation"),
            aside_s=whole.apart_s("aside"),
            figures=whole.figures(),
            gpus=self._gpus.totals(),
            memory_mib=resident_mib(),
            programs=programs,
            verdict=verdict(signs_of(whole, self._reading()), config=config, stores_mels=stores_mels),
            apart=whole.apart,
        )

    def _reading(self) -> Reading | None:
        now = bytes_read()
        return now.since(self._read_before) if now and self._read_before else None
