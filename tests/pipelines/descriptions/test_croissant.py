"""mlcroissant opens a dataset as it was built, and reads its manifest."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from shared.dataset import Dataset
from shared.layout import SPLITS
from shared.tables import MANIFEST

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("dataset", ["float16"], indirect=True)]

# A process of its own: it says in one line what it found.
READ = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
issues = dataset.metadata.ctx.issues
def plain(value):
    return value.decode() if isinstance(value, bytes) else getattr(value, "item", lambda: value)()
rows = [{name: plain(value) for name, value in row.items()}
        for row in dataset.records("utterances")]
print(json.dumps([sorted(issues.errors), sorted(issues.warnings), dataset.metadata.to_json(), rows]))
"""


def test_every_row_of_the_manifest_is_read_without_an_error(dataset: Dataset) -> None:
    words = [sys.executable, "-c", READ, str(dataset.layout.root / "croissant.json")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    errors, _, described, rows = json.loads(ended.stdout.splitlines()[-1])
    assert errors == []
    assert described["license"] == "CC-BY-4.0"
    expected = [row for split in SPLITS for row in dataset.manifest(split).to_pylist()]
    assert len(rows) == len(expected) > 20
    assert {name.removeprefix("utterances/") for name in rows[0]} == set(MANIFEST.names)
    found = {row["utterances/utterance_id"]: row for row in rows}
    for row in expected:
        assert {f"utterances/{name}": value for name, value in row.items()} == found[row["utterance_id"]]


def test_the_document_names_every_file_of_the_manifest_and_the_shards(dataset: Dataset) -> None:
    document = json.loads((dataset.layout.root / "croissant.json").read_text())
    assert document["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    sets = {one["@id"]: one["includes"] for one in document["distribution"]}
    names = {shard.name for shard in dataset.info.shards}
    for name in ("manifest", "records"):
        assert {path.stem for path in dataset.layout.root.glob(sets[name])} == names
