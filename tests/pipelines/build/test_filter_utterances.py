"""Filtering of prepared utterances; a changed threshold decodes nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.build.filter_utterances import MIN_UTTERANCES_FOR_RATE, speech_rate_range
from pipelines.build.input_states import input_state
from pipelines.validation.validate import validate_dataset
from preprocess.record import Preparation
from preprocess.utterance import Utterance
from shared.dataset import Dataset
from shared.tables import take_rows
from tests.pipelines import builds

RATE_HZ = 22050


def rows_of(folder: Path) -> dict[str, dict]:
    """The rows of all tables in a folder, by utterance id."""
    return {
        row["utterance_id"]: row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    }


def inodes(data: Path, *, source: str = "") -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (data / "shards").glob(f"{source}*")}


@pytest.fixture
def no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if an utterance is prepared."""

    def refuse(self: Preparation, utterance: object) -> None:
        raise AssertionError(f"{utterance} was prepared again")

    monkeypatch.setattr(Preparation, "__call__", refuse)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four clips of a tone with noise of decreasing level; each clip has its own text."""
    folder = tmp_path_factory.mktemp("levels") / "corpus"
    (folder / "wavs").mkdir(parents=True)
    chance = np.random.default_rng(3)
    rows = []
    for number in range(24):
        pulses = np.repeat(chance.uniform(0.1, 1.0, 20) * (np.arange(20) % 3 > 0), RATE_HZ // 10)
        voice = 0.3 * pulses * np.sin(np.arange(len(pulses)) * (0.05 + 0.01 * number))
        noise = chance.normal(size=len(pulses)) * 10 ** (-number / 10)
        soundfile.write(folder / "wavs" / f"N{number:02d}.wav", 0.3 * (voice + noise).clip(-3, 3), RATE_HZ)
        rows.append(f"N{number:02d}|This is sentence {number}{' and more' * (number % 5)}.")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n")
    return folder


def build(data: Path, corpus: Path, *overrides: str) -> Dataset:
    words = [f"sources.ljspeech.root={corpus}", f"tokenizer={builds.TOKENIZER}", "utterances_per_shard=8"]
    defaults = ["max_rejected_fraction=1", "validation_fraction=0.2"]
    builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=[*words, *defaults, *overrides])
    return Dataset.open(data)


THRESHOLDS = [
    ("checks.min_snr_db=8",),
    ("checks.min_snr_db=20", "checks.max_silence_fraction=0.5"),
    ("checks.min_snr_db=null",),
    ("checks.max_tokens=26",),
    ("checks.min_duplicate_bits=60", "checks.min_snr_db=-100"),
    ("sources.ljspeech.max_hours=0.005", "checks.min_snr_db=null"),
]


@pytest.mark.slow
@pytest.mark.parametrize("thresholds", THRESHOLDS)
def test_filtering_again_gives_the_bytes_of_a_fresh_build_and_decodes_nothing(
    thresholds: tuple[str, ...], corpus: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    build(tmp_path / "fresh", corpus, *thresholds)
    build(tmp_path / "again", corpus)
    request.getfixturevalue("no_decoding")
    build(tmp_path / "again", corpus, *thresholds)
    assert builds.content(tmp_path / "again") == builds.content(tmp_path / "fresh")
    assert validate_dataset(tmp_path / "again").findings == []


@pytest.mark.slow
def test_changing_a_threshold_back_restores_the_dataset(corpus: Path, tmp_path: Path) -> None:
    build(tmp_path / "data", corpus)
    before = builds.content(tmp_path / "data")
    for threshold in (12, 5, 16, -100, 5):
        build(tmp_path / "data", corpus, f"checks.min_snr_db={threshold}")
    assert builds.content(tmp_path / "data") == before


@pytest.mark.slow
def test_a_shard_without_new_rejections_is_not_written(
    corpus: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    build(tmp_path / "data", corpus, "checks.min_snr_db=-100")
    before, rows = inodes(tmp_path / "data"), rows_of(tmp_path / "data/manifest")
    worst = min(rows.values(), key=lambda row: row["snr_db"])
    request.getfixturevalue("no_decoding")
    build(tmp_path / "data", corpus, f"checks.min_snr_db={worst['snr_db'] + 1e-6}")
    after = inodes(tmp_path / "data")
    assert {name for name in before if before[name] != after[name]} == {f"{worst['shard']}.tfrecord"}


def test_every_rejection_follows_from_the_columns(corpus: Path, tmp_path: Path) -> None:
    """Computed here from the kept and the filtered rows."""
    build(tmp_path / "data", corpus, "checks.min_snr_db=12", "checks.max_silence_fraction=0.6")
    kept, withheld = rows_of(tmp_path / "data/manifest"), rows_of(tmp_path / "data/withheld")
    rejected = rows_of(tmp_path / "data/rejected")
    assert len(kept) + len(withheld) == 24
    assert len(kept) > 3 < len(withheld)
    for row in (kept | withheld).values():
        good = row["snr_db"] >= 12 and row["silence_fraction"] <= 0.6
        assert (row["utterance_id"] in kept) == good
    assert set(rejected) == set(withheld)
    for name, row in withheld.items():
        assert rejected[name]["reason"] == ("silence" if row["silence_fraction"] > 0.6 else "noisy")
        assert rejected[name]["stage"] == "selection"


@pytest.mark.slow
def test_an_added_source_leaves_the_shards_of_the_others_alone(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path / "data", corpus)
    before = inodes(tmp_path / "data")
    prepared: list[str] = []
    original = Preparation.__call__
    monkeypatch.setattr(Preparation, "__call__", lambda self, one: prepared.append(one.id) or original(self, one))
    second = "sources.second={reader: ljspeech, root: tests/corpora/english, language: en}"
    build(tmp_path / "data", corpus, second)
    after = inodes(tmp_path / "data")
    assert {name: after[name] for name in before} == before
    assert len(prepared) == 32
    assert {name.split("/")[0] for name in prepared} == {"second"}
    assert validate_dataset(tmp_path / "data").findings == []


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["flip", "truncate", "remove", "table"])
def test_a_damaged_shard_is_prepared_again(spoil: str, corpus: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    build(data, corpus)
    before = builds.content(data)
    shard = sorted((data / "shards").iterdir())[0]
    table = data / "withheld" / f"{shard.stem}.parquet"
    if spoil == "flip":
        shard.write_bytes(shard.read_bytes()[:-1] + bytes([shard.read_bytes()[-1] ^ 1]))
    elif spoil == "truncate":
        shard.write_bytes(shard.read_bytes()[:-10])
    else:
        (shard if spoil == "remove" else table).unlink()
    build(data, corpus)
    assert builds.content(data) == before


@pytest.mark.slow
def test_a_replaced_recording_is_prepared_again(corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(corpus, tmp_path / "corpus")
    build(tmp_path / "data", tmp_path / "corpus", "checks.min_snr_db=null")
    before = rows_of(tmp_path / "data/manifest")
    shutil.copy(tmp_path / "corpus/wavs/N23.wav", tmp_path / "corpus/wavs/N00.wav")
    build(tmp_path / "data", tmp_path / "corpus", "checks.min_snr_db=null", "checks.min_duplicate_bits=null")
    after = rows_of(tmp_path / "data/manifest")
    changed = {name for name in before if before[name]["audio_sha256"] != after[name]["audio_sha256"]}
    assert changed == {"ljspeech/N00"}


@pytest.mark.slow
@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_of_copies_in_two_sources_that_of_the_first_in_the_config_stays(
    order: tuple[str, str], tmp_path: Path, reference: Path
) -> None:
    """The second source holds a copy of one recording, and another recording."""
    clips = sorted((reference / "corpora/LJSpeech-1.1/wavs").glob("*.wav"))[:5]
    for source, chosen in (("first", clips[:4]), ("second", clips[3:])):
        (tmp_path / source).mkdir()
        for clip in chosen:
            samples, rate_hz = soundfile.read(clip)
            soundfile.write(tmp_path / source / f"{clip.stem}.flac", samples * 0.5, rate_hz)
            (tmp_path / source / f"{clip.stem}.txt").write_text(f"The text of {clip.stem} in words.")
    sources = ", ".join(f"{one}: {{reader: folder, root: {tmp_path / one}, language: en}}" for one in order)
    words = [f"sources={{{sources}}}", f"tokenizer={builds.TOKENIZER}", "max_rejected_fraction=1.0"]
    data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=words)
    copy, original = f"{order[1]}/{clips[3].stem}", f"{order[0]}/{clips[3].stem}"
    rejected = rows_of(data / "rejected")
    assert set(rejected) == {copy}
    assert rejected[copy]["reason"] == "duplicate_audio"
    assert rejected[copy]["message"].endswith(f"a copy of {original}")
    assert len(rows_of(data / "manifest")) == 5


def test_a_copy_in_another_format_is_a_duplicate_and_the_first_stays(tmp_path: Path, reference: Path) -> None:
    """Eight clips of LJSpeech as flac and as mp3, in one folder: one of each pair is kept."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for path in sorted((reference / "corpora/ljspeech_formats/wavs").iterdir()):
        name = f"{path.stem}_{path.suffix[1:]}"
        shutil.copy(path, folder / f"{name}{path.suffix}")
        (folder / f"{name}.txt").write_text(f"The text of {name}")
    source = f"sources={{copies: {{reader: folder, root: {folder}, language: en}}}}"
    words = [source, f"tokenizer={builds.TOKENIZER}", "max_rejected_fraction=0.6"]
    builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=words)
    kept, rejected = rows_of(tmp_path / "data/manifest"), rows_of(tmp_path / "data/rejected")
    assert len(kept) == len(rejected) == 8
    assert {row["reason"] for row in rejected.values()} == {"duplicate_audio"}
    assert {row["utterance_id"].split("_")[0] for row in kept.values()} == {
        row["utterance_id"].split("_")[0] for row in rejected.values()
    }


