"""What the terminal shows at the start of a build, and at the end of a build, a dry run, a repair or a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.build.publish import Published
from pipelines.config import BuildConfig
from preprocess.corpora import READERS, layout_of
from preprocess.corpora.source import SourceConfig
from shared.features import CUSTOM
from shared.messages import counted, first_few
from shared.storage_path import StoragePath

if TYPE_CHECKING:  # a build must not import validation, and one with nothing to do not Beam: they take seconds
    from pipelines.build.dry_run import BuildEstimate, SourceEstimate
    from pipelines.repair.repair import RepairResult
    from pipelines.repair.replay import ReplayResult
    from pipelines.repair.shard_diff import ShardDifference

SHOWN_FINDINGS = 20
SHOWN_LANGUAGES = 6
FILTERED = ": filtered by a threshold"
ACCEPT_CHANGES = "--accept-changes publishes these changes too"


def unreleased_mels(config: BuildConfig) -> str | None:
    """What a person should know before a build with mel settings of their own; None with those of a preset."""
    if config.feature_spec.name != CUSTOM:
        return None
    return (
        "mel: no preset has these settings; speech will need a vocoder that was trained on such mels, yours "
        "(`make vocoder`) or another's, or Griffin-Lim"
    )


def build_summary(published: Published, *, data: StoragePath, seconds: float) -> str:
    """One line per source, then the totals."""
    info = published.info
    rate = info.contract.features.frames_per_second
    lines = [f"{'source':16} {'read':>8} {'written':>8} {'rejected':>8} {'minutes':>8} {'MiB':>8} {'shards':>7}"]
    for name, source in info.sources.items():
        minutes = sum(shard.frames for shard in source.shards) / rate / 60
        mib = sum(shard.bytes for shard in source.shards) / 2**20
        counts = f"{source.read:8} {source.written:8} {source.rejected:8}"
        lines.append(f"{name:16} {counts} {minutes:8.1f} {mib:8.1f} {len(source.shards):7}")
    lines.append(
        f"{data}: contract {info.fingerprint}, vocabulary {info.vocabulary_size}, "
        f"{len(info.speakers)} speakers, {seconds:.1f} s"
    )
    if not published.changed:
        lines.append(f"nothing to do: {counted(len(info.shards), 'shard')} up to date")
    if any(source.rejected for source in info.sources.values()):
        lines.append(f"rejected utterances with their reasons: {data / 'rejected'}")
    return "\n".join(lines)


def estimate_summary(estimate: BuildEstimate) -> str:
    """One line per source, then the totals; the estimated minutes have their standard error."""
    counts = f"{'source':16} {'clips':>9} {'bad rows':>8} {'minutes':>18} {'speakers':>8}"
    lines = [f"{counts} {'MiB':>9} {'shards':>6}  languages", *map(_estimate_line, estimate.sources)]
    broken = sum(source.sampled - source.decodable for source in estimate.sources)
    sampled = sum(source.sampled for source in estimate.sources)
    minutes, seconds = divmod(round(estimate.build_time_s), 60)
    lines.append(
        f"total: {sum(source.utterances for source in estimate.sources)} clips, "
        f"{sum(source.hours for source in estimate.sources):.2f} h, "
        f"{sum(source.size_bytes for source in estimate.sources) / 2**20:.0f} MiB, "
        f"about {minutes} min {seconds} s with {estimate.workers} worker{'s' * (estimate.workers > 1)}"
    )
    lines.append(
        f"clips and rows are counted; hours, MiB and time are estimated from {sampled} clips ({broken} not usable)"
    )
    lines.append("nothing was written")
    return "\n".join(lines)


def _estimate_line(source: SourceEstimate) -> str:
    languages = [f"{code} {count}" for code, count in source.languages.items()]
    minutes = f"{60 * source.hours:.1f} ± {60 * source.hours_error:.1f}"
    return (
        f"{source.name:16} {source.utterances:9} {source.bad_rows:8} {minutes:>18} {source.speakers:8} "
        f"{source.size_bytes / 2**20:9.1f} {source.shards:6}  {first_few(languages, most=SHOWN_LANGUAGES)}"
    )


def corpora_summary(readers: Sequence[str]) -> str:
    """The layout that each reader expects, and its options apart from those of all readers."""
    lines = []
    for reader in readers:
        fields = READERS[reader].model_fields
        own = [name for name in fields if name not in SourceConfig.model_fields]
        lines += [f"── {reader} " + "─" * (76 - len(reader)), layout_of(reader).strip(), ""]
        lines += [f"options: {', '.join(own)}", ""] if own else []
    shared = [name for name in SourceConfig.model_fields if name not in ("reader", "root")]
    lines.append(f"options of all readers: root, {', '.join(shared)}")
    return "\n".join(lines)


def repair_summary(repair: RepairResult, *, data: StoragePath) -> str:
    """The damaged files, the rebuilt shards, and the findings that need a change of the corpora."""
    if not repair.damaged:
        lines = [f"{data}: nothing to repair"]
    elif repair.is_aborted:
        lines = [
            f"{data}: {counted(len(repair.damaged), 'damaged file')}; nothing was written: the corpora have changed"
        ]
        lines += [*_difference_lines(repair.differences), ACCEPT_CHANGES]
    else:
        made = counted(len(repair.rebuilt), "shard")
        lines = [f"{data}: {counted(len(repair.damaged), 'damaged file')}; {made} rebuilt"]
        lines += [f"  {name}" for name in repair.damaged[:SHOWN_FINDINGS]]
        lines += [f"replaced files are in {repair.quarantine}"] if repair.quarantine else []
        lines += _difference_lines(repair.differences)
        lines.append(_comparison_line(repair))
    lines += [f"  {one.file}: {one.check}: {one.message}" for one in repair.remaining[:SHOWN_FINDINGS]]
    if repair.remaining:
        lines.append(f"{counted(len(repair.remaining), 'finding')} about the corpora: fix these there, and build again")
    return "\n".join(lines)


def _comparison_line(repair: RepairResult) -> str:
    if repair.differing:
        return f"not the published bytes: {', '.join(repair.differing)}"
    if repair.unverifiable:
        return f"the published sha256 of these files is lost: {', '.join(repair.unverifiable)}"
    return "every file has the published bytes"


def replay_summary(replay: ReplayResult, *, data: StoragePath) -> str:
    """The utterances that were tried and recovered, and the shards that were written."""
    lines = [f"{data}: rejected utterances: {replay.tried} tried again, {len(replay.recovered)} recovered"]
    filtered = set(replay.filtered)
    lines += [f"  {name}{FILTERED * (name in filtered)}" for name in replay.recovered[:SHOWN_FINDINGS]]
    if replay.is_aborted:
        lines.append("nothing was written: the corpora have other changes too")
        lines += [*_difference_lines(replay.differences), ACCEPT_CHANGES]
    elif replay.published is not None:
        shown = first_few(replay.shards, most=SHOWN_FINDINGS)
        lines.append(f"{counted(len(replay.shards), 'shard')} written: {shown}")
        if filtered:
            lines.append(f"{counted(len(filtered), 'utterance')} filtered by a threshold; reasons: {data / 'rejected'}")
        lines += _difference_lines(replay.differences)
    return "\n".join(lines)


def _difference_lines(differences: Sequence[ShardDifference]) -> list[str]:
    lines = [f"  {one.shard_name}: {one.utterance_id or 'all'}: {one.message}" for one in differences[:SHOWN_FINDINGS]]
    more = len(differences) - SHOWN_FINDINGS
    return [*lines, f"  … and {more} more"] if more > 0 else lines
