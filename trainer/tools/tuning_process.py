"""A process that tries settings for `myxtts-train tune`: where memory does not suffice, this process alone may end.

    python -m trainer.tools.tuning_process < REQUEST

REQUEST is a JSON object: `config` (every setting of a training run), `data` (the dataset's folder), `steps`, and
`trial`:

    step    time the step of the largest batch
    run     choose the chunk size; time each batch shape and the input, as `myxtts-train profile` does; choose the
            number of parallel reads

Standard output gets JSON objects, one a line. What is known before the first step comes first, because the system may
kill the process during a step. Exit code 2 after `{"error": …}`: a mistake of the user.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.dataset import Dataset
from shared.errors import UserError
from shared.locks import read_lock
from trainer.config.train_config import TrainConfig
from trainer.platform.process import usable_cores
from trainer.platform.tf_setup import start_tensorflow

if TYPE_CHECKING:
    from trainer.tools.profile import Profiler

TIMED_ROWS = 3  # of steps; the fastest counts, because other processes only slow a row down


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    config, data, steps = TrainConfig.model_validate(request["config"]), Path(request["data"]), request["steps"]
    trial = {"step": _try_step, "run": _try_run}[request["trial"]]
    try:
        start_tensorflow()
        from trainer.data.dataset_checks import open_dataset
        from trainer.platform.tf_errors import translate_errors

        with read_lock(data), tempfile.TemporaryDirectory() as out, translate_errors():
            for facts in trial(config, dataset=open_dataset(data), out=Path(out), steps=steps):
                print(json.dumps(facts), flush=True)
    except MemoryError:  # the host's, while the graph is made
        print(json.dumps({"fits": False}), flush=True)
    except UserError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(2)


def _try_step(config: TrainConfig, *, dataset: Dataset, out: Path, steps: int) -> Iterator[dict[str, Any]]:
    from trainer.tools.profile import Profiler

    profiler = Profiler(config, dataset=dataset, out=out)
    yield _device_facts() | _batch_facts(profiler)
    cost = profiler.largest_step(steps=steps, rows=TIMED_ROWS)
    yield {name: getattr(cost, name) for name in ("fits", "compile_s", "step_s", "memory_mib")}


def _try_run(config: TrainConfig, *, dataset: Dataset, out: Path, steps: int) -> Iterator[dict[str, Any]]:
    from trainer.tools.profile import Profiler
    from trainer.tools.profile_table import profile_lines
    from trainer.tools.tuning_input import choose_chunk_bytes, choose_parallel_reads

    chunk = choose_chunk_bytes(config, dataset=dataset)
    yield chunk._asdict()
    chunked = config.input.model_copy(update={"chunk_bytes": chunk.chunk_bytes})
    profiler = Profiler(config.model_copy(update={"input": chunked}), dataset=dataset, out=out)
    profile = profiler.measure(steps=steps, log=_log)
    yield {
        "fits": profile.input_over_steps is not None,
        "shapes": len(profile.shapes),
        "explanation": profiler.plan.explanation,
        "compile_s": profile.compile_s,
        "frames_s": profile.frames_s,
        "lines": list(profile_lines(profile)),
    }
    if profile.input_over_steps is not None:
        configured = config.input.num_parallel_reads
        yield choose_parallel_reads(
            profiler, profile=profile, dataset=dataset, configured=configured, log=_log
        )._asdict()


def _device_facts() -> dict[str, Any]:
    """Return a name for the devices, and the lowest compute capability of the GPUs, None without any."""
    import tensorflow as tf

    gpus = [tf.config.experimental.get_device_details(one) for one in tf.config.list_physical_devices("GPU")]
    names = ", ".join(one.get("device_name", "a GPU") for one in gpus)
    capabilities = [one.get("compute_capability", (0, 0)) for one in gpus]
    return {"machine": names or f"{usable_cores()} CPU cores", "capability": min(capabilities, default=None)}


def _batch_facts(profiler: Profiler) -> dict[str, int]:
    """Return the clips of a device's largest batch, the padded frames of all devices', and the batches of an epoch."""
    bucket = profiler.plan.buckets[-1]
    return {
        "clips": bucket.per_device(profiler.devices).clips,
        "frames": bucket.clips * bucket.frames,
        "epoch_batches": round(profiler.plan.bucket_plan.batches),
    }


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
