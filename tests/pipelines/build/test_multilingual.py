"""One config with six sources of real recordings and two tables: six layouts, three languages."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tokenizers

from pipelines.build.build_dataset import build_dataset
from pipelines.build.dry_run import estimate_build
from pipelines.config import BuildConfig
from pipelines.validation.validate import validate_dataset
from shared.config import load_config
from shared.dataset import Dataset
from shared.records import decode
from shared.tfrecord import read_framed_records
from tests.pipelines import builds

pytestmark = pytest.mark.slow

CONFIG = "configs/preprocess_multilingual.yaml"
ROOTS = {
    "ljspeech": "LJSpeech-1.1",
    "ljspeech_flac": "ljspeech_formats",
    "ljspeech_mp3": "ljspeech_formats",
    "common_voice_fa": "common_voice_fa/fa",
    "common_voice_en": "common_voice_en/en",
    "vctk": "vctk/VCTK-Corpus",
    "mls": "mls/mls_spanish_opus",
    "librispeech": "librispeech/LibriSpeech",
}


TABLE = (
    "{{reader: table, file: metadata_{kind}.csv, separator: '|', language: en, "
    "columns: {{audio: audio_file, text: text, speaker: speaker_name}}}}"
)


def overrides(reference: Path) -> list[str]:
    """Add two tables, of the same recordings as flac and as mp3, to the config's six sources."""
    tables = [f"sources.ljspeech_{kind}={TABLE.format(kind=kind)}" for kind in ("flac", "mp3")]
    roots = [f"sources.{name}.root={reference}/corpora/{root}" for name, root in ROOTS.items()]
    kept = "checks.min_duplicate_bits=null"  # the tables hold copies of the first source
    return [*tables, *roots, f"tokenizer={reference}/nllb/tokenizer.json", kept]


