"""Datasets that store pitch and energy beside the mels: what records hold, what stays as it is, what is checked."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml

from pipelines.config import BuildConfig
from pipelines.descriptions.refresh import refresh_descriptions
from pipelines.export.export import export_dataset
from pipelines.validation.validate import validate_dataset
from preprocess.mel import frame_energy
from preprocess.pitch import frame_pitch
from shared.config import load_config
from shared.dataset import Dataset, contract_differences
from shared.errors import UserError
from shared.records import Record, decode
from tests.pipelines import builds, damage

CLIPS = 8
OVERRIDES = ("utterances_per_shard=4", "validation_fraction=0.3", "split_by=utterance")
NAMES = ("energy", "pitch_hz")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.make_corpus(tmp_path_factory.mktemp("corpus") / "corpus", clips=CLIPS)


def built(corpus: Path, data: Path, *more: str) -> Path:
    return builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus, *OVERRIDES, *more))


@pytest.fixture(scope="module")
def data(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with both; tests must not change it."""
    return built(corpus, tmp_path_factory.mktemp("data") / "data", "pitch=dio", "energy=true")


@pytest.fixture(scope="module")
def plain(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(corpus, tmp_path_factory.mktemp("plain") / "data")


def records(data: Path) -> dict[str, Record]:
    dataset = Dataset.open(data)
    return {one.utterance_id: one for split in ("train", "validation") for one in dataset.records(split)}


def test_the_values_are_those_of_the_recording(data: Path, corpus: Path) -> None:
    found, spec = records(data), Dataset.open(data).info.contract.features
    assert len(found) == CLIPS
    for name, record in found.items():
        path = corpus / "wavs" / f"{name.partition('/')[2]}.wav"
        samples, rate_hz = soundfile.read(path, dtype="float32")
        assert rate_hz == spec.sample_rate_hz
        np.testing.assert_array_equal(record.pitch_hz, frame_pitch(samples, spec=spec, method="dio"))
        np.testing.assert_array_equal(record.energy, frame_energy(samples, spec=spec))
        assert record.pitch_hz is not None
        assert 0.1 < (record.pitch_hz > 0).mean() < 0.95


def test_each_is_stored_alone_too(corpus: Path, data: Path, tmp_path: Path) -> None:
    whole = records(data)
    for setting, there, absent in (("energy=true", "energy", "pitch_hz"), ("pitch=dio", "pitch_hz", "energy")):
        for name, record in records(built(corpus, tmp_path / there, setting)).items():
            assert getattr(record, absent) is None
            np.testing.assert_array_equal(getattr(record, there), getattr(whole[name], there))


def test_everything_else_is_as_without_them(data: Path, plain: Path) -> None:
    with_values, without = records(data), records(plain)
    assert with_values.keys() == without.keys()
    for name, record in without.items():
        other = with_values[name]
        assert record.pitch_hz is record.energy is None
        np.testing.assert_array_equal(record.mel, other.mel)
        assert (record.tokens, record.text, record.frames) == (other.tokens, other.text, other.frames)


def test_a_dataset_without_them_does_not_mention_them(data: Path, plain: Path) -> None:
    """So its bytes are those of before there were any."""
    for folder, mentioned in ((data, True), (plain, False)):
        contract = json.loads((folder / "dataset.json").read_bytes())["contract"]
        config = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
        for name in ("pitch", "energy"):
            assert (name in contract) == (name in config) == mentioned
    ours, theirs = (Dataset.open(one).info.contract for one in (data, plain))
    assert contract_differences(ours, theirs) == {"pitch": ("dio", "none"), "energy": (True, False)}
    assert ours.fingerprint != theirs.fingerprint
    assert ours.acoustic.fingerprint == theirs.fingerprint


@pytest.mark.slow
def test_it_validates_clean_and_damaged_values_are_found(data: Path, tmp_path: Path) -> None:
    assert validate_dataset(builds.copied(data, to=tmp_path / "clean"), workers=1).findings == []
    copied = builds.copied(data, to=tmp_path / "copied")
    stem = damage.stems(copied)[0]
    first, *others = damage.payloads(copied, stem=stem)
    (whole,) = decode(first)["pitch_hz"]
    values = np.frombuffer(whole, "<f4").copy()
    negative, infinite = values.copy(), values.copy()
    negative[3], infinite[-1] = -1, np.inf
    changed = {
        "shape": damage.edit_record(first, pitch_hz=[whole[:-4]]),
        "shape of a byte more": damage.edit_record(first, energy=[whole + b"\0"]),
        "range": damage.edit_record(first, pitch_hz=[negative.tobytes()]),
        "range of infinity": damage.edit_record(first, energy=[infinite.tobytes()]),
        "schema without it": first.replace(b"energy", b"energi"),
    }
    for kind, payload in changed.items():
        damage.write_payloads(copied, stem=stem, payloads=[payload, *others])
        findings = validate_dataset(copied, workers=1).findings
        assert kind.partition(" ")[0] in {finding.check for finding in findings}, kind


@pytest.mark.slow
def test_a_clip_is_traced_and_a_damaged_shard_is_made_again_to_the_same_bytes(
    data: Path, tmp_path: Path, command: Callable
) -> None:
    traced = command("trace", "ljspeech/C00002", "--data", data, "--reproduce")
    assert "the same bytes" in traced.out, traced.err
    assert "pitch by dio, energy" in traced.out
    copied = builds.copied(data, to=tmp_path / "copied")
    shard = sorted((copied / "shards").iterdir())[0]
    shard.write_bytes(shard.read_bytes()[:-100])
    ended = command("repair", "--data", copied)
    assert ended.code == 0, ended.err
    assert shard.read_bytes() == (data / "shards" / shard.name).read_bytes()


def test_a_build_with_them_over_one_without_prepares_every_clip_again(
    corpus: Path, data: Path, plain: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(plain, tmp_path / "data")
    built(corpus, folder, "pitch=dio", "energy=true")
    for path in sorted((data / "shards").iterdir()):
        assert (folder / "shards" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("format_", ["npy", "webdataset", "parquet"])
def test_exports_have_them(data: Path, tmp_path: Path, format_: str) -> None:
    dataset = Dataset.open(data)
    export_dataset(dataset, out=tmp_path, format_=format_)
    for shard in dataset.info.shards:
        for index, record in enumerate(dataset.records_of(shard)):
            for name in NAMES:
                values = _exported(tmp_path, shard.name, index, name=name, format_=format_)
                np.testing.assert_array_equal(values, getattr(record, name))
                assert values.dtype == np.float32


def test_an_export_without_them_is_the_same_with_and_without_them(data: Path, plain: Path, tmp_path: Path) -> None:
    assert export_dataset(Dataset.open(plain), out=tmp_path, format_="lhotse") > 0
    before = (tmp_path / "export.json").read_bytes()
    export_dataset(Dataset.open(data), out=tmp_path, format_="lhotse")
    assert json.loads(before)["contract"] == json.loads((tmp_path / "export.json").read_bytes())["contract"]


def _exported(out: Path, shard: str, index: int, *, name: str, format_: str) -> np.ndarray:
    if format_ == "npy":
        return np.load(out / shard / f"{index:06d}.{name}.npy", allow_pickle=False)
    if format_ == "parquet":
        return pq.read_table(out / f"{shard}.parquet")[name][index].values.to_numpy()
    with tarfile.open(out / f"{shard}.tar") as tar:
        file = tar.extractfile(f"{shard}-{index:06d}.{name}.npy")
        assert file is not None
        return np.load(io.BytesIO(file.read()), allow_pickle=False)


# A process of its own: pipelines do not import TensorFlow.
READ = """
import json, sys
import tensorflow_datasets as tfds
builder = tfds.builder_from_directory(sys.argv[1])
records = builder.as_dataset(split="+".join(builder.info.splits)).as_numpy_iterator()
found = {one["utterance_id"].decode(): [one[name].astype(float).tolist() for name in sys.argv[2:]] for one in records}
print(json.dumps(found))
"""


@pytest.mark.slow
def test_tensorflow_datasets_reads_them(data: Path, tmp_path: Path) -> None:
    folder = builds.copied(data, to=tmp_path / "data")
    refresh_descriptions(Dataset.open(folder))
    ended = subprocess.run([sys.executable, "-c", READ, str(folder), *NAMES], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    expected = {
        name: [getattr(record, value).astype(float).tolist() for value in NAMES]
        for name, record in records(data).items()
    }
    assert found == expected
    assert "pitch, energy" in json.loads((folder / "croissant.json").read_bytes())["description"]


def test_a_method_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UserError, match="pitch: found 'yin'; expected one of none, dio, harvest"):
        load_config(builds.LJSPEECH_CONFIG, of=BuildConfig, overrides=["pitch=yin"])
