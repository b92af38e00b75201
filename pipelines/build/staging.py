"""A dataset in the making: `DATA/.staging/<build>` has the layout of a dataset, and what is needed on the way to it.

measured/<stem>.tfrecord     a record per utterance that could be decoded
measured/<stem>.parquet      its measures, and which file holds it: this one, or one of the older dataset
refused/<stem>.parquet       a row per utterance of which no record could be made
verdicts/<stem>.parquet      a row per measured record: kept, or why not
rates.json                   characters per second that each language of a source is allowed
reports/<stem>.json          the shard is whole; what the driver needs to know of it
tried/<stem>.json            rejected utterances that give a record now
measuring                    what measured it: a build that was cut short is carried on by one that measures alike
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa

from shared.files import remove_tree
from shared.layout import Layout
from shared.publication import remove_staged
from shared.storage_path import StoragePath
from shared.tables import CORPUS_COLUMNS, MANIFEST, read_table

FILE = "file"  # "measured", or "shards" and "withheld" of the older dataset
INPUTS = b"inputs"
LEFT = ".left"

_LATER = {"split", "shard", "index", *CORPUS_COLUMNS}
MEASURED = pa.schema(
    [field for field in MANIFEST if field.name not in _LATER] + [pa.field(FILE, pa.string(), nullable=False)]
)

VERDICT = pa.schema(
    [
        pa.field("reason", pa.string(), nullable=False),  # empty for what is kept
        pa.field("message", pa.string(), nullable=False),
        *(MANIFEST.field(name) for name in CORPUS_COLUMNS),
    ]
)


class Staging:
    """Where the files of a dataset in the making lie."""

    def __init__(self, root: StoragePath):
        self.root, self.layout = root, Layout(root)

    @classmethod
    def of_new_build(cls, data: Layout) -> Staging:
        """A folder of its own: the workers of a build that was killed may live on for a while, and find theirs gone."""
        return cls(data.staging / uuid.uuid4().hex)

    def has_left(self, *, measuring: str) -> bool:
        """Whether an interrupted build has left shards that can be taken over."""
        folders = self.root.parent.iterdir() if self.root.parent.is_dir() else ()
        return any(Staging(folder).measures(measuring) for folder in folders)

    def measures(self, measuring: str) -> bool:
        return self.measuring.is_file() and self.measuring.read_bytes() == measuring.encode()

    def sweep(self) -> None:
        """Remove the folders of this build and of all before it."""
        if self.root.parent.exists():
            remove_tree(self.root.parent)

    def discard(self) -> None:
        """Remove the folder of this build alone."""
        remove_staged(self.root)

    def make(self, *, measuring: str) -> list[Staging]:
        """Empty folders, and those of interrupted builds whose shards can be taken over.

        These are renamed: a worker that outlives its build must not find them. All others go.
        """
        left = list(self._take_over(measuring))
        own = {self.records("any").parent, self.refused("any").parent, self.verdicts("any").parent}
        for folder in (*self.layout.folders, *own, self.report("any").parent, self.progress):
            folder.mkdir(parents=True, exist_ok=True)
        self.measuring.write_text(measuring)
        return left

    def _take_over(self, measuring: str) -> Iterator[Staging]:
        parent = self.root.parent
        for folder in sorted(parent.iterdir()) if parent.is_dir() else ():
            older = Staging(folder)
            if not older.measures(measuring):
                remove_tree(folder) if folder.is_dir() else folder.unlink()
            elif folder.suffix == LEFT:
                yield older
            else:
                yield Staging(folder.rename(folder.with_suffix(LEFT)))

    def records(self, stem: str) -> StoragePath:
        return self.root / "measured" / f"{stem}.tfrecord"

    def rows(self, stem: str) -> StoragePath:
        return self.root / "measured" / f"{stem}.parquet"

    def refused(self, stem: str) -> StoragePath:
        return self.root / "refused" / f"{stem}.parquet"

    def verdicts(self, stem: str) -> StoragePath:
        return self.root / "verdicts" / f"{stem}.parquet"

    def report(self, stem: str) -> StoragePath:
        return self.root / "reports" / f"{stem}.json"

    @property
    def tried(self) -> StoragePath:
        return self.root / "tried"

    @property
    def measuring(self) -> StoragePath:
        return self.root / "measuring"

    @property
    def rates(self) -> StoragePath:
        return self.root / "rates.json"

    @property
    def progress(self) -> StoragePath:
        return self.root / "progress"

    def read_rows(self, stem: str, *, columns: list[str] | None = None) -> pa.Table:
        """Measured rows, in the order of their keys."""
        return read_table(self.rows(stem), columns=columns)
