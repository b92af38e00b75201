"""Datasets that store the samples beside the mels: what the records hold, what else stays as it is, what is checked."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import yaml

from pipelines.config import BuildConfig
from pipelines.descriptions.refresh import refresh_descriptions
from pipelines.validation.validate import validate_dataset
from shared.config import load_config
from shared.dataset import Dataset, contract_differences
from shared.errors import UserError
from shared.records import decode
from tests.pipelines import builds, damage

CLIPS = 12
OVERRIDES = ("utterances_per_shard=6", "validation_fraction=0.3")
RATE_HZ = 22_050


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips at the rate of the mels, and one at another rate."""
    folder = builds.make_corpus(tmp_path_factory.mktemp("waveforms") / "corpus", clips=CLIPS)
    path = sorted((folder / "wavs").iterdir())[0]
    samples, rate_hz = soundfile.read(path)
    path.unlink()
    soundfile.write(path, soxr.resample(samples, rate_hz, 16_000), 16_000)
    return folder


def built(corpus: Path, data: Path, *more: str) -> Path:
    return builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus, *OVERRIDES, *more))


@pytest.fixture(scope="module")
def data(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with waveforms; tests must not change it."""
    return built(corpus, tmp_path_factory.mktemp("data") / "data", "waveform_dtype=int16")


@pytest.fixture(scope="module")
def plain(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(corpus, tmp_path_factory.mktemp("plain") / "data")


def records(data: Path) -> dict[str, dict]:
    return {
        record.utterance_id: {name: getattr(record, name) for name in ("mel", "tokens", "text", "frames", "waveform")}
        for split in ("train", "validation")
        for record in Dataset.open(data).records(split)
    }


def test_a_waveform_is_the_recording_at_the_rate_of_the_mels(data: Path) -> None:
    dataset, resampled = Dataset.open(data), 0
    paths = {row["utterance_id"]: row["audio_path"] for row in dataset.manifest("train").to_pylist()}
    paths |= {row["utterance_id"]: row["audio_path"] for row in dataset.manifest("validation").to_pylist()}
    found = records(data)
    assert len(found) == CLIPS
    for name, record in found.items():
        samples, rate_hz = soundfile.read(paths[name], dtype="float32")
        resampled += rate_hz != RATE_HZ
        expected = samples if rate_hz == RATE_HZ else soxr.resample(samples, rate_hz, RATE_HZ)
        assert record["waveform"].dtype == np.int16
        np.testing.assert_allclose(record["waveform"] / 32768, expected, atol=0.501 / 32768)
    assert resampled == 1


def test_everything_else_is_as_without_waveforms(data: Path, plain: Path) -> None:
    with_waveforms, without = records(data), records(plain)
    for name, record in without.items():
        assert record.pop("waveform") is None
        with_waveforms[name].pop("waveform")
        np.testing.assert_array_equal(record.pop("mel"), with_waveforms[name].pop("mel"))
        assert record == with_waveforms[name]
    assert with_waveforms.keys() == without.keys()


def test_a_dataset_without_waveforms_does_not_mention_them(data: Path, plain: Path) -> None:
    """So its bytes are those of before there were waveforms."""
    for folder, mentioned in ((data, True), (plain, False)):
        described = (folder / "dataset.json").read_text(encoding="utf-8")
        assert ("waveform" in described) == mentioned
        assert ("waveform_dtype" in yaml.safe_load((folder / "config.yaml").read_text("utf-8"))) == mentioned
    ours, theirs = (Dataset.open(one).info.contract for one in (data, plain))
    assert contract_differences(ours, theirs) == {"waveform_dtype": ("int16", "none")}
    assert ours.fingerprint != theirs.fingerprint
    assert ours.acoustic.fingerprint == theirs.fingerprint


@pytest.mark.slow
def test_it_validates_clean_and_a_waveform_of_another_length_is_found(data: Path, tmp_path: Path) -> None:
    assert validate_dataset(builds.copied(data, to=tmp_path / "clean"), workers=1).findings == []
    copied = builds.copied(data, to=tmp_path / "copied")
    stem = damage.stems(copied)[0]
    first, *others = damage.payloads(copied, stem=stem)
    (whole,) = decode(first)["waveform"]
    changed = {
        "shape": damage.edit_record(first, waveform=[whole[:20]]),
        "shape of half a sample more": damage.edit_record(first, waveform=[whole + b"\0"]),
        "schema without it": first.replace(b"waveform", b"waveforn"),
        "schema of two": damage.edit_record(first, waveform=[whole, whole]),
    }
    for kind, payload in changed.items():
        damage.write_payloads(copied, stem=stem, payloads=[payload, *others])
        findings = validate_dataset(copied, workers=1).findings
        assert kind.partition(" ")[0] in {finding.check for finding in findings}, kind


@pytest.mark.slow
def test_wavs_are_exported_without_the_recordings(data: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(data)
    moved = shutil.copytree(data, tmp_path / "moved")
    hidden = {row["audio_path"] for split in ("train", "validation") for row in dataset.manifest(split).to_pylist()}
    with absent(hidden, at=tmp_path):
        ended = builds.run("export", "wav", str(tmp_path / "out"), "--data", str(moved))
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "metadata.jsonl").read_text("utf-8").splitlines()]
    found = {row["utterance_id"]: soundfile.read(tmp_path / "out" / row["audio"], dtype="int16") for row in rows}
    for name, record in records(data).items():
        samples, rate_hz = found[name]
        assert rate_hz == RATE_HZ
        np.testing.assert_array_equal(samples, record["waveform"])


@contextmanager
def absent(paths: set[str], *, at: Path) -> Iterator[None]:
    """Files moved away for a time."""
    places = {path: at / f"{number}.wav" for number, path in enumerate(sorted(paths))}
    for path, place in places.items():
        shutil.move(path, place)
    try:
        yield
    finally:
        for path, place in places.items():
            shutil.move(place, path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["mel_dtype=none"], "mel_dtype=none: vocoders then read the recordings; leave waveform_dtype out"),
        (["processing.loudness_lufs=-14"], "cannot hold samples above full scale, which processing.loudness_lufs may"),
    ],
)
def test_settings_that_contradict_stored_waveforms_are_refused(settings: list[str], message: str) -> None:
    overrides = ["waveform_dtype=int16", *settings]
    with pytest.raises(UserError, match=message):
        load_config(builds.LJSPEECH_CONFIG, of=BuildConfig, overrides=overrides)
    more = ["processing.max_peak=0.95"] if "lufs" in settings[0] else ["mel_dtype=float16"]
    load_config(builds.LJSPEECH_CONFIG, of=BuildConfig, overrides=[*overrides, *more])


# A process of its own: pipelines do not import TensorFlow.
READ = """
import json, sys
import tensorflow_datasets as tfds
builder = tfds.builder_from_directory(sys.argv[1])
split = "+".join(builder.info.splits)
records = builder.as_dataset(split=split).as_numpy_iterator()
found = {record["utterance_id"].decode(): record["waveform"] for record in records}
print(json.dumps({name: [str(wave.dtype), len(wave), int(wave.sum(dtype="int64"))] for name, wave in found.items()}))
"""


@pytest.mark.slow
def test_tensorflow_datasets_reads_the_waveforms(data: Path) -> None:
    refresh_descriptions(Dataset.open(data))
    ended = subprocess.run([sys.executable, "-c", READ, str(data)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    expected = {name: record["waveform"] for name, record in records(data).items()}
    assert found == {name: ["int16", len(wave), int(wave.sum(dtype="int64"))] for name, wave in expected.items()}


def test_a_build_with_waveforms_over_one_without_prepares_every_clip_again(
    corpus: Path, data: Path, tmp_path: Path
) -> None:
    folder = built(corpus, tmp_path / "data")
    built(corpus, folder, "waveform_dtype=int16")
    for path in sorted((data / "shards").iterdir()):
        assert (folder / "shards" / path.name).read_bytes() == path.read_bytes()