@pytest.fixture(scope="module")
def data(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.build(tmp_path_factory.mktemp("eight") / "data", config=CONFIG, overrides=overrides(reference))


def rows(data: Path, folder: str = "manifest") -> list[dict]:
    return [row for path in sorted((data / folder).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def mels(data: Path, source: str) -> dict[str, np.ndarray]:
    """By the stem of the audio file."""
    stems = {row["utterance_id"]: Path(row["audio_path"]).stem for row in rows(data)}
    found = {}
    for path in (data / "shards").glob(f"{source}-*.tfrecord"):
        with path.open("rb") as file:
            for frame in read_framed_records(file):
                features = decode(frame.payload)
                mel = np.frombuffer(features["mel"][0], "<f2").reshape(-1, 80)
                found[stems[features["utterance_id"][0].decode()]] = mel.astype(np.float32)
    return found


def test_every_corpus_is_read_to_its_last_clip_and_written_or_rejected(data: Path, reference: Path) -> None:
    """Counted from the corpora's own files."""
    corpora = reference / "corpora"
    listed = {
        "ljspeech": len((corpora / "LJSpeech-1.1/metadata.csv").read_text().splitlines()),
        "ljspeech_flac": len(list((corpora / "ljspeech_formats/wavs").glob("*.flac"))),
        "ljspeech_mp3": len(list((corpora / "ljspeech_formats/wavs").glob("*.mp3"))),
        "common_voice_fa": len(list((corpora / "common_voice_fa/fa/clips").iterdir())),
        "common_voice_en": len(list((corpora / "common_voice_en/en/clips").iterdir())),
        "vctk": len(list((corpora / "vctk").rglob("*.wav"))),
        "mls": len(list((corpora / "mls").rglob("*.opus"))),
        "librispeech": len(list((corpora / "librispeech").rglob("*.flac"))),
    }
    info = Dataset.open(data).info
    assert {name: source.read for name, source in info.sources.items()} == listed
    for name, source in info.sources.items():
        assert source.read == source.written + source.rejected
        assert source.written == sum(row["shard"].startswith(f"{name}-") for row in rows(data))
        assert source.rejected == sum(row["utterance_id"].startswith(f"{name}/") for row in rows(data, "rejected"))
    assert rows(data, "rejected") == []
    assert validate_dataset(data).findings == []


def test_languages_and_speakers_are_those_of_each_corpus(data: Path) -> None:
    info = Dataset.open(data).info
    languages = {name: source.languages for name, source in info.sources.items()}
    assert languages.pop("common_voice_fa") == ("pes_Arab",)
    assert languages.pop("mls") == ("spa_Latn",)
    assert set(languages.values()) == {("eng_Latn",)}
    assert {name for name in info.speakers if name.startswith(("vctk", "mls", "libri"))} == {
        "vctk/p225",
        "vctk/p226",
        "mls/13697",
        "librispeech/61",
    }
    assert info.sources["librispeech"].weight == 0.5


def test_flac_gives_the_mels_of_its_wav_and_mp3_comes_close(data: Path) -> None:
    wav, flac, mp3 = (mels(data, source) for source in ("ljspeech", "ljspeech_flac", "ljspeech_mp3"))
    assert len(flac) == len(mp3) == 8
    for stem, mel in flac.items():
        np.testing.assert_array_equal(mel, wav[stem])
        common = min(len(mp3[stem]), len(mel))
        assert abs(len(mp3[stem]) - len(mel)) <= 1
        assert np.abs(mp3[stem][:common] - mel[:common]).mean() < 0.5


def test_every_unknown_persian_token_is_named_in_the_report(data: Path, reference: Path) -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(reference / "nllb/tokenizer.json"))
    persian = [row for row in rows(data) if row["language"] == "pes_Arab"]
    assert len(persian) == 48
    named = set().union(*(set(row["unknown_characters"]) for row in persian))
    for row in persian:
        encoding = tokenizer.encode(row["text"], add_special_tokens=False)
        unknown = [span for token, span in zip(encoding.ids, encoding.offsets, strict=True) if token == 3]
        spans = [row["text"][start:stop] for start, stop in unknown]
        assert row["unknown_tokens"] == len(spans)
        assert set("".join(spans)) <= named
    assert sum(row["unknown_tokens"] for row in persian) == 0


def test_the_manifest_holds_the_corpus_text_and_the_prepared_text(data: Path, reference: Path) -> None:
    with (reference / "corpora/common_voice_fa/fa/validated.tsv").open(encoding="utf-8", newline="") as file:
        expected = {
            f"common_voice_fa/{Path(row['path']).stem}": row["sentence"]
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        }
    found = {row["utterance_id"]: row["original_text"] for row in rows(data) if row["language"] == "pes_Arab"}
    assert found == expected


def test_another_order_of_sources_gives_the_same_shards(data: Path, reference: Path, tmp_path: Path) -> None:
    config = load_config(CONFIG, of=BuildConfig, overrides=overrides(reference))
    few = {name: config.sources[name] for name in ("mls", "vctk", "librispeech")}
    build_dataset(config.model_copy(update={"sources": few, "max_rejected_fraction": 0.1}), data=tmp_path / "few")
    for path in (tmp_path / "few/shards").iterdir():
        assert path.read_bytes() == (data / "shards" / path.name).read_bytes()


def test_the_dry_run_estimates_the_build(data: Path, reference: Path, command: Callable, tmp_path: Path) -> None:
    forecast = estimate_build(load_config(CONFIG, of=BuildConfig, overrides=overrides(reference)))
    info = Dataset.open(data).info
    for source in forecast.sources:
        built = info.sources[source.name]
        measured = [row for row in (*rows(data), *rows(data, "withheld")) if row["shard"].startswith(f"{source.name}-")]
        hours = sum(row["duration_s"] for row in measured) / 3600
        assert (source.utterances, source.shards) == (built.read, len(built.shards))
        assert source.hours == pytest.approx(hours, abs=4 * source.hours_error + 0.01 * hours)
        assert source.size_bytes == pytest.approx(sum(shard.bytes for shard in built.shards), rel=0.35)
    outcome = command("build", CONFIG, *overrides(reference), "--data", str(tmp_path / "none"), "--plan")
    assert outcome.code == 0
    assert "total: 148 clips" in outcome.out
    assert outcome.out.endswith("nothing was written\n")
    assert not (tmp_path / "none").exists()
