"""Every utterance that was read is written or rejected; each rejection has a reason."""

from __future__ import annotations

import collections
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.validation.validate import validate_dataset
from tests.pipelines import builds


def rejected(data: Path) -> list[dict[str, str]]:
    return [row for path in sorted((data / "rejected").iterdir()) for row in pq.read_table(path).to_pylist()]


def written(data: Path) -> list[dict]:
    return [row for path in sorted((data / "manifest").iterdir()) for row in pq.read_table(path).to_pylist()]


def sources(data: Path) -> dict[str, dict]:
    return json.loads((data / "dataset.json").read_text())["sources"]


def row(name: str, *, text: str = "The kettle sings.") -> str:
    return f"{name}|{text}|{text}"


@pytest.fixture
def corpus(tmp_path: Path, reference: Path) -> Path:
    """Thirty good clips, and one clip with each fault."""
    folder = builds.make_corpus(
        tmp_path / "corpus",
        clips=30,
        bad_rows=[
            "F01 with too few fields",
            "F02|with|too|many|fields",
            row("F03_missing"),
            row("F04_empty"),
            row("F05_no_audio"),
            row("F06_folder"),
            row("../F07"),
            row("a/../../F08"),
            row("/etc/passwd"),
            row("F09\0"),
            row("C00001", text="The id of another."),
            row("F10_silent"),
            row("F11_short"),
            row("F12_long"),
            row("F13_no_text", text=" "),
            row("F14_much_text", text="to be or not to be " * 200),
            row("F15_nan"),
            row("F16" + "x" * 300),
            "|no id|no id",
            "",
            "   ",
        ],
    )
    wavs = folder / "wavs"
    (wavs / "F04_empty.wav").write_bytes((reference / "corpora/audio_formats/empty.wav").read_bytes())
    (wavs / "F05_no_audio.wav").write_bytes(b"RIFF, but not a wave at all")
    (wavs / "F06_folder.wav").mkdir()
    (wavs / "F14_much_text.wav").symlink_to((wavs / "C00000.wav").resolve())
    soundfile.write(wavs / "F10_silent.wav", np.zeros(22050), 22050, subtype="PCM_16")
    soundfile.write(wavs / "F11_short.wav", np.zeros(22050 // 4), 22050, subtype="PCM_16")
    soundfile.write(wavs / "F12_long.wav", np.zeros(22050 * 21), 22050, subtype="PCM_16")
    soundfile.write(wavs / "F15_nan.wav", np.full(22050, np.nan, np.float32), 22050, subtype="FLOAT")
    with (folder / "metadata.csv").open("ab") as file:
        file.write(b"F17|\xff\xfe|not UTF-8\n")
    return folder


@pytest.mark.slow
def test_each_fault_has_its_reason(corpus: Path, tmp_path: Path) -> None:
    overrides = builds.overrides_for(corpus, "max_rejected_fraction=0.6", "validation_fraction=0.2")
    data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides)
    lines = (corpus / "metadata.csv").read_bytes().split(b"\n")
    number = {line.split(b"|")[0].decode(): at for at, line in enumerate(lines, start=1)}

    def bad_row(name: str) -> str:
        return f"ljspeech/metadata.csv:{number[name]}"

    assert {(one["utterance_id"], one["reason"]) for one in rejected(data)} == {
        (bad_row("F01 with too few fields"), "bad_metadata_row"),
        (bad_row("F02"), "bad_metadata_row"),
        (f"ljspeech/metadata.csv:{lines.index(b'|no id|no id') + 1}", "bad_metadata_row"),
        (bad_row("F17"), "bad_metadata_row"),
        (bad_row("../F07"), "unsafe_path"),
        (bad_row("a/../../F08"), "unsafe_path"),
        (bad_row("/etc/passwd"), "unsafe_path"),
        (bad_row("F09\0"), "unsafe_path"),
        ("ljspeech/F03_missing", "missing_audio"),
        ("ljspeech/F04_empty", "empty_audio"),
        ("ljspeech/F05_no_audio", "unreadable_audio"),
        ("ljspeech/F06_folder", "missing_audio"),
        ("ljspeech/C00001", "duplicate_id"),
        ("ljspeech/F10_silent", "too_quiet"),
        ("ljspeech/F11_short", "too_short"),
        ("ljspeech/F12_long", "too_long"),
        ("ljspeech/F13_no_text", "empty_text"),
        ("ljspeech/F14_much_text", "too_many_tokens"),
        ("ljspeech/F15_nan", "non_finite_audio"),
        ("ljspeech/F16" + "x" * 300, "missing_audio"),
    }
    clips = {f"ljspeech/C{clip:05d}" for clip in range(30)}
    assert {one["utterance_id"] for one in written(data)} == clips
    assert sum(1 for line in lines if line.strip()) == sources(data)["ljspeech"]["read"]
    assert all(one["message"] and one["stage"] for one in rejected(data))
    assert validate_dataset(data).findings == []


@pytest.mark.slow
def test_one_bad_clip_of_forty_passes_the_budget_and_is_listed(tmp_path: Path, command: Callable) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=39, bad_rows=[row("gone")])
    outcome = command(*builds.build_words(corpus, data=tmp_path / "data"))
    assert outcome.code == 0
    assert "rejected utterances with their reasons" in outcome.out
    (one,) = rejected(tmp_path / "data")
    assert one["utterance_id"] == "ljspeech/gone"
    assert one["reason"] == "missing_audio"
    assert one["audio_path"] == str(corpus / "wavs/gone.wav")


