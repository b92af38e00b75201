"""Last step of a build: write each shard's kept and filtered records, its tables and its report.

Records are copied as bytes. A published file that already holds exactly the expected records is not written again, and
not read if its state shows that nobody has changed it.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterator

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.build.build_cache import CachedShard, cache_path, cached_rows, write_cached_shard
from pipelines.build.disk_errors import translate_disk_errors
from pipelines.build.older_shards import records_file
from pipelines.build.shard_records import RecordsFile, RecordSources, StoredRecord, stored_records, write_records
from pipelines.build.shard_report import RecordTotals, ShardReport
from pipelines.build.shard_statistics import ShardStatistics
from pipelines.build.staging import FAILED_ROWS, FILE, INPUTS, PREPARED_ON, PUBLISHED, STATE, Staging
from preprocess.utterance import EXCLUDED_BY_CONFIG, FILTER_STAGE, RETRIED_STAGES
from shared.dataset import Contract, ShardInfo
from shared.files import file_sha256, write_json
from shared.layout import Layout, ShardName
from shared.storage_path import StoragePath
from shared.tables import MANIFEST, REJECTED, read_table, write_table
from shared.tfrecord import unframe


class WriteShard(beam.DoFn):
    """shard name -> shard name, after its final files and its report are in the staging folder."""

    def __init__(self, contract: Contract, *, data: StoragePath, staging: StoragePath):
        self._contract, self._data, self._staging = contract, Layout(data), Staging(staging)

    def process(self, shard_name: str) -> Iterator[str]:
        with translate_disk_errors(staging=self._staging.root):
            if not self._staging.report_path(shard_name).exists():
                ShardWriter(shard_name, contract=self._contract, data=self._data, staging=self._staging).write()
        yield shard_name


class ShardWriter:
    """Divides the prepared records of a shard into kept and filtered ones, and writes both."""

    def __init__(self, shard_name: str, *, contract: Contract, data: Layout, staging: Staging):
        self._name, self._contract, self._data, self._staging = shard_name, contract, data, staging
        rows = staging.read_rows(shard_name)
        facts = rows.schema.metadata
        self._inputs = facts[INPUTS].decode()
        self._processor = facts[PREPARED_ON].decode()
        self._published = ShardReport.model_validate_json(facts[PUBLISHED]) if facts[PUBLISHED] else None
        results = read_table(staging.filter_results_path(shard_name))
        for name in results.column_names:
            rows = rows.append_column(results.field(name), results[name])
        is_kept = pc.equal(rows["reason"], "")
        self._kept, self._filtered = rows.filter(is_kept), rows.filter(pc.invert(is_kept))
        self._failed = read_table(staging.failed_path(shard_name), schema=FAILED_ROWS)

    def write(self) -> ShardReport:
        """Write records and tables, and the report last."""
        kept, totals = self._write_kept()
        filtered = self._write_filtered()
        rejected = _rejected(self._failed, filtered=self._filtered)
        layout, name = self._staging.layout, self._name
        write_table(layout.manifest(name), _manifest(self._kept, kept, shard_name=name))
        write_table(layout.withheld_manifest(name), _manifest(self._filtered, filtered, shard_name=name))
        write_table(layout.rejected(name), rejected)
        info = ShardInfo(
            name=name,
            split=ShardName.parse(name).split,
            inputs=self._inputs,
            records=len(self._kept),
            bytes=_sum(self._kept, "length_bytes"),
            sha256=kept.sha256,
            frames=_sum(self._kept, "frames"),
            tokens=_sum(self._kept, "tokens"),
            manifest_sha256=file_sha256(layout.manifest(name)),
            rejected=len(rejected),
            rejected_sha256=file_sha256(layout.rejected(name)),
            withheld=len(self._filtered),
            withheld_sha256=filtered.sha256,
            withheld_manifest_sha256=file_sha256(layout.withheld_manifest(name)),
        )
        report = _report(info, kept=self._kept, rejected=rejected, totals=totals, processor=self._processor)
        self._write_cache(report)
        write_json(self._staging.report_path(name), report, durable=False)
        return report

    def _write_kept(self) -> tuple[RecordsFile, RecordTotals]:
        """Write the kept records, and count what the published shard does not hold, or holds no longer."""
        older = self._published
        if older is not None and self._are_published(self._kept, folder="shards", records=older.info.records):
            return RecordsFile(older.info.sha256, self._kept["offset_bytes"].to_pylist()), older.totals
        published = records_file(self._name, folder="shards") if older is not None else ""
        statistics = ShardStatistics(self._contract, older=older.totals if older is not None else None)
        if older is not None:
            self._count_out_removed(statistics, records=older.info.records)

        def count_in(record: StoredRecord, framed: bytes) -> None:
            if record.file != published:
                statistics.add(unframe(framed))

        return self._write_records(self._kept, folder="shards", on_record=count_in), statistics.totals()

    def _count_out_removed(self, statistics: ShardStatistics, *, records: int) -> None:
        """Count out the records of the published shard that the new one does not hold."""
        published = records_file(self._name, folder="shards")
        stay = {record.offset_bytes for record in stored_records(self._kept) if record.file == published}
        if len(stay) == records:
            return
        manifest = read_table(self._data.manifest(self._name), columns=["offset_bytes", "length_bytes"])
        with RecordSources(self._name, data=self._data, staging=self._staging) as sources:
            for place in manifest.to_pylist():
                if place["offset_bytes"] not in stay:
                    statistics.remove(unframe(sources.read(StoredRecord(published, **place))))

    def _write_filtered(self) -> RecordsFile:
        older = self._published
        if older is not None and self._are_published(self._filtered, folder="withheld", records=older.info.withheld):
            return RecordsFile(older.info.withheld_sha256, self._filtered["offset_bytes"].to_pylist())
        return self._write_records(self._filtered, folder="withheld", on_record=lambda record, framed: None)

    def _write_records(
        self, rows: pa.Table, *, folder: str, on_record: Callable[[StoredRecord, bytes], None]
    ) -> RecordsFile:
        return write_records(
            stored_records(rows),
            shard_name=self._name,
            folder=folder,
            data=self._data,
            staging=self._staging,
            on_record=on_record,
        )

    def _are_published(self, rows: pa.Table, *, folder: str, records: int) -> bool:
        """Whether these rows are all records of the published file; both are in the order of their keys."""
        published = records_file(self._name, folder=folder)
        return len(rows) == records and set(rows[FILE].to_pylist()) <= {published}

    def _write_cache(self, report: ShardReport) -> None:
        """Write what the next build can take over, unless the input states are unknown, as in a repair."""
        states = [
            (name, table[STATE].to_pylist())
            for name, table in (("shards", self._kept), ("withheld", self._filtered), ("rejected", self._failed))
        ]
        if all(state for name, of_table in states if name != "rejected" for state in of_table):
            preparation = self._staging.fingerprint_path.read_bytes().decode()
            cached = CachedShard(rows=cached_rows(states), report=report, preparation=preparation, files="")
            write_cached_shard(cache_path(report.info, data=self._staging.layout), cached)


def _sum(table: pa.Table, column: str) -> int:
    return pc.sum(table[column]).as_py() or 0


def _manifest(rows: pa.Table, file: RecordsFile, *, shard_name: str) -> pa.Table:
    """The manifest of these rows; their records lie in `file`."""
    count = len(rows)
    columns = {name: rows[name] for name in MANIFEST.names if name in rows.column_names} | {
        "split": [ShardName.parse(shard_name).split] * count,
        "shard": [shard_name] * count,
        "index": range(count),
        "offset_bytes": file.offsets_bytes,
    }
    # a table in one chunk: the bytes of a Parquet file depend on the chunks
    return pa.table({name: columns[name] for name in MANIFEST.names}, schema=MANIFEST).combine_chunks()


def _rejected(failed: pa.Table, *, filtered: pa.Table) -> pa.Table:
    """Utterances that could not be prepared, followed by those that were filtered."""
    stages = pa.array([FILTER_STAGE] * len(filtered), pa.string())
    of_filter = pa.table(
        {name: stages if name == "stage" else filtered[name] for name in REJECTED.names}, schema=REJECTED
    )
    return pa.concat_tables([failed.select(REJECTED.names), of_filter]).combine_chunks()


def _report(
    info: ShardInfo, *, kept: pa.Table, rejected: pa.Table, totals: RecordTotals, processor: str
) -> ShardReport:
    failures = rejected.filter(pc.invert(pc.is_in(rejected["reason"], pa.array(sorted(EXCLUDED_BY_CONFIG)))))
    return ShardReport(
        info=info,
        records_by_language=_count(kept, "language"),
        failures_by_language=_count(failures, "language"),
        failures_by_reason=_count(failures, "reason"),
        records_by_speaker=_count(kept, "speaker"),
        retried=_sum_of_stages(rejected, RETRIED_STAGES),
        processor=processor,
        totals=totals,
    )


def _sum_of_stages(rejected: pa.Table, stages: Collection[str]) -> int:
    return pc.sum(pc.is_in(rejected["stage"], pa.array(sorted(stages)))).as_py() or 0


def _count(rows: pa.Table, column: str) -> dict[str, int]:
    return dict(sorted(collections.Counter(rows[column].to_pylist()).items()))
