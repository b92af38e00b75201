"""An export holds what the dataset holds, value for value, however often it was interrupted."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
import webdataset
from datasets import load_dataset

from pipelines.export.export import export_dataset
from pipelines.export.formats import COLUMNS, FORMATS
from pipelines.export.recordings import read_waveform
from preprocess.mel import log_mel
from shared.dataset import Dataset, ShardInfo
from shared.errors import UserError
from shared.features import FeatureSpec
from shared.files import temporary_path
from tests.pipelines import builds

Row = dict[str, Any]
WORDS = ["utterances_per_shard=8", "validation_fraction=0.2"]
SPLITS = ("train", "validation")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The sample corpus in several shards; read-only."""
    return Dataset.open(builds.build(tmp_path_factory.mktemp("sample") / "data", overrides=WORDS))


@pytest.fixture(scope="module", params=["float16", "float32"])
def either(request: pytest.FixtureRequest, dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The same with stored mels of either dtype."""
    if request.param == dataset.info.contract.mel_dtype:
        return dataset
    data = tmp_path_factory.mktemp(request.param) / "data"
    return Dataset.open(builds.build(data, overrides=[*WORDS, f"mel_dtype={request.param}"]))


def read_npy(out: Path, shard: str) -> Iterator[tuple[Row, np.ndarray]]:
    lines = (out / f"{shard}.jsonl").read_text(encoding="utf-8").splitlines()
    files = sorted((out / shard).iterdir())
    assert len(files) == len(lines)
    for line, file in zip(lines, files, strict=True):
        yield json.loads(line), np.load(file, allow_pickle=False)


def read_webdataset(out: Path, shard: str) -> Iterator[tuple[Row, np.ndarray]]:
    for sample in webdataset.WebDataset(str(out / f"{shard}.tar"), shardshuffle=False).decode():
        yield sample["json"], sample["mel.npy"]


def read_parquet(out: Path, shard: str) -> Iterator[tuple[Row, np.ndarray]]:
    table = pq.read_table(out / f"{shard}.parquet")
    dtype = table.schema.field("mel").type.value_type.value_type.to_pandas_dtype()
    for row in table.to_pylist():
        mel = row.pop("mel")
        yield row, np.array(mel, dtype)


def read_lhotse(out: Path, shard: str) -> Iterator[tuple[Row, np.ndarray]]:
    """Without lhotse, which needs PyTorch: a cut a line, and for each the mel and its description."""
    with gzip.open(out / f"{shard}.jsonl.gz") as cuts, tarfile.open(out / f"{shard}.features.tar") as tar:
        for line in cuts:
            cut, names = json.loads(line), (tar.next(), tar.next())
            assert [one.name for one in names if one] == [f"{cut['id']}.npy", f"{cut['id']}.json"]
            mel, features = (tar.extractfile(one) for one in names if one)
            assert mel is not None
            assert features is not None
            values = np.load(io.BytesIO(mel.read()), allow_pickle=False)
            described = json.loads(features.read())
            assert (described["num_frames"], described["num_features"]) == values.shape
            yield cut["custom"], values
        assert tar.next() is None


READERS: dict[str, Callable[[Path, str], Iterator[tuple[Row, np.ndarray]]]] = {
    "npy": read_npy,
    "webdataset": read_webdataset,
    "parquet": read_parquet,
    "lhotse": read_lhotse,
}


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.parametrize("format_", READERS)
def test_every_row_and_mel_is_that_of_the_dataset(either: Dataset, tmp_path: Path, format_: str) -> None:
    assert export_dataset(either, out=tmp_path, format_=format_) == len(either.info.shards) > 3
    for shard in either.info.shards:
        found = list(READERS[format_](tmp_path, shard.name))
        rows = either.manifest_of(shard).to_pylist()
        for (row, mel), expected, record in zip(found, rows, either.records_of(shard), strict=True):
            assert row == {**{name: expected[name] for name in COLUMNS}, "token_ids": list(record.tokens)}
            assert mel.dtype == either.info.contract.mel_dtype
            np.testing.assert_array_equal(mel, record.mel)
    state = json.loads((tmp_path / "export.json").read_bytes())
    assert state["contract"] == either.info.contract.model_dump(mode="json")
    assert state["shards"].keys() == {shard.name for shard in either.info.shards}


@pytest.mark.parametrize("format_", FORMATS)
def test_an_export_whose_files_are_gone_is_completed(dataset: Dataset, tmp_path: Path, format_: str) -> None:
    export_dataset(dataset, out=tmp_path, format_=format_)
    whole = content(tmp_path)
    for path in sorted(tmp_path.glob(f"{dataset.info.shards[0].name}*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert export_dataset(dataset, out=tmp_path, format_=format_) == 1
        assert content(tmp_path) == whole


@pytest.mark.parametrize("format_", FORMATS)
def test_an_interrupted_export_continues(dataset: Dataset, tmp_path: Path, format_: str) -> None:
    def interrupted(shards: list[ShardInfo]) -> Iterator[ShardInfo]:
        yield from shards[:2]
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        export_dataset(dataset, out=out, format_=format_, with_progress=interrupted)
    first = out / f"{dataset.info.shards[0].name}{FORMATS[format_].suffix}"
    written = first.stat().st_ino
    assert export_dataset(dataset, out=out, format_=format_) == len(dataset.info.shards) - 2
    assert first.stat().st_ino == written
    export_dataset(dataset, out=tmp_path / "undisturbed", format_=format_)
    assert content(out) == content(tmp_path / "undisturbed")
    assert export_dataset(dataset, out=out, format_=format_) == 0


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_shards_that_the_dataset_no_longer_has_go(dataset: Dataset, tmp_path: Path, format_: str) -> None:
    export_dataset(dataset, out=tmp_path / "out", format_=format_)
    (tmp_path / "out" / "english-train-00000-of-00777").mkdir()  # of an export that was killed
    (tmp_path / "out" / "english-train-00001-of-00777.tar").touch()
    words = ["utterances_per_shard=1000", "validation_fraction=0.2"]
    other = Dataset.open(builds.build(tmp_path / "data", overrides=words))
    export_dataset(other, out=tmp_path / "out", format_=format_)
    export_dataset(other, out=tmp_path / "from_nothing", format_=format_)
    assert content(tmp_path / "out") == content(tmp_path / "from_nothing")


def test_another_dataset_is_not_exported_over_an_export(dataset: Dataset, tmp_path: Path) -> None:
    """Its shards are no longer those of a dataset that changed: they would all be removed."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=4)
    overrides = builds.overrides_for(corpus)
    other = Dataset.open(builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides))
    export_dataset(other, out=tmp_path / "out", format_="npy")
    before = content(tmp_path / "out")
    with pytest.raises(UserError, match=r"another dataset, with the sources ljspeech; .* has english,"):
        export_dataset(dataset, out=tmp_path / "out", format_="npy")
    assert content(tmp_path / "out") == before