@pytest.mark.slow
def test_a_language_over_its_budget_stops_the_build_though_all_together_are_not(
    tmp_path: Path, command: Callable
) -> None:
    large = builds.make_corpus(tmp_path / "large", clips=60)
    small = builds.make_corpus(tmp_path / "small", clips=47, bad_rows=[row(f"gone{number}") for number in range(3)])
    words = builds.build_words(
        large,
        f"sources.german={{reader: ljspeech, root: {small}, language: deu_Latn}}",
        data=tmp_path / "data",
    )
    outcome = command(*words)
    assert outcome.code == 2
    assert "3 of 50 utterances (deu_Latn) were rejected: 3 missing_audio" in outcome.err
    assert not (tmp_path / "data/_SUCCESS").exists()
    listed = next((tmp_path / "data/.staging").iterdir()) / "rejected"
    assert str(listed) in outcome.err
    assert sum(len(pq.read_table(path)) for path in listed.iterdir()) == 3


@pytest.mark.slow
def test_one_bad_clip_of_a_language_with_few_stops_no_build(tmp_path: Path, command: Callable) -> None:
    """It did: a build of a hundred languages fell over one bad clip of twelve."""
    large = builds.make_corpus(tmp_path / "large", clips=60)
    small = builds.make_corpus(tmp_path / "small", clips=11, bad_rows=[row("gone")])
    german = f"sources.german={{reader: ljspeech, root: {small}, language: deu_Latn}}"
    assert command(*builds.build_words(large, german, data=tmp_path / "data")).code == 0
    assert [(one["utterance_id"], one["reason"]) for one in rejected(tmp_path / "data")] == [
        ("german/gone", "missing_audio")
    ]


@pytest.mark.slow
def test_a_rejected_row_without_a_language_counts_among_all_only(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=30)
    lines = [f"wavs/C{clip:05d}.wav\tSentence {clip}.\ten" for clip in range(30)]
    (corpus / "table.tsv").write_text("\n".join(["audio\ttext\tlanguage", *lines, "x.wav\tNo.\tklingon"]) + "\n")
    columns = "{audio: audio, text: text, language: language}"
    source = f"sources={{t: {{reader: table, root: {corpus}, file: table.tsv, columns: {columns}}}}}"
    data = builds.build(
        tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=[source, f"tokenizer={builds.TOKENIZER}"]
    )
    assert [(one["language"], one["reason"]) for one in rejected(data)] == [("", "unknown_language")]
    assert validate_dataset(data).findings == []


@pytest.mark.slow
def test_exactly_the_allowed_share_of_rejections_passes(tmp_path: Path) -> None:
    """0.29 · 100 is 28.999… in floating point."""
    gone = [row(f"gone{number}") for number in range(29)]
    corpus = builds.make_corpus(tmp_path / "corpus", clips=71, bad_rows=gone)
    words = builds.overrides_for(corpus, "max_rejected_fraction=0.29")
    data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=words)
    assert (len(written(data)), len(rejected(data))) == (71, 29)


def test_the_number_read_is_the_number_in_the_metadata_files(sample: Path) -> None:
    lines = {
        name: [line for line in Path(path).read_text(encoding="utf-8").split("\n")[header:] if line.strip()]
        for name, path, header in (
            ("english", "tests/corpora/english/metadata.csv", 0),
            ("german", "tests/corpora/german/de/validated.tsv", 1),
            ("persian", "tests/corpora/persian/fa/validated.tsv", 1),
        )
    }
    in_rows = collections.Counter(one["utterance_id"].split("/")[0] for one in (*written(sample), *rejected(sample)))
    for name, source in sources(sample).items():
        assert source["read"] == source["written"] + source["rejected"] == len(lines[name]) == in_rows[name]
        assert source["written"] == sum(shard["records"] for shard in source["shards"])