@pytest.mark.slow
def test_repeats_and_caps_count_by_speaker(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=12)
    words = builds.overrides_for(corpus, "max_rejected_fraction=1", "validation_fraction=0")
    build_with = lambda *more: builds.build(  # noqa: E731
        tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=[*words, *more]
    )
    build_with()
    assert sorted(row["text_repeats"] for row in rows_of(tmp_path / "data/manifest").values()) == list(range(12))
    build_with("checks.max_text_repeats=3")
    assert len(rows_of(tmp_path / "data/manifest")) == 4
    build_with("sources.ljspeech.max_hours_per_speaker=0.004")
    kept = rows_of(tmp_path / "data/manifest").values()
    assert 8 < sum(row["duration_s"] for row in kept) <= 0.004 * 3600
    assert {row["reason"] for row in rows_of(tmp_path / "data/rejected").values()} == {"over_cap"}


@pytest.mark.slow
def test_utterances_over_a_cap_do_not_count_against_the_budget(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=12)
    for cap in ("max_utterances=3", "max_hours=0.002"):
        words = builds.overrides_for(corpus, f"sources.ljspeech.{cap}", "max_rejected_fraction=0")
        data = builds.build(tmp_path / cap, config=builds.LJSPEECH_CONFIG, overrides=words)
        source = Dataset.open(data).info.sources["ljspeech"]
        assert (source.read, source.written) == (12, len(rows_of(data / "manifest")))
        assert 0 < source.written < 12


