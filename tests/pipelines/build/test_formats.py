"""Recordings in other containers and in archives give the dataset that the same sound as wav gives."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.trace.command import is_ok, trace
from shared.dataset import Dataset
from tests.pipelines import builds
from tests.preprocess.test_containers import encoded

TEXTS = {"a": "The kettle is singing.", "b": "A letter came today.", "c": "Snow fell in the night."}

CONTAINERS = {".aif": "AIFF", ".aifc": "AIFF", ".snd": "AU", ".au": "AU", ".rf64": "RF64"}


def make_corpus(root: Path, kinds: dict[str, tuple[str, str, str]]) -> Path:
    """A folder of three clips, each as one of `kinds`: suffix, container and codec, all without loss."""
    root.mkdir()
    wavs = sorted((builds.ENGLISH / "wavs").iterdir())
    for (name, text), wav in zip(TEXTS.items(), wavs, strict=False):
        samples, rate_hz = soundfile.read(wav, dtype="int16")
        suffix, kind, codec = kinds[name]
        if kind == "wav":
            (root / f"{name}{suffix}").write_bytes(wav.read_bytes())
        else:
            data = encoded(np.asarray(samples), kind=kind, codec=codec, rate_hz=rate_hz)
            (root / f"{name}{suffix}").write_bytes(data)
        (root / f"{name}.txt").write_text(text)
    return root


def built(root: Path, *, data: Path, reader: str = "folder") -> Dataset:
    source = f"sources={{one: {{reader: {reader}, root: {root}, language: en, speaker: anna}}}}"
    builds.build(data, overrides=[source, "validation_fraction=0", "max_rejected_fraction=0"])
    return Dataset.open(data)


@pytest.mark.slow
def test_sound_without_loss_in_other_containers_gives_the_mels_of_wavs(tmp_path: Path) -> None:
    plain = make_corpus(tmp_path / "plain", dict.fromkeys(TEXTS, (".wav", "wav", "")))
    other = make_corpus(
        tmp_path / "other",
        {"a": (".m4a", "ipod", "alac"), "b": (".mka", "matroska", "flac"), "c": (".M4A", "mov", "pcm_s16le")},
    )
    expected, found = (built(root, data=tmp_path / f"data-{root.name}") for root in (plain, other))
    check_is_the_same(found, expected)


@pytest.mark.slow
def test_files_by_the_other_names_of_their_formats_give_the_mels_of_wavs(tmp_path: Path) -> None:
    plain = make_corpus(tmp_path / "plain", dict.fromkeys(TEXTS, (".wav", "wav", "")))
    expected = built(plain, data=tmp_path / "data-plain")
    for number, suffixes in enumerate(((".aif", ".aifc", ".snd"), (".rf64", ".AIF", ".au"))):
        root = tmp_path / f"other-{number}"
        root.mkdir()
        for name, suffix in zip(TEXTS, suffixes, strict=True):
            samples, rate_hz = soundfile.read(plain / f"{name}.wav", dtype="int16")
            container = CONTAINERS[suffix.lower()]
            soundfile.write(root / f"{name}{suffix}", samples, rate_hz, format=container, subtype="PCM_16")
            (root / f"{name}.txt").write_text(TEXTS[name])
        check_is_the_same(built(root, data=tmp_path / f"data-{root.name}"), expected)


@pytest.mark.slow
def test_recordings_in_tars_give_the_mels_of_the_files(tmp_path: Path) -> None:
    plain, tars = make_corpus(tmp_path / "plain", dict.fromkeys(TEXTS, (".wav", "wav", ""))), tmp_path / "tars"
    tars.mkdir()
    for number, names in enumerate(("a", "bc")):
        with tarfile.open(tars / f"part-{number}.tar", "w") as archive:
            for path in sorted(path for path in plain.iterdir() if path.stem in names):
                archive.add(path, arcname=path.name)
    expected = built(plain, data=tmp_path / "data-plain")
    found = built(tars, data=tmp_path / "data-tars", reader="webdataset")
    check_is_the_same(found, expected)
    assert len(trace(found, str(tars / "part-1.tar"), reproduce=False)) == 2


@pytest.mark.slow
def test_recordings_in_parquet_give_the_mels_of_the_files(tmp_path: Path) -> None:
    plain, tables = make_corpus(tmp_path / "plain", dict.fromkeys(TEXTS, (".wav", "wav", ""))), tmp_path / "tables"
    tables.mkdir()
    rows = [
        {"audio": {"bytes": (plain / f"{name}.wav").read_bytes(), "path": f"{name}.wav"}, "text": text}
        for name, text in TEXTS.items()
    ]
    for number, chosen in enumerate((rows[:1], rows[1:])):
        pq.write_table(pa.Table.from_pylist(chosen), tables / f"train-{number}.parquet")
    expected = built(plain, data=tmp_path / "data-plain")
    found = built(tables, data=tmp_path / "data-tables", reader="parquet, columns: {text: text}")
    check_is_the_same(found, expected)
    assert len(trace(found, str(tables / "train-1.parquet"), reproduce=False)) == 2


def check_is_the_same(found: Dataset, expected: Dataset) -> None:
    assert sorted(record.utterance_id for record in found.records("train")) == [f"one/{name}" for name in TEXTS]
    for record in found.records("train"):
        np.testing.assert_array_equal(record.mel, expected.record(record.utterance_id).mel)
        (details,) = trace(found, record.utterance_id, reproduce=True)  # from the file to the same mel
        assert is_ok(details)
