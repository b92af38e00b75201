"""Checks of a build's result before it is published: complete counts, and the budget of rejections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.build.dataset_info import add_counts
from pipelines.build.shard_report import ShardReport
from pipelines.config import BuildConfig
from shared.errors import UserError
from shared.storage_path import StoragePath
from shared.tables import REJECTED, read_table

# without a rejection that counts as a failure, the caps of the config rejected everything
EXCLUDED = "a limit or a list of the config (max_utterances, max_hours, include, exclude, scores) excludes all"


# One bad clip of twelve is no sign of a broken language; fewer utterances count among all only.
MIN_UTTERANCES_FOR_BUDGET = 50


def check_counts(reports: Iterable[ShardReport], *, listed: int) -> None:
    """Check that each utterance listed for these shards was either written or rejected.

    Raises:
        UserError: the counts differ.
    """
    seen = sum(report.info.records + report.info.rejected for report in reports)
    if seen != listed:
        raise UserError(
            f"{listed} utterances were listed but {seen} written or rejected: the corpus changed while it was "
            "read; nothing was published; run it again"
        )


def check_rejections(reports: Sequence[ShardReport], *, config: BuildConfig, rejected: StoragePath) -> None:
    """Check the share of rejected utterances against `max_rejected_fraction`: of all, and of each language.

    A language of fewer than MIN_UTTERANCES_FOR_BUDGET utterances has no budget of its own.

    Raises:
        UserError: the share is larger, or no utterance was written.
    """
    written = add_counts(report.records_by_language for report in reports)
    failed = add_counts(report.failures_by_language for report in reports)
    languages = sorted(failed.keys() - {""})  # rows without a language count among all only
    for name, bad, good in [
        ("all", failed.total(), written.total()),
        *(
            (language, failed[language], written[language])
            for language in languages
            if failed[language] + written[language] >= MIN_UTTERANCES_FOR_BUDGET
        ),
    ]:
        if bad and bad / (bad + good) > config.max_rejected_fraction:
            raise UserError(
                f"{bad} of {bad + good} utterances ({name}) were rejected: {_reasons(reports, rejected=rejected)}; "
                f"at most {config.max_rejected_fraction:.1%} are allowed (max_rejected_fraction); "
                f"each is listed in {rejected}; nothing was published"
            )
    if not written:
        reasons = _reasons(reports, rejected=rejected) or EXCLUDED
        raise UserError(f"no utterance was written: {reasons}; nothing was published")


def _reasons(reports: Sequence[ShardReport], *, rejected: StoragePath) -> str:
    """The number of utterances by reason, with the message of one that has the first reason."""
    counts = add_counts(report.failures_by_reason for report in reports).most_common()
    named = ", ".join(f"{count} {reason}" for reason, count in counts)
    example = _example(counts[0][0], rejected=rejected) if counts else ""
    return f"{named} (such as {example})" if example else named


def _example(reason: str, *, rejected: StoragePath) -> str:
    """The id and the message of the first utterance in the tables that was rejected for this reason."""
    for path in sorted(rejected.glob("*.parquet"), key=lambda path: path.name):
        for row in read_table(path, schema=REJECTED).to_pylist():
            if row["reason"] == reason:
                return f"{row['utterance_id']}: {row['message']}"
    return ""
