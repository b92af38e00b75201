"""The bytes of a config in a dataset: settings that came later leave those of older datasets as they were."""

from __future__ import annotations

import yaml

from pipelines.config import config_document
from tests.pipelines import builds

TABLE = "sources={t: {reader: table, root: corpus, file: t.csv, language: en, columns: {audio: a, text: b}}}"


def test_settings_that_are_not_used_are_not_in_the_document() -> None:
    document = yaml.safe_load(config_document(builds.config_of([TABLE])))
    (source,) = document["sources"].values()
    assert source.keys() == {
        *("reader", "root", "language", "speaker", "weight", "max_utterances", "max_hours", "max_hours_per_speaker"),
        *("file", "columns", "separator", "quoted", "header", "audio_root", "suffix"),
    }
    assert source["columns"] == {"audio": "a", "text": "b", "id": None, "speaker": None, "language": None}


def test_settings_that_are_used_are_in_the_document() -> None:
    used = TABLE.replace("text: b", "text: b, start: c, end: d").replace("language: en", "language: en, exclude: e.txt")
    (source,) = yaml.safe_load(config_document(builds.config_of([used])))["sources"].values()
    assert source["exclude"] == "e.txt"
    assert (source["columns"]["start"], source["columns"]["end"]) == ("c", "d")
    assert "duration" not in source["columns"]