def test_a_wav_is_the_recording_that_its_mel_was_computed_from(dataset: Dataset, tmp_path: Path) -> None:
    """As it is where the recording has the mels' rate and is not processed."""
    export_dataset(dataset, out=tmp_path / "out", format_="wav")
    rows = [json.loads(line) for line in (tmp_path / "out" / "metadata.jsonl").open(encoding="utf-8")]
    assert len(rows) == sum(shard.records for shard in dataset.info.shards)
    as_they_are = [row for row in rows if row["audio_rate_hz"] == 22050]
    assert len(as_they_are) > 10
    for row in as_they_are:
        samples, rate_hz = soundfile.read(tmp_path / "out" / row["audio"], dtype="int16")
        np.testing.assert_array_equal(samples, soundfile.read(row["audio_path"], dtype="int16")[0])
        assert (rate_hz, soundfile.info(tmp_path / "out" / row["audio"]).subtype) == (22050, "PCM_16")


def test_the_samples_of_one_utterance_are_those_of_its_wav(dataset: Dataset, tmp_path: Path) -> None:
    export_dataset(dataset, out=tmp_path / "out", format_="wav")
    for line in (tmp_path / "out" / "metadata.jsonl").read_text(encoding="utf-8").splitlines()[::9]:
        row = json.loads(line)
        expected, _ = soundfile.read(tmp_path / "out" / row["audio"], dtype="int16")
        np.testing.assert_array_equal(read_waveform(dataset, row["utterance_id"]), expected)
    with pytest.raises(UserError, match="no record of 'english/absent'"):
        read_waveform(dataset, "english/absent")


