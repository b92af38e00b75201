"""Build a dataset from raw corpora: list, prepare, filter, write, check, publish."""

from __future__ import annotations

import functools

import click

from pipelines.build.build_cache import read_cache_of
from pipelines.build.changes import CorpusChanges
from pipelines.build.incremental import ReusePolicy, preparation_fingerprint, published_info
from pipelines.build.listing import Listing
from pipelines.build.preparation import create_contract, create_preparation
from pipelines.build.provenance import MadeBy, differences, made_here, merged
from pipelines.build.publish import Published
from pipelines.build.result_checks import check_counts, check_rejections
from pipelines.build.shard_plan import ShardPlan, plan_shards
from pipelines.build.staging import Staging
from pipelines.build.unlisted_files import check_unlisted_files
from pipelines.config import BuildConfig
from shared.dataset import DatasetInfo
from shared.layout import Layout
from shared.locks import write_lock
from shared.storage_path import StoragePath


def build_dataset(
    config: BuildConfig, *, data: StoragePath, runner: str = "local", break_lock: bool = False
) -> Published:
    """Build and publish a dataset; an older dataset at `data` stays unchanged until the new one is complete.

    Utterances that the older dataset or an interrupted build prepared are taken over if their inputs have not
    changed. Files with unchanged content are not written again. If nothing changed, and no recording is to be tried
    again, only metadata is read.

    Args:
        data: folder of the dataset.
        runner: `local` or `flink`.
        break_lock: take the dataset's lock although another writer left it.

    Raises:
        UserError: the corpora, the tokenizer or the disk fail, another process writes the dataset, or too many
            utterances are rejected.
    """
    prepare = create_preparation(config)  # a wrong tokenizer is an error of the driver, not of a worker
    contract, layout = create_contract(prepare), Layout(data)
    published = published_info(layout, contract=contract)
    with Listing() as listing:
        plan, changes = _plan(config, published=published, data=layout, listing=listing)
        with write_lock(data, command="build", break_lock=break_lock) as lock:
            check_unlisted_files(layout, shard_names=map(str, plan.shard_names()))
            fingerprint = preparation_fingerprint(contract, decode_limit_s=config.decode_limit_s)
            now = published_info(layout, contract=contract)
            is_compared = now == published  # else another build ended while this one listed
            if (
                now
                and changes
                and is_compared
                and changes.are_none(plan.shards, config=config, fingerprint=fingerprint)
            ):
                return Published(now, ())
            from pipelines.build.job import BuildJob  # Beam takes seconds to import

            job = BuildJob(config, prepare=prepare, data=data, runner=runner, lock=lock)
            shards = {} if now is None else {shard.name: shard for shard in now.shards}
            made_by = _made_by(now, data=layout, fingerprint=fingerprint, here=made_here(pitch=config.pitch))
            reports = job.run(plan, listing=listing, reuse=ReusePolicy(take_over=shards, always={}))
            check_counts(reports, listed=plan.listed)
            check_rejections(reports, config=config, rejected=job.staged.rejected("any").parent)
            return job.publish(job.write_dataset_files(reports, made_by=merged(made_by, job.made_by)))


def _made_by(published: DatasetInfo | None, *, data: Layout, fingerprint: str, here: MadeBy) -> MadeBy:
    """The versions that make the new dataset, and those that made the records it takes over; differences are printed.

    Args:
        fingerprint: the preparation fingerprint; a published dataset without a cache of it gives no records.
        here: the versions of this process.
    """
    older: list[MadeBy] = [one.made_by() for one in Staging.for_new_build(data).interrupted(fingerprint=fingerprint)]
    caches = (read_cache_of(shard, data=data) for shard in (published.shards if published is not None else ()))
    if published is not None and any(cached and cached.preparation == fingerprint for cached in caches):
        older.append(published.made_by)
    if found := "; ".join(dict.fromkeys(one for part in older for one in differences(part, here))):
        folders = f"{data.build_cache} and {data.staging}"
        remedy = f"to prepare all utterances with the versions of here, remove {folders} and build again"
        click.echo(f"earlier records were made with {found}, and this build keeps them; {remedy}", err=True)
    return functools.reduce(merged, older, here)


def _plan(
    config: BuildConfig, *, published: DatasetInfo | None, data: Layout, listing: Listing
) -> tuple[ShardPlan, CorpusChanges | None]:
    """The plan of the build, and what changed since the published dataset."""
    if published is None:
        return plan_shards(config, listing=listing), None
    changes = CorpusChanges(published, data=data)
    plan = plan_shards(config, listing=listing, changes=changes)
    return plan._replace(expected_new=changes.estimate_new()), changes
