"""What the terminal shows at the end of a job."""

from __future__ import annotations

from pathlib import Path

from pipelines.findings import ValidationReport
from pipelines.validate import report_path
from shared.dataset import DatasetInfo, Layout

SHOWN_FINDINGS = 20


def build_summary(info: DatasetInfo, *, data: Path) -> str:
    """One line a source, then the whole."""
    rate = info.contract.features.frames_per_second
    lines = [f"{'source':16} {'read':>8} {'written':>8} {'rejected':>8} {'minutes':>8} {'MiB':>8} {'shards':>7}"]
    for name, source in info.sources.items():
        minutes = sum(shard.frames for shard in source.shards) / rate / 60
        mib = sum(shard.bytes for shard in source.shards) / 2**20
        counts = f"{source.read:8} {source.written:8} {source.rejected:8}"
        lines.append(f"{name:16} {counts} {minutes:8.1f} {mib:8.1f} {len(source.shards):7}")
    lines.append(
        f"{data}: contract {info.fingerprint}, vocabulary {info.vocabulary_size}, "
        f"{len(info.speakers)} speakers, {info.times.seconds:.1f} s"
    )
    if any(source.rejected for source in info.sources.values()):
        lines.append(f"each rejected utterance and its reason: {data / 'rejected'}")
    return "\n".join(lines)


def validation_summary(report: ValidationReport, *, data: Path) -> str:
    """The verdict, and the first findings with file and record."""
    verdict = f"{len(report.findings)} findings" if report.findings else "clean"
    lines = [
        f"{data}: {verdict}: {report.shards} shards, {report.records} records, "
        f"{report.bytes / 2**20:.1f} MiB, {report.seconds:.1f} s"
    ]
    for finding in report.findings[:SHOWN_FINDINGS]:
        record = "" if finding.index is None else f" record {finding.index}"
        utterance = "" if finding.utterance_id is None else f" ({finding.utterance_id})"
        lines.append(f"  {finding.file}{record}{utterance}: {finding.check}: {finding.message}")
    if len(report.findings) > SHOWN_FINDINGS:
        lines.append(f"  … and {len(report.findings) - SHOWN_FINDINGS} more")
    lines.append(f"report: {report_path(Layout(data), report)}")
    if report.findings:
        lines.append("mend: a leak or duplicate in its corpus; anything else by `make preprocess` with the same config")
    return "\n".join(lines)