@pytest.mark.slow
def test_wavs_are_resampled_and_processed_as_for_the_mels(tmp_path: Path) -> None:
    words = [*WORDS, "features=vocos-24k", "processing={trim_db: 40, max_peak: 0.5}"]
    dataset = Dataset.open(builds.build(tmp_path / "data", overrides=words))
    export_dataset(dataset, out=tmp_path / "out", format_="wav")
    for row in map(json.loads, (tmp_path / "out" / "metadata.jsonl").open(encoding="utf-8")):
        samples, rate_hz = soundfile.read(tmp_path / "out" / row["audio"], dtype="float32")
        assert rate_hz == 24000
        check_mel(samples, expected=dataset.record(row["utterance_id"]).mel, spec=dataset.info.contract.features)


def check_mel(samples: np.ndarray, *, expected: np.ndarray, spec: FeatureSpec) -> None:
    """The mel of samples that were rounded to 16 bits is nearly the one of the samples before, but in silence."""
    mel = log_mel(samples, spec=spec)
    assert mel.shape == expected.shape
    loud = expected > np.float16(-6.0)
    assert np.abs(mel[loud] - expected[loud]).mean() < 0.01


@pytest.mark.slow
def test_exported_recordings_build_the_dataset_again(dataset: Dataset, tmp_path: Path) -> None:
    """Also without mels, as for a vocoder, where nothing but 16-bit wavs at the mels' rate is taken."""
    export_dataset(dataset, out=tmp_path / "out", format_="wav")
    columns = "{audio: audio, text: original_text, id: utterance_id, speaker: speaker, language: language}"
    source = f"{{reader: table, root: {tmp_path / 'out'}, file: metadata.jsonl, columns: {columns}}}"
    for mel_dtype in ("float16", "none"):
        words = [f"sources={{again: {source}}}", f"mel_dtype={mel_dtype}", "validation_fraction=0"]
        again = Dataset.open(builds.build(tmp_path / mel_dtype, overrides=words))
        found = {record.utterance_id.removeprefix("again/"): record for record in again.records("train")}
        expected = {record.utterance_id: record for split in SPLITS for record in dataset.records(split)}
        assert found.keys() == expected.keys()
        for name, record in found.items():
            assert record.tokens == expected[name].tokens
            assert record.frames == expected[name].frames
    assert export_dataset(again, out=tmp_path / "none-out", format_="wav") > 0
    copied, original = (content(tmp_path / name) for name in ("none-out", "out"))
    assert sorted(data for path, data in copied.items() if path.endswith(".wav")) == sorted(
        data for path, data in original.items() if path.endswith(".wav")
    )


