"""Build a dataset from raw corpora: list, prepare, filter, write, check, publish."""

from __future__ import annotations

from pipelines.build.incremental import ReusePolicy, published_shards
from pipelines.build.job import BuildJob
from pipelines.build.preparation import create_preparation
from pipelines.build.publish import Published
from pipelines.build.result_checks import check_counts, check_rejections
from pipelines.build.shard_plan import plan_shards
from pipelines.build.unlisted_files import check_unlisted_files
from pipelines.config import BuildConfig
from shared.layout import Layout
from shared.locks import write_lock
from shared.storage_path import StoragePath


def build_dataset(
    config: BuildConfig, *, data: StoragePath, runner: str = "local", break_lock: bool = False
) -> Published:
    """Build and publish a dataset; an older dataset at `data` stays unchanged until the new one is complete.

    Shards of the older dataset or of an interrupted build are reused if their inputs have not changed. Files with
    unchanged content are not written again.

    Args:
        data: folder of the dataset.
        runner: `local` or `flink`.
        break_lock: take the dataset's lock although another writer left it.

    Raises:
        UserError: the corpora, the tokenizer or the disk fail, another process writes the dataset, or too many
            utterances are rejected.
    """
    prepare = create_preparation(config)  # a wrong tokenizer is an error of the driver, not of a worker
    plan = plan_shards(config)
    with write_lock(data, command="build", break_lock=break_lock) as lock:
        check_unlisted_files(Layout(data), shard_names=map(str, plan.shard_names()))
        job = BuildJob(config, prepare=prepare, data=data, runner=runner, lock=lock)
        published = published_shards(Layout(data), contract=job.contract)
        reports = job.run(plan, reuse=ReusePolicy(if_unchanged=published, always={}))
        check_counts(reports, listed=plan.listed)
        check_rejections(reports, config=config, rejected=job.staged.rejected("any").parent)
        return job.publish(job.write_dataset_files(reports))