@pytest.mark.slow
def test_a_training_text_that_is_also_in_validation_is_a_leak(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=12)  # one text
    words = builds.overrides_for(corpus, "validation_fraction=0.3", "max_rejected_fraction=1")
    data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=words)
    rows = rows_of(data / "manifest").values()
    assert {row["split"]: row["text_leaks"] for row in rows} == {"train": True, "validation": False}
    builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=[*words, "checks.reject_text_leaks=true"])
    assert {row["split"] for row in rows_of(data / "manifest").values()} == {"validation"}
    builds.build(tmp_path / "by_text", config=builds.LJSPEECH_CONFIG, overrides=[*words, "split_by=text"])
    assert len({row["split"] for row in rows_of(tmp_path / "by_text/manifest").values()}) == 1


@pytest.mark.slow
def test_a_text_that_a_cap_removed_from_validation_is_no_leak(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=12)  # one text
    words = builds.overrides_for(corpus, "validation_fraction=0.1", "max_rejected_fraction=1")
    data, seen = tmp_path / "data", set()
    for hours in (0.002, 0.003):
        builds.build(
            data, config=builds.LJSPEECH_CONFIG, overrides=[*words, f"sources.ljspeech.max_hours_per_speaker={hours}"]
        )
        kept = rows_of(data / "manifest").values()
        validates = any(row["split"] == "validation" for row in kept)
        assert {row["text_leaks"] for row in kept if row["split"] == "train"} == {validates}
        seen.add(validates)
    assert seen == {False, True}


@pytest.mark.slow
def test_an_id_in_both_splits_is_kept_once(tmp_path: Path) -> None:
    """Two recordings of each id; their texts differ, and the split depends on the text."""
    corpus = builds.make_corpus(tmp_path / "corpus", clips=32)
    lines = [f"{clip % 16}\twavs/C{clip:05d}.wav\tSentence {clip}." for clip in range(32)]
    (corpus / "table.tsv").write_text("\n".join(["id\taudio\ttext", *lines]) + "\n")
    columns = "{id: id, audio: audio, text: text}"
    source = f"sources={{t: {{reader: table, root: {corpus}, file: table.tsv, language: en, columns: {columns}}}}}"
    words = [source, f"tokenizer={builds.TOKENIZER}", "max_rejected_fraction=1", "validation_fraction=0.4"]
    for _ in range(2):  # the second one reuses the first
        data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=words)
        tables = [pq.read_table(path).to_pylist() for path in (data / "rejected").iterdir()]
        rejections = [(row["utterance_id"], row["reason"]) for table in tables for row in table]
        assert sorted(rejections) == sorted((f"t/{number}", "duplicate_id") for number in range(16))
        assert len(rows_of(data / "withheld")) > 3
        assert set(rows_of(data / "manifest")) == {f"t/{number}" for number in range(16)}
        assert validate_dataset(data).findings == []