def test_a_recording_that_changed_or_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    wav = shutil.copy(next((builds.ENGLISH / "wavs").glob("*.wav")), tmp_path / "corpus/a.wav")
    (tmp_path / "corpus/a.txt").write_text("Yes.")
    words = [f"sources={{one: {{reader: folder, root: {tmp_path / 'corpus'}, language: en}}}}", "validation_fraction=0"]
    dataset = Dataset.open(builds.build(tmp_path / "data", overrides=[*words, "max_rejected_fraction=0"]))
    samples, rate_hz = soundfile.read(wav, dtype="int16")
    soundfile.write(wav, samples // 2, rate_hz)
    with pytest.raises(UserError, match=r"a\.wav: is not what it was when the dataset was built; `make validate"):
        export_dataset(dataset, out=tmp_path / "out", format_="wav")
    Path(wav).unlink()
    with pytest.raises(UserError, match=r"^the recording of one/a: No such file or directory: .*a\.wav$"):
        export_dataset(dataset, out=tmp_path / "out", format_="wav")
    assert not list((tmp_path / "out").rglob("*.wav"))


def test_hugging_face_reads_the_tables_as_they_are(dataset: Dataset, tmp_path: Path) -> None:
    export_dataset(dataset, out=tmp_path / "out", format_="parquet")
    files = [str(tmp_path / "out" / f"{shard.name}.parquet") for shard in dataset.info.shards_of("train")]
    read = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    for row, record in zip(read, dataset.records("train"), strict=True):
        assert (row["utterance_id"], row["token_ids"]) == (record.utterance_id, list(record.tokens))
        np.testing.assert_array_equal(np.array(row["mel"], np.float16), record.mel)


def test_a_folder_with_something_else_is_left_alone(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("Do not lose this.")
    with pytest.raises(UserError, match="not empty, and no export"):
        export_dataset(dataset, out=tmp_path, format_="npy")
    assert content(tmp_path) == {"thesis.txt": b"Do not lose this."}


def test_an_export_in_another_format_and_a_damaged_one_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    export_dataset(dataset, out=tmp_path, format_="webdataset")
    with pytest.raises(UserError, match=r"holds webdataset of contract .*; expected npy of"):
        export_dataset(dataset, out=tmp_path, format_="npy")
    (tmp_path / "export.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"export\.json: not that of an export"):
        export_dataset(dataset, out=tmp_path, format_="webdataset")
    with pytest.raises(UserError, match="unknown format 'zip'; expected one of npy, webdataset, parquet, lhotse, wav"):
        export_dataset(dataset, out=tmp_path, format_="zip")


@pytest.mark.parametrize("name", ["../precious", "/precious", "english-train-00000-of-00001/../../precious"])
def test_a_folder_from_elsewhere_cannot_name_what_is_removed(dataset: Dataset, tmp_path: Path, name: str) -> None:
    (tmp_path / "precious").mkdir()
    export_dataset(dataset, out=tmp_path / "out", format_="npy")
    state = json.loads((tmp_path / "out" / "export.json").read_bytes())
    state["shards"][name] = "0" * 64
    (tmp_path / "out" / "export.json").write_text(json.dumps(state))
    with pytest.raises(UserError, match=r"export\.json: not that of an export"):
        export_dataset(dataset, out=tmp_path / "out", format_="npy")
    assert (tmp_path / "precious").is_dir()


@pytest.mark.parametrize("format_", READERS)
def test_what_was_deleted_and_what_a_killed_export_left_are_seen(
    dataset: Dataset, tmp_path: Path, format_: str
) -> None:
    export_dataset(dataset, out=tmp_path, format_=format_)
    before = content(tmp_path)
    first = tmp_path / f"{dataset.info.shards[0].name}{FORMATS[format_].suffix}"
    first.rename(temporary_path(first))
    if FORMATS[format_].has_folder:
        shutil.rmtree(tmp_path / dataset.info.shards[1].name)
    assert export_dataset(dataset, out=tmp_path, format_=format_) == 1 + FORMATS[format_].has_folder
    assert content(tmp_path) == before


def test_rows_that_changed_without_their_records_are_exported_again(dataset: Dataset, tmp_path: Path) -> None:
    export_dataset(dataset, out=tmp_path, format_="parquet")
    source = dataset.info.sources[min(dataset.info.sources)]
    changed = source.shards[0].model_copy(update={"manifest_sha256": "0" * 64})
    sources = dataset.info.sources | {
        min(dataset.info.sources): source.model_copy(update={"shards": (changed, *source.shards[1:])})
    }
    moved = dataset._replace(info=dataset.info.model_copy(update={"sources": sources}))
    assert export_dataset(moved, out=tmp_path, format_="parquet") == 1


@pytest.mark.parametrize(
    ("error", "message"), [(OSError(28, "No space left on device"), "No space left"), (OSError("short"), "short")]
)
def test_a_full_disk_is_one_line(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(UserError, match=rf"parquet: {message}.*the same command continues"):
        export_dataset(dataset, out=tmp_path, format_="parquet")


def test_a_url_is_no_folder(dataset: Dataset) -> None:
    with pytest.raises(UserError, match="a folder of this machine"):
        export_dataset(dataset, out=Path("gs://bucket/out"), format_="npy")


def test_a_damaged_record_is_named_and_its_shard_not_written(dataset: Dataset, tmp_path: Path) -> None:
    data = builds.copied(Path(str(dataset.layout.root)), to=tmp_path / "data")
    shard = dataset.info.shards[1].name
    path = data / "shards" / f"{shard}.tfrecord"
    spoilt = bytearray(path.read_bytes())
    spoilt[len(spoilt) // 2] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(UserError, match=rf"{shard}\.tfrecord: record \d+ at byte \d+: .*make validate"):
        export_dataset(Dataset.open(data), out=tmp_path / "out", format_="parquet")
    assert sorted(content(tmp_path / "out")) == sorted(["export.json", f"{dataset.info.shards[0].name}.parquet"])


def test_a_dataset_without_mels_is_refused(tmp_path: Path) -> None:
    words = ["mel_dtype=none", "max_rejected_fraction=1"]
    data = builds.build(tmp_path / "data", overrides=words)
    with pytest.raises(UserError, match="no mels to export"):
        export_dataset(Dataset.open(data), out=tmp_path / "out", format_="npy")


@pytest.mark.slow
def test_the_command_says_how_many_shards_it_exported(dataset: Dataset, tmp_path: Path) -> None:
    words = ("export", "npy", str(tmp_path), "--data", str(dataset.layout.root))
    for count in (len(dataset.info.shards), 0):
        ended = builds.run(*words)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == f"{tmp_path}: {count} of {len(dataset.info.shards)} shards exported now, as npy\n"


@pytest.mark.soak
@pytest.mark.torch
@pytest.mark.parametrize("features", ["hifigan-22k", "vocos-24k"])
def test_lhotse_reads_its_cuts_and_their_mels(features: str, tmp_path: Path) -> None:
    from lhotse import CutSet

    words = [*WORDS, f"features={features}"]
    dataset = Dataset.open(builds.build(tmp_path / "data", overrides=words))
    out = tmp_path / "out"
    export_dataset(dataset, out=out, format_="lhotse")
    fields = {"cuts": sorted(out.glob("*.jsonl.gz")), "features": sorted(out.glob("*.features.tar"))}
    found = {cut.id: cut for cut in CutSet.from_shar(fields=fields)}
    rows = {row["utterance_id"]: row for split in SPLITS for row in dataset.manifest(split).to_pylist()}
    assert found.keys() == rows.keys()
    for split in SPLITS:
        for record in dataset.records(split):
            cut, row = found[record.utterance_id], rows[record.utterance_id]
            np.testing.assert_array_equal(cut.load_features(), record.mel)
            (said,) = cut.supervisions
            assert (said.text, said.language, said.speaker) == (row["text"], row["language"], row["speaker"])
            assert cut.custom["token_ids"] == list(record.tokens)
            assert cut.duration == pytest.approx(row["duration_s"], abs=cut.frame_shift)
            assert cut.num_frames == record.frames
            assert cut.sampling_rate == dataset.info.contract.features.sample_rate_hz
