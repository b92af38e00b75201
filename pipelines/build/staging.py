"""The staging folder of a build, `DATA/.staging/<build>`: a dataset in the making, and its intermediate files.

The final files have the layout of a dataset. The intermediate files are:

listing/                           the rows of all corpora, see `listing.py`
prepared/<shard>.tfrecord          a record per utterance that could be prepared
prepared/<shard>.parquet           its measurements, and the file that holds it: this one, or one of the older dataset
build_cache/<shard>-<hash>.parquet  what the next build can take over, see `build_cache.py`
failed/<shard>.parquet             a row per utterance that could not be prepared
filter_results/<shard>.parquet     a row per prepared record: the filter's reason, empty for a record that is kept
speech_rates.json                  the range of characters per second of each language, by source
reports/<shard>.json               written last for each shard: its summary for the driver
recovered/<shard>.json             ids of rejected utterances that can be prepared now (replay only)
progress/<shard>                   the number of utterances that are done
preparing/<shard>.<attempt>        the id of the utterance that a worker prepares, see `crash_guard.py`
interrupted                        the user ended the build, so the utterances in `preparing` did not
fingerprint                        the preparation fingerprint: a build with the same one continues an interrupted build
made_by.json                       the versions that make the records, see `provenance.py`
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from shared.files import remove_tree, write_json
from shared.layout import Layout
from shared.publication import remove_staged
from shared.storage_path import StoragePath
from shared.tables import CORPUS_COLUMNS, MANIFEST, REJECTED, read_table

# A column of the prepared rows: STAGED, or a file of the published dataset, "shards/<shard>.tfrecord" or the like.
FILE = "file"
STAGED = "prepared"
STATE = "state"  # a column: the utterance's input state; empty if it is not known
# Metadata of the prepared rows: the hash of the shard's inputs; the report of the published shard of the same name,
# empty if there is none or its files are not intact; the processor of the worker, empty if it prepared nothing.
INPUTS, PUBLISHED, PREPARED_ON = b"inputs", b"published", b"processor"
INTERRUPTED_SUFFIX = ".left"

_ADDED_LATER = {"split", "shard", "index", *CORPUS_COLUMNS}
PREPARED_ROWS = pa.schema(
    [
        *(field for field in MANIFEST if field.name not in _ADDED_LATER),
        pa.field(FILE, pa.string(), nullable=False),
        pa.field(STATE, pa.binary(), nullable=False),
    ]
)

FAILED_ROWS = pa.schema([*REJECTED, pa.field(STATE, pa.binary(), nullable=False)])

FILTER_ROWS = pa.schema(
    [
        pa.field("reason", pa.string(), nullable=False),  # empty for a record that is kept
        pa.field("message", pa.string(), nullable=False),
        *(MANIFEST.field(name) for name in CORPUS_COLUMNS),
    ]
)


class Staging:
    """The paths of one build's staging folder, and its creation and removal."""

    def __init__(self, root: StoragePath):
        self.root, self.layout = root, Layout(root)

    @classmethod
    def for_new_build(cls, data: Layout) -> Staging:
        """A new name for each build: workers of a killed build may run on for a while and must not find its folder."""
        return cls(data.staging / uuid.uuid4().hex)

    def interrupted(self, *, fingerprint: str) -> list[Staging]:
        """The staging folders that interrupted builds with this preparation fingerprint left."""
        folders = sorted(self.root.parent.iterdir()) if self.root.parent.is_dir() else []
        return [one for one in map(Staging, folders) if one.has_fingerprint(fingerprint)]

    def made_by(self) -> dict[str, tuple[str, ...]]:
        """The versions that made the records here; none where an older version of this software noted none."""
        try:
            return {name: tuple(versions) for name, versions in json.loads(self.made_by_path.read_bytes()).items()}
        except FileNotFoundError:
            return {}

    def has_fingerprint(self, fingerprint: str) -> bool:
        return self.fingerprint_path.is_file() and self.fingerprint_path.read_bytes() == fingerprint.encode()

    def remove_all(self) -> None:
        """Remove the staging folders of this build and of all earlier builds."""
        if self.root.parent.exists():
            remove_tree(self.root.parent)

    def remove(self) -> None:
        """Remove the staging folder of this build alone."""
        remove_staged(self.root)

    def create(self, *, fingerprint: str, made_by: Mapping[str, Sequence[str]]) -> list[Staging]:
        """Create empty folders; return the staging folders of interrupted builds with the same fingerprint.

        Those are renamed, so that a worker that outlives its build cannot find them. All other folders are removed.

        Args:
            made_by: the versions that make the records.
        """
        interrupted = list(self._claim_interrupted(fingerprint))
        own = {self.records_path("any").parent, self.failed_path("any").parent, self.filter_results_path("any").parent}
        own |= {self.report_path("any").parent, self.layout.build_cache, self.listing_folder, self.progress_folder}
        own |= {self.preparing_folder}
        for folder in (*self.layout.folders, *own):
            folder.mkdir(parents=True, exist_ok=True)
        write_json(self.made_by_path, dict(made_by), durable=False)
        self.fingerprint_path.write_text(fingerprint)
        return interrupted

    def _claim_interrupted(self, fingerprint: str) -> Iterator[Staging]:
        parent = self.root.parent
        for folder in sorted(parent.iterdir()) if parent.is_dir() else ():
            older = Staging(folder)
            if not older.has_fingerprint(fingerprint):
                remove_tree(folder) if folder.is_dir() else folder.unlink()
            elif folder.suffix == INTERRUPTED_SUFFIX:
                yield older
            else:
                yield Staging(folder.rename(folder.with_suffix(INTERRUPTED_SUFFIX)))

    @property
    def listing_folder(self) -> StoragePath:
        return self.root / "listing"

    def records_path(self, shard_name: str) -> StoragePath:
        return self.root / "prepared" / f"{shard_name}.tfrecord"

    def rows_path(self, shard_name: str) -> StoragePath:
        return self.root / "prepared" / f"{shard_name}.parquet"

    def failed_path(self, shard_name: str) -> StoragePath:
        return self.root / "failed" / f"{shard_name}.parquet"

    def filter_results_path(self, shard_name: str) -> StoragePath:
        return self.root / "filter_results" / f"{shard_name}.parquet"

    def report_path(self, shard_name: str) -> StoragePath:
        return self.root / "reports" / f"{shard_name}.json"

    @property
    def recovered_folder(self) -> StoragePath:
        return self.root / "recovered"

    @property
    def interrupted_path(self) -> StoragePath:
        return self.root / "interrupted"

    @property
    def fingerprint_path(self) -> StoragePath:
        return self.root / "fingerprint"

    @property
    def made_by_path(self) -> StoragePath:
        return self.root / "made_by.json"

    @property
    def speech_rates_path(self) -> StoragePath:
        return self.root / "speech_rates.json"

    @property
    def progress_folder(self) -> StoragePath:
        return self.root / "progress"

    @property
    def preparing_folder(self) -> StoragePath:
        return self.root / "preparing"

    def read_rows(self, shard_name: str, *, columns: list[str] | None = None) -> pa.Table:
        """The rows of the prepared records, in the order of their keys."""
        return read_table(self.rows_path(shard_name), columns=columns)
