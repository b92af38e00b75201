"""The bytes of a config in a dataset: settings that came later leave those of older datasets as they were."""

from __future__ import annotations

import yaml

from pipelines.config import BuildConfig, config_document
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
    assert document.keys() == {
        *("sources", "tokenizer", "features", "mel_dtype", "processing", "validation_fraction", "split_by"),
        *("speaker_groups", "held_out", "decode_limit_s", "checks", "max_rejected_fraction", "utterances_per_shard"),
    }


def test_settings_that_are_used_are_in_the_document() -> None:
    used = TABLE.replace("text: b", "text: b, start: c, end: d").replace("language: en", "language: en, exclude: e.txt")
    (source,) = yaml.safe_load(config_document(builds.config_of([used])))["sources"].values()
    assert source["exclude"] == "e.txt"
    assert (source["columns"]["start"], source["columns"]["end"]) == ("c", "d")
    assert "duration" not in source["columns"]


def test_own_mel_settings_are_in_the_document_and_are_read_again() -> None:
    config = builds.config_of([TABLE, "mel.hop_samples=200", "mel.n_fft=800"])
    document = yaml.safe_load(config_document(config))
    assert {name: value for name, value in document["mel"].items() if value is not None} == {
        "n_fft": 800,
        "hop_samples": 200,
    }
    assert BuildConfig.model_validate(document) == config


def test_a_document_with_the_settings_of_a_test_split_is_read_again() -> None:
    used = TABLE.replace("text: b", "text: b, split: c").replace("language: en", "language: en, official_splits: true")
    config = builds.config_of([used, "test_fraction=0.1", "held_out_for_test=names.txt", "waveform_dtype=int16"])
    document = yaml.safe_load(config_document(config))
    assert (document["test_fraction"], document["held_out_for_test"]) == (0.1, "names.txt")
    assert BuildConfig.model_validate(document) == config
