"""A process that tries settings for `myxtts-train tune`: where memory does not suffice, this process alone may end.

    python -m trainer.tools.tuning_process < REQUEST

REQUEST is a JSON object: `config` (every setting of a training run), `data` (the dataset's folder), `steps`, `fixed`
(keys that keep their values), and `trial`:

    devices   name the devices
    step      time the step of the largest batch
    run       choose the chunk size; time each batch shape and the input, as `myxtts-train profile` does; choose the
              number of parallel reads

Standard output gets JSON objects, one a line. What is known before anything is computed comes first, and `fits` last,
because the system may kill the process in between. Exit code 2 after `{"error": …}`: a mistake of the user.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shared.child_process import end_with_parent
from shared.dataset import Dataset
from shared.errors import UserError
from shared.locks import read_lock
from trainer.config.train_config import TrainConfig
from trainer.platform.process import usable_cores
from trainer.platform.tf_setup import start_tensorflow

TIMED_ROWS = 3  # of steps; the fastest counts, because other processes only slow a row down


class Request(NamedTuple):
    """What to try."""

    config: TrainConfig
    dataset: Dataset
    out: Path  # a folder for files of the trial
    steps: int
    fixed: frozenset[str]


def main() -> None:
    """Answer the request on standard input."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, and with it this process
    asked = json.load(sys.stdin)
    config, data = TrainConfig.model_validate(asked["config"]), Path(asked["data"])
    trial = {"devices": _name_devices, "step": _try_step, "run": _try_run}[asked["trial"]]
    try:
        start_tensorflow()
        from trainer.data.dataset_checks import open_dataset
        from trainer.platform.tf_errors import translate_errors

        # without memory, the folder cannot be removed either
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with read_lock(data), folder as out, translate_errors():
            request = Request(config, open_dataset(data), Path(out), asked["steps"], frozenset(asked["fixed"]))
            for facts in trial(request):
                print(json.dumps(facts), flush=True)
    except MemoryError:  # the host's, while the graph is made
        print(json.dumps({"fits": False}), flush=True)
    except UserError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(2)


def _name_devices(request: Request) -> Iterator[dict[str, Any]]:
    """A name for the devices, and the lowest compute capability of the GPUs, None without any."""
    import tensorflow as tf

    gpus = [tf.config.experimental.get_device_details(one) for one in tf.config.list_physical_devices("GPU")]
    names = ", ".join(one.get("device_name", "a GPU") for one in gpus)
    capabilities = [one.get("compute_capability", (0, 0)) for one in gpus]
    yield {"machine": names or f"{usable_cores()} CPU cores", "capability": min(capabilities, default=None)}


def _try_step(request: Request) -> Iterator[dict[str, Any]]:
    from trainer.tools.profile import Profiler

    yield _batch_facts(request)
    profiler = Profiler(request.config, dataset=request.dataset, out=request.out)
    cost = profiler.largest_step(steps=request.steps, rows=TIMED_ROWS)
    yield {name: getattr(cost, name) for name in ("compile_s", "step_s", "memory_mib", "fits")}


def _batch_facts(request: Request) -> dict[str, int]:
    """The clips of a device's part of the largest batch, the frames of the whole batch, and the batches of an epoch."""
    from trainer.data.plan import plan_dataset
    from trainer.distributed.collectives import Hosts
    from trainer.distributed.devices import Devices

    config = request.config
    one_shape, chosen = (
        plan_dataset(
            request.dataset,
            config=config.input.model_copy(update={"buckets": buckets}),
            frames_per_step=config.model.frames_per_step,
            steps=config.steps,
        )
        for buckets in (1, None)
    )
    bucket = one_shape.buckets[-1]
    return {
        "clips": bucket.per_device(Devices(Hosts()).count).clips,
        "frames": bucket.clips * bucket.frames,
        "epoch_batches": round(chosen.bucket_plan.batches),
    }


def _try_run(request: Request) -> Iterator[dict[str, Any]]:
    from trainer.tools.profile import NoShapeFits, Profiler
    from trainer.tools.profile_table import run_lines
    from trainer.tools.tuning_input import choose_chunk_bytes, choose_parallel_reads

    chunk = choose_chunk_bytes(request.config, dataset=request.dataset, is_fixed="input.chunk_bytes" in request.fixed)
    yield chunk._asdict()
    chunked = request.config.input.model_copy(update={"chunk_bytes": chunk.chunk_bytes})
    config = request.config.model_copy(update={"input": chunked})
    profiler = Profiler(config, dataset=request.dataset, out=request.out)
    try:
        profile = profiler.measure(steps=request.steps, log=_log)
    except NoShapeFits:
        return
    if profile.input_over_steps is None:  # a shape does not fit
        return
    is_fixed = "input.num_parallel_reads" in request.fixed
    reads = choose_parallel_reads(
        profiler, profile=profile, dataset=request.dataset, config=config, is_fixed=is_fixed, log=_log
    )
    chosen = profile._replace(input_over_steps=reads.input_over_steps[reads.num_parallel_reads])
    yield {
        "shapes": len(profile.shapes),
        "explanation": profiler.plan.explanation,
        "compile_s": profile.compile_s,
        "frames_s": profile.frames_s,
        "lines": list(run_lines(chosen)),
        **reads._asdict(),
        "fits": True,
    }


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
