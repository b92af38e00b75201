"""Measurements of one session of training: step times, statistics of GPUs and host, and their summary."""

from __future__ import annotations

import contextlib

from trainer.config.train_config import TrainConfig
from trainer.monitoring.bottlenecks import SessionLoad, find_bottlenecks
from trainer.monitoring.gpu_stats import GpuSampler
from trainer.monitoring.host_stats import HostMeter
from trainer.monitoring.input_verdict import assess_input, input_stats
from trainer.monitoring.step_timer import StepTimer, TimingWindow, merge_windows
from trainer.monitoring.summary import CompiledPrograms, Summary
from trainer.platform.process import Reading, bytes_read, resident_mib


class Session:
    """Times steps and samples GPUs while it is entered; a session lasts from a start of the command to its end."""

    def __init__(self, *, gpus: int, first_step: int = 1):
        """`gpus` is the number of GPUs that TensorFlow computes on."""
        self._first_step = first_step
        self.timer = StepTimer(asynchronous=gpus > 0)
        self._gpus, self._host = GpuSampler(used=gpus), HostMeter()
        self._windows: list[TimingWindow] = []
        self._read_before = bytes_read()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Session:
        self._stack.enter_context(self.timer)
        self._stack.enter_context(self._gpus)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def pop_gpu_problem(self) -> str | None:
        """Why GPUs are not, or no longer, sampled; None where that was returned already, or they are sampled."""
        return self._gpus.pop_problem()

    def reset_peak_memory(self) -> None:
        """Reset peak-memory statistics."""
        self._gpus.reset_peak_memory()

    def metrics(self) -> dict[str, float]:
        """Metrics since the last call, by name; waits for the device."""
        window = self.timer.read()
        self._windows.append(window)
        metrics = window.metrics()
        for gpu in self._gpus.pop_stats(window.excluded):
            metrics |= gpu.metrics()
        metrics |= self._host.read().metrics()
        memory_mib = resident_mib()
        return metrics if memory_mib is None else {**metrics, "memory_mib": memory_mib}

    def summarize(
        self,
        *,
        data: str,
        last_step: int,
        device: str,
        allocator: str,
        programs: CompiledPrograms,
        config: TrainConfig,
        padding: float,
        stores_mels: bool,
    ) -> Summary:
        """The summary of the session.

        Args:
            data: path of the dataset.
            allocator: the memory allocator, in words.
            padding: share of padding in the frames of an epoch's batches.
            stores_mels: False if mels are computed from recordings during training.
        """
        self.metrics()  # those after the last call belong to the session too
        whole, gpus = merge_windows(self._windows), self._gpus.session_stats()
        load = SessionLoad(
            whole,
            padding=padding,
            shapes=programs.shapes,
            host=self._host.total(),
            is_on_gpu=self.timer.asynchronous,
            gpus=gpus,
        )
        of_input = assess_input(input_stats(whole, self._reading()), config=config.input, stores_mels=stores_mels)
        return Summary(
            data=data,
            first_step=self._first_step,
            last_step=last_step,
            device=device,
            allocator=allocator,
            training_s=whole.seconds,
            first_batch_s=whole.excluded_s("first batch"),
            compilation_s=whole.excluded_s("compilation"),
            validation_s=whole.excluded_s("validation"),
            checkpoint_s=whole.excluded_s("checkpoint"),
            pause_s=whole.excluded_s("pause"),
            figures=whole.metrics(),
            gpus=gpus,
            memory_mib=resident_mib(),
            programs=programs,
            verdicts=(of_input, *map(str, find_bottlenecks(load, config=config))),
            excluded=whole.excluded,
        )

    def _reading(self) -> Reading | None:
        now = bytes_read()
        return now.since(self._read_before) if now and self._read_before else None
