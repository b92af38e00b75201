from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import layout
from shared.dataset import Contract, Dataset, DatasetInfo, ShardInfo, TokenizerIdentity, mel_statistics
from shared.errors import UserError
from shared.features import preset
from shared.files import file_sha256, write_bytes, write_json
from shared.layout import SPLITS, Layout, ShardName
from shared.processing import Processing
from shared.tables import MANIFEST, REJECTED, write_table

CONTRACT = Contract(
    features=preset("hifigan-22k"),
    mel_dtype="float16",
    tokenizer=TokenizerIdentity(location="/a/tokenizer.json", sha256="0" * 64, size=256204),
    text_preparation="nllb-moses-nfkc-1",
    processing=Processing(),
)
SHARD = ShardInfo(
    name="lj-train-00000-of-00001",
    split="train",
    inputs="5" * 32,
    records=2,
    bytes=10,
    sha256="1" * 64,
    frames=30,
    tokens=9,
    manifest_sha256="2" * 64,
    rejected=1,
    rejected_sha256="3" * 64,
    withheld=1,
    withheld_sha256="6" * 64,
    withheld_manifest_sha256="7" * 64,
)
PROCESSING = (("trim_db", 40.0), ("trim_margin_s", 0.1), ("loudness_lufs", -23.0), ("max_peak", 0.9))
names = st.from_regex(layout.SOURCE_NAME_PATTERN, fullmatch=True)
stems = st.builds(ShardName, names, st.sampled_from(SPLITS), st.integers(0, 10**6), st.integers(1, 10**6))


def info_of(contract: Contract) -> DatasetInfo:
    source = {
        "reader": "ljspeech",
        "languages": ["eng_Latn"],
        "weight": 1.0,
        "read": 3,
        "written": 2,
        "rejected": 1,
        "shards": [SHARD],
    }
    return DatasetInfo.model_validate(
        {
            "fingerprint": contract.fingerprint,
            "contract": contract,
            "sources": {"lj": source},
            "languages": {"eng_Latn": {"id": 256047, "records": 2}},
            "speakers": {"lj/LJ": {"id": 5, "records": 2}},
            "vocabulary_size": 9,
            "vocabulary_sha256": "4" * 64,
            "mel": {"mean": [0.0] * 80, "std": [1.0] * 80},
            "selection": {"checks": {"min_snr_db": 5.0}, "characters_per_second": {"lj": {"eng_Latn": [9.0, 20.0]}}},
        }
    )


@pytest.fixture
def published(tmp_path: Path) -> Path:
    write_json(Layout(tmp_path).info, info_of(CONTRACT))
    Layout(tmp_path).success.touch()
    return tmp_path


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), "utf-8")


@given(stems)
def test_a_shard_name_is_parsed_back_from_its_text(stem: ShardName) -> None:
    assert ShardName.parse(str(stem)) == stem


@given(st.text() | st.from_regex(r"[a-z0-9_]{1,3}-(train|validation)-\d{4,6}-of-\d{4,6}\n?"))
def test_a_text_is_parsed_to_the_shard_name_that_prints_it_or_refused(text: str) -> None:
    try:
        stem = ShardName.parse(text)
    except ValueError:
        return
    assert str(stem) == text


@pytest.mark.parametrize(
    "text",
    [
        "lj-dev-00000-of-00001",
        "lj-train-0-of-1",
        "LJ-train-00000-of-00001",
        "a-b-train-00000-of-00001",
        "../x-train-00000-of-00001",
        "lj-train-00000-of-00001.tfrecord",
        "lj-train-٠٠٠٠٠-of-٠٠٠٠١",
    ],
)
def test_a_name_outside_the_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shard name"):
        ShardName.parse(text)


def test_a_published_dataset_opens_as_it_was_written(published: Path) -> None:
    opened = Dataset.open(published)
    assert opened.info == info_of(CONTRACT)
    assert opened.info.shards == opened.info.shards_of("train") == [SHARD]
    assert opened.info.shards_of("validation") == []


