"""Raw corpora to a published dataset."""

from __future__ import annotations

from pipelines.build.incremental import published_shards
from pipelines.build.job import Assembly
from pipelines.build.prepare_shards import preparation
from pipelines.build.publish import Published, check_budget, check_counts
from pipelines.build.shard_plan import plan_build
from pipelines.build.shard_selection import Scope
from pipelines.build.unlisted_files import refuse_strangers
from pipelines.config import BuildConfig
from shared.layout import Layout
from shared.locks import write_lock
from shared.storage_path import StoragePath


def build_dataset(
    config: BuildConfig, *, data: StoragePath, runner: str = "local", break_lock: bool = False
) -> Published:
    """Build, judge and publish; an older dataset at `data` stays as it is until all of that has gone well.

    Shards of it whose inputs are the same are not decoded again, nor are those that a build had finished before it
    was cut short; files that stay the same are not touched.

    Raises:
        UserError: the corpora, the tokenizer, the disk, another writer, or too many rejections.
    """
    prepare = preparation(config)  # a bad tokenizer is told now, not by a worker
    plan = plan_build(config)
    with write_lock(data, command="build", break_lock=break_lock) as lock:
        refuse_strangers(Layout(data), stems=map(str, plan.stems()))
        assembly = Assembly(config, prepare=prepare, data=data, runner=runner, lock=lock)
        published = published_shards(Layout(data), contract=assembly.contract)
        reports = assembly.assemble(plan, scope=Scope(published=published, trusted={}))
        check_counts(reports, listed=plan.listed)
        check_budget(reports, config=config, rejected=assembly.staged.rejected("any").parent)
        return assembly.publish(assembly.describe(reports))