def test_a_recording_that_has_become_readable_is_prepared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """chmod changes neither size nor time."""
    one = Utterance(id="a/1", audio_path=str(builds.ENGLISH / "metadata.csv"), text="x", language="x", speaker="a/b")
    before = input_state(one)
    assert input_state(one) == before
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert input_state(one) != before


@pytest.mark.slow
def test_an_impossible_speech_rate_is_outside_the_range_of_its_language(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    (folder / "wavs").mkdir(parents=True)
    wavs = sorted(Path("tests/corpora/english/wavs").iterdir())
    rows = {
        line.split("|")[0]: line.split("|")[2]
        for line in Path("tests/corpora/english/metadata.csv").read_text().splitlines()
    }
    lines = []
    for number in range(2 * len(wavs)):
        wav = wavs[number % len(wavs)]
        (folder / "wavs" / f"C{number:02d}.wav").symlink_to(wav.resolve())
        lines.append(f"C{number:02d}|{rows[wav.stem]}")
    (folder / "wavs/fast.wav").symlink_to(wavs[0].resolve())
    (folder / "wavs/slow.wav").symlink_to(wavs[1].resolve())
    lines += [f"fast|{rows[wavs[0].stem] * 6}", "slow|Oh."]
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(folder))
    rejected = rows_of(data / "rejected")
    assert {name: row["reason"] for name, row in rejected.items()} == {
        "ljspeech/fast": "too_fast",
        "ljspeech/slow": "too_slow",
    }
    low, high = Dataset.open(data).info.selection.characters_per_second["ljspeech"]["eng_Latn"]
    assert f"{low:.3g} to {high:.3g}" in rejected["ljspeech/fast"]["message"]


def test_a_language_with_few_utterances_has_no_speech_rate_range(sample: Path) -> None:
    assert all(source.written < MIN_UTTERANCES_FOR_RATE for source in Dataset.open(sample).info.sources.values())
    assert Dataset.open(sample).info.selection.characters_per_second == {
        name: {} for name in Dataset.open(sample).info.sources
    }


def test_outliers_do_not_move_the_speech_rate_range() -> None:
    rates = np.exp(np.random.default_rng(0).normal(2.5, 0.2, 10_001))
    low, high = speech_rate_range(rates, deviations=6.0)
    assert np.log(low) == pytest.approx(2.5 - 1.2, abs=0.05)
    assert np.log(high) == pytest.approx(2.5 + 1.2, abs=0.05)
    spoiled = speech_rate_range(np.concatenate([rates, np.full(500, 1000.0)]), deviations=6.0)
    np.testing.assert_allclose(spoiled, (low, high), rtol=0.1)


def test_weights_and_checks_are_in_dataset_json(corpus: Path, tmp_path: Path) -> None:
    info = build(tmp_path / "data", corpus, "sources.ljspeech.weight=0.5", "checks.min_snr_db=7.5").info
    assert info.sources["ljspeech"].weight == 0.5
    assert info.selection.checks["min_snr_db"] == 7.5


@pytest.mark.slow
def test_a_build_with_nothing_to_do_writes_no_shard_file(
    corpus: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    build(tmp_path / "data", corpus)
    files = {
        path: path.stat().st_ino for path in (tmp_path / "data").rglob("*") if path.suffix in (".tfrecord", ".parquet")
    }
    request.getfixturevalue("no_decoding")
    build(tmp_path / "data", corpus)
    assert {path: path.stat().st_ino for path in files} == files


@pytest.mark.slow
def test_texts_of_more_than_two_gigabytes_can_be_sorted() -> None:
    """An Arrow column of strings cannot hold them in one piece. Here they are 2.2 GB that share 100 MB."""
    texts = pa.array([f"{number:02d}" + "x" * 1_000_000 for number in range(100)])
    table = pa.table({"text": pa.chunked_array([texts] * 22), "row": range(2_200)})
    found = take_rows(table, [2_199, 0, 101])
    assert found["row"].to_pylist() == [2_199, 0, 101]
    assert [text.as_py()[:2] for text in found["text"]] == ["99", "00", "01"]