def test_the_manifest_of_a_split_concatenates_those_of_its_shards(published: Path) -> None:
    values = {pa.string(): "x", pa.int64(): 7, pa.float64(): 0.5, pa.bool_(): True}
    table = pa.Table.from_pylist([{field.name: values[field.type] for field in MANIFEST}] * 2, schema=MANIFEST)
    path = Layout(published).manifest(SHARD.name)
    path.parent.mkdir()
    write_table(path, table)
    assert Dataset.open(published).manifest("train").equals(table)
    assert Dataset.open(published).manifest("validation").equals(MANIFEST.empty_table())
    some = ("frames", "utterance_id")
    for split in SPLITS:
        manifest = Dataset.open(published).manifest
        assert manifest(split, columns=some).equals(manifest(split).select(some))


def test_a_manifest_of_far_more_rows_than_stated_is_not_read(published: Path) -> None:
    values = {pa.string(): "x", pa.int64(): 7, pa.float64(): 0.5, pa.bool_(): True}
    row = pa.Table.from_pylist([{field.name: values[field.type] for field in MANIFEST}], schema=MANIFEST)
    path = Layout(published).manifest(SHARD.name)
    path.parent.mkdir()
    write_table(path, row.take(pa.array(np.zeros(100_000, np.int64))))
    with pytest.raises(pa.ArrowInvalid, match=r"100000 rows, .* far more than 2 rows take; it was not read"):
        Dataset.open(published).manifest("train")


def test_an_absent_folder_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere: no such directory; .*`make preprocess DATA=.*nowhere` builds"):
        Dataset.open(tmp_path / "nowhere")


def test_an_empty_folder_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no dataset here \(no _SUCCESS\)"):
        Dataset.open(tmp_path)


@pytest.mark.parametrize("left", ["dataset.json", ".staging/report.json"])
def test_an_unfinished_build_is_no_dataset(left: str, tmp_path: Path) -> None:
    (tmp_path / left).parent.mkdir(exist_ok=True)
    (tmp_path / left).write_text("{}")
    with pytest.raises(UserError, match=r"a build of this dataset did not finish \(no _SUCCESS\)"):
        Dataset.open(tmp_path)


def test_another_schema_version_is_refused(published: Path) -> None:
    edit(published / "dataset.json", lambda document: document["contract"].update(schema_version=1))
    with pytest.raises(UserError, match="schema version 1; expected 3; build it again with this version"):
        Dataset.open(published)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["contract"].update(mel_dtype="float32"),
        lambda document: document["contract"]["features"].update(hop_samples=300),
        lambda document: document["contract"]["tokenizer"].update(size=1),
        lambda document: document.update(fingerprint="0" * 32),
    ],
)
def test_an_edited_contract_is_refused(change: Callable[[dict[str, Any]], object], published: Path) -> None:
    edit(published / "dataset.json", change)
    with pytest.raises(UserError, match=r"the fingerprint does not match the contract: the file was edited"):
        Dataset.open(published)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[]", b"null", b"{}", b'{"contract": []}', b'{"contract": {}}', b"[" * 100_000]
)
def test_a_broken_dataset_json_is_refused_in_one_line(content: bytes, published: Path) -> None:
    (published / "dataset.json").write_bytes(content)
    with pytest.raises(UserError, match=r"dataset\.json: not a readable dataset\.json") as caught:
        Dataset.open(published)
    assert "\n" not in str(caught.value)


