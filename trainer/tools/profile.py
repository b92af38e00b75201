"""`myxtts-train profile`: time and memory of each batch shape, and the speed of the input, before a run is started.

    each shape ── full batches: compiling, steps in a row, memory ──┐
    the input ─── real batches, taken as fast as they come ─────────┴─► Profile
    both together, recorded ──────────────────────────────────────────► OUT/plugins/profile

The weights that are trained here are discarded.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from trainer.checkpoint.checkpoint import copy_to_host, named_variables
from trainer.checkpoint.pretrained import prepare_run
from trainer.checkpoint.run_dir import run_vocabulary
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.data.plan import Plan
from trainer.data.position import Position
from trainer.distributed.collectives import Hosts
from trainer.distributed.device_memory import (
    OutOfMemory,
    full_batch,
    ignore_oom,
    translate_oom,
    translate_oom_in_input,
)
from trainer.distributed.devices import Batch, Devices
from trainer.tools.flops import step_flops
from trainer.tools.input_speed import input_over_steps
from trainer.training.components import TrainComponents
from trainer.training.data_module import DataModule
from trainer.training.memory_probe import restore_variables
from trainer.training.train_step import EvalStep


class NoShapeFits(UserError):
    """No batch shape fits into memory."""


MOST_RECORDED = 20  # steps; TensorBoard cuts longer recordings or takes minutes to open them


class ShapeCost(NamedTuple):
    """Costs of a batch shape, shared by all devices; only `batches` is known if it does not fit into memory."""

    bucket: Bucket
    batches: int  # in epoch 0
    fits: bool
    compile_s: float = (
        0.0  # the programs of training and, where there is anything to judge by in this shape, validation
    )
    step_s: float = 0.0  # mean of some in a row
    flops_per_s: float = 0.0  # by formula, of a full batch
    memory_mib: float | None = None  # most that steps have in use of the first GPU; None where there is none


class Profile(NamedTuple):
    """The measurements of all batch shapes and of the input."""

    devices: str
    device_count: int
    shapes: tuple[ShapeCost, ...]  # one or more fit into memory
    input_over_steps: float | None  # speed of the input relative to the steps; None if a batch does not fit
    steps: int  # of the run
    stores_mels: bool

    @property
    def compile_s(self) -> float:
        """Median compilation time of a shape."""
        return statistics.median(one.compile_s for one in self.shapes if one.fits)

    @property
    def frames_s(self) -> float:
        """Median over the shapes of the time for 1,000 padded frames."""
        costs = (1000 * one.step_s / (one.bucket.clips * one.bucket.frames) for one in self.shapes if one.fits)
        return statistics.median(costs)

    @property
    def batches(self) -> int:
        """Number of batches of epoch 0."""
        return sum(one.batches for one in self.shapes)

    @property
    def epoch_s(self) -> float | None:
        """Time of epoch 0, steps and waits for the input; None if a batch does not fit."""
        if self.input_over_steps is None:
            return None
        return sum(one.batches * one.step_s for one in self.shapes) / min(1.0, self.input_over_steps)

    @property
    def run_s(self) -> float | None:
        """Time of all steps of the run, if its shapes are distributed as in epoch 0."""
        return None if self.epoch_s is None or not self.batches else self.steps * self.epoch_s / self.batches


class Profiler:
    """Measures the steps and the input of a run on this host alone."""

    def __init__(self, config: TrainConfig, *, dataset: Dataset, out: Path):
        """Raises UserError if the dataset has nothing to train on."""
        self._config, self._dataset, self._out = config, dataset, out
        self._info = prepare_run(out, config=config, dataset=dataset)
        self._components = TrainComponents(config, dataset=dataset, run=out, info=self._info, hosts=Hosts())
        self._devices, self._feed = self._components.devices, self._components.data
        self._specs = self._feed.train.element_spec, self._feed.validation.element_spec
        self._evaluation = EvalStep(self._components.model, losses=config.loss, seed=config.seed, xla=config.xla)

    @property
    def programs(self) -> int:
        """Number of shapes for which the training step was compiled."""
        return self._components.programs

    def measure(self, *, steps: int, log: Callable[[str], object]) -> Profile:
        """Measure each shape in some steps, then the input; `log` receives a line before each part.

        Raises:
            NoShapeFits: no batch shape fits into memory.
            UserError: the data cannot be read.
        """
        log("the first batch")
        next(self._batches(self._feed, log=log))  # unreadable data are reported before anything is compiled
        shapes = tuple(self._shape_costs(steps=steps, log=log))
        if not any(one.fits for one in shapes):
            raise NoShapeFits("no shape fits into memory: lower model.size or input.max_frames, or free the device")
        over_steps = self.input_over_steps(shapes, log=log)
        names, count = str(self._devices), self._devices.count
        return Profile(names, count, shapes, over_steps, self._config.steps, self._feed.stores_mels)

    @property
    def plan(self) -> Plan:
        return self._feed.plan

    def largest_step(self, *, steps: int, rows: int) -> ShapeCost:
        """Measure the last shape of the plan, that of the longest clips; the fastest of some rows of steps counts."""
        bucket = self._feed.plan.buckets[-1]
        cost = ShapeCost(bucket, 0, fits=False)
        _start_compiler(xla=self._config.xla)
        with ignore_oom():
            cost, *more = (self._step_cost(bucket, steps=steps) for _ in range(rows))
            cost = cost._replace(step_s=min(one.step_s for one in (cost, *more)))
        return cost

    def input_over_steps(
        self, shapes: Sequence[ShapeCost], *, log: Callable[[str], object], num_parallel_reads: int | None = None
    ) -> float | None:
        """The speed of the input relative to the steps; None if a shape or a batch does not fit into memory.

        Args:
            num_parallel_reads: instead of the setting's.
        """
        if not all(one.fits for one in shapes):
            return None
        feed = self._feed if num_parallel_reads is None else self._feed_with(num_parallel_reads)
        log(f"the input alone{'' if num_parallel_reads is None else f', {num_parallel_reads} parallel reads'}")
        with ignore_oom():
            step_s = {one.bucket: one.step_s for one in shapes}
            return input_over_steps(self._batches(feed, log=log), feed=feed, step_s=step_s)
        return None

    def _feed_with(self, num_parallel_reads: int) -> DataModule:
        changed = self._config.input.model_copy(update={"num_parallel_reads": num_parallel_reads})
        config = self._config.model_copy(update={"input": changed})
        return DataModule(
            config,
            dataset=self._dataset,
            run=self._out,
            info=self._info,
            devices=self._devices.count,
            vocabulary=run_vocabulary(self._info, dataset=self._dataset),
        )

    def record(self, *, steps: int, log: Callable[[str], object]) -> None:
        """Record steps, and one more for each prefetched batch, for TensorBoard's profiler in OUT/plugins/profile.

        Raises:
            UserError: the recording cannot be written, or a batch does not fit.
        """
        steps = min(steps, MOST_RECORDED) + self._config.input.prefetch_batches
        log(f"recording {steps} steps")
        batches = _without_positions(self._batches(self._feed, log=log))
        try:
            self._train([next(batches)])
            with _recording(self._out):
                self._train(itertools.islice(batches, steps))
        except OutOfMemory as event:
            raise UserError(
                f"out of memory in bucket {event.bucket} (clips×frames×tokens), nothing is recorded: it does not fit "
                "beside the prefetched batches; lower input.prefetch_batches or input.global_frames_per_batch"
            ) from event

    def _shape_costs(self, *, steps: int, log: Callable[[str], object]) -> Iterator[ShapeCost]:
        _start_compiler(xla=self._config.xla)
        state = named_variables(self._components.model, self._components.optimizer)
        before = copy_to_host(state)
        trained, judged = (stream.first_epoch_stats().batches for stream in (self._feed.train, self._feed.validation))
        for number, bucket in enumerate(self._feed.plan.buckets):
            log(f"shape {number + 1} of {len(trained)}, {bucket} (clips×frames×tokens): compiling, {steps} steps")
            cost = ShapeCost(bucket, 0, fits=False)
            with ignore_oom():
                judged_s = self._validation_compile_s(bucket) if judged[number] else 0.0
                stepped = self._step_cost(bucket, steps=steps)
                cost = stepped._replace(compile_s=stepped.compile_s + judged_s)
            if not cost.fits:
                restore_variables(state, before)
            yield cost._replace(batches=int(trained[number]))

    def _step_cost(self, bucket: Bucket, *, steps: int) -> ShapeCost:
        batch = self._devices.full_batch(bucket, like=self._specs[0])
        first_s = _elapsed_s(lambda: self._train([batch]))
        with _memory_of(self._devices) as memory_mib:
            step_s = _elapsed_s(lambda: self._train(itertools.repeat(batch, steps))) / steps
        flops = step_flops(self._config.model, bucket, n_mels=self._dataset.info.contract.features.n_mels)
        compile_s = max(0.0, first_s - step_s)
        return ShapeCost(bucket, 0, True, compile_s, step_s, flops / step_s, next(iter(memory_mib), None))

    def _validation_compile_s(self, bucket: Bucket) -> float:
        with tf.device(self._devices.first):
            batch = full_batch(bucket.per_device(self._devices.count), like=self._specs[1])

        def judge() -> None:
            translate_oom(self._evaluation, batch).terms["mel"].numpy()

        return max(0.0, _elapsed_s(judge) - _elapsed_s(judge))

    def _batches(self, feed: DataModule, *, log: Callable[[str], object]) -> Iterator[Batch]:
        return translate_oom_in_input(self._devices.batches(feed.train, Position(), log=log))

    def _train(self, batches: Iterable[Batch]) -> None:
        """Train on the batches; returns when the devices have done the last step."""
        values: dict[str, tf.Tensor] = {}
        for number, batch in enumerate(batches):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                values = self._components.train_on(batch)
        values["loss"].numpy()


def _without_positions(batches: Iterator[Batch]) -> Iterator[Batch]:
    for batch in batches:
        yield {name: value for name, value in batch.items() if name != "next"}


def _start_compiler(*, xla: bool) -> None:
    """Compile a small program, because the first one takes longer: libraries and kernels are loaded."""
    tf.function(tf.linalg.matmul, jit_compile=xla or None)(tf.ones([64, 64]), tf.ones([64, 64])).numpy()


@contextlib.contextmanager
def _memory_of(devices: Devices) -> Iterator[list[float]]:
    """Yields a list that gets the peak memory of the first GPU in MiB at the end of the block, if there is a GPU."""
    found: list[float] = []
    name = devices.first.removeprefix("/")
    if devices.gpus:
        tf.config.experimental.reset_memory_stats(name)
    yield found
    if devices.gpus:
        found.append(tf.config.experimental.get_memory_info(name)["peak"] / 2**20)


@contextlib.contextmanager
def _recording(out: Path) -> Iterator[None]:
    """Record the block with TensorBoard's profiler; raises UserError if the recording cannot be written."""
    tf.profiler.experimental.start(str(out))
    try:
        yield
    except BaseException:
        tf.profiler.experimental.stop(save=False)
        raise
    try:
        tf.profiler.experimental.stop()
    except tf.errors.OpError as error:
        reason = error.message.partition("\n")[0]
        raise UserError(f"{out}: the recording cannot be written ({reason}); the table above is valid") from error


def _elapsed_s(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s