def test_a_lost_dataset_json_is_refused_in_one_line(published: Path) -> None:
    (published / "dataset.json").unlink()
    with pytest.raises(UserError, match=r"not a readable dataset\.json .*No such file"):
        Dataset.open(published)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda document: document["sources"]["lj"].pop("reader"), "sources.lj.reader: Field required"),
        (lambda document: document.update(extra=1), "extra: Extra inputs"),
        (lambda document: document.update(vocabulary_sha256="G" * 64), "vocabulary_sha256: String should match"),
        (lambda document: document["mel"]["mean"].__setitem__(3, 99.0), "mel.mean.3: Input should be less than"),
        (lambda document: document["mel"]["mean"].__setitem__(3, float("-inf")), "mel.mean.3: Input should be"),
        (lambda document: document["mel"]["std"].__setitem__(3, float("nan")), "mel.std.3: Input should be"),
        (lambda document: document["mel"]["std"].__setitem__(3, 0.0), "mel.std.3: Input should be greater than 0"),
        (lambda document: document["sources"]["lj"].update(weight=0), "sources.lj.weight: Input should be greater"),
        (lambda document: document["sources"]["lj"].update(weight=float("nan")), "sources.lj.weight: Input should be"),
        (lambda document: document["sources"]["lj"]["shards"][0].update(frames=-1), "shards.0.frames: Input should be"),
    ],
)
def test_a_field_that_does_not_fit_is_named(
    change: Callable[[dict[str, Any]], object], where: str, published: Path
) -> None:
    edit(published / "dataset.json", change)
    with pytest.raises(UserError) as caught:
        Dataset.open(published)
    assert where in str(caught.value)
    assert "\n" not in str(caught.value)


def other(value: object) -> object:
    if value is None:
        return "x"
    return value + "x" if isinstance(value, str) else value + 1  # type: ignore[operator]


def test_the_fingerprint_changes_with_every_field_of_the_contract() -> None:
    facts = CONTRACT.model_dump()
    changed = [facts | {name: other(facts[name])} for name in ("schema_version", "mel_dtype", "text_preparation")]
    for field in dataclasses.fields(CONTRACT.features):
        features = facts["features"]
        changed.append(facts | {"features": features | {field.name: other(features[field.name])}})
    changed += [facts | {"processing": facts["processing"] | {name: value}} for name, value in PROCESSING]
    changed += [facts | {"tokenizer": facts["tokenizer"] | more} for more in ({"sha256": "5" * 64}, {"size": 5})]
    fingerprints = {Contract.model_validate(one).fingerprint for one in changed}
    assert CONTRACT.fingerprint not in fingerprints
    assert len(fingerprints) == len(changed) == 3 + 12 + 4 + 2


def test_the_fingerprint_does_not_depend_on_the_tokenizers_location() -> None:
    moved = CONTRACT.tokenizer.model_copy(update={"location": "/b/tokenizer.json"})
    assert CONTRACT.model_copy(update={"tokenizer": moved}).fingerprint == CONTRACT.fingerprint


def test_the_fingerprint_of_a_contract_never_changes() -> None:
    assert CONTRACT.fingerprint == "4c826064a5f7b7e9bea475fcff822cb2"


def test_write_bytes_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"old", b"", b"new"):
        write_bytes(path, content)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]


def test_when_the_disk_fails_the_old_content_stays_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_rows_give_the_same_bytes_of_a_table(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{field.name: "x" for field in REJECTED}] * 3, schema=REJECTED)
    write_table(tmp_path / "one", table)
    write_table(tmp_path / "two", pa.concat_tables([table.slice(0, 1), table.slice(1)]).combine_chunks())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert pq.read_table(tmp_path / "one").equals(table)


@given(st.binary(max_size=1000))
def test_file_sha256_is_that_of_the_content(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "content"
    path.write_bytes(content)
    assert file_sha256(path) == hashlib.sha256(content).hexdigest()


def test_mel_statistics_are_those_of_all_frames() -> None:
    mel = np.random.default_rng(0).normal(-5, [1, 2, 3], size=(1000, 3))
    found = mel_statistics(frames=1000, sums=mel.sum(axis=0), squares=np.square(mel).sum(axis=0))
    np.testing.assert_allclose(found.mean, mel.mean(axis=0))
    np.testing.assert_allclose(found.std, mel.std(axis=0))


def test_mel_statistics_of_no_frames_and_of_silence_do_not_divide_by_zero() -> None:
    for frames in (0, 10):
        found = mel_statistics(frames=frames, sums=np.full(3, -11.5 * frames), squares=np.full(3, 11.5**2 * frames))
        assert np.isfinite(found.mean).all()
        assert np.min(found.std) > 0
