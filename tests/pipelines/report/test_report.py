"""The report: its numbers against pyarrow's, its pictures against the shards, its text against a hostile corpus."""

from __future__ import annotations

import base64
import collections
import html.parser
import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from PIL import Image

from pipelines.html.axes import choose_bins, round_step
from pipelines.html.media import frequency_ticks
from pipelines.report import refresh_report, write_report
from pipelines.report.clips import CLIPS, choose_typical
from pipelines.report.totals import SHOWN_SPEAKERS, speaker_totals
from pipelines.tables.columns import RECORD_COLUMNS, load_columns
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import PRESETS
from shared.tables import MANIFEST, REJECTED, write_table
from tests.pipelines import builds

HOSTILE = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>{{ 7 * 7 }}"


class Page(html.parser.HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, path: Path):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.source = path.read_text("utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data

    def all_of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def facts(self) -> dict[str, float]:
        """Each number of the page by its name."""
        found = [attributes for _, attributes in self.tags if "data-fact" in attributes]
        return {str(one["data-fact"]): float(str(one["data-value"])) for one in found}

    def having(self, attribute: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.tags if attribute in attributes]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two sources with faults of every kind, and its report."""
    folder = tmp_path_factory.mktemp("report")
    bad = ["missing|No such clip.|No such clip.", "C00000|An id twice.|An id twice."]
    corpus = builds.make_corpus(folder / "corpus", clips=14, bad_rows=bad)
    overrides = builds.overrides_for(
        corpus,
        "sources.other.reader=ljspeech",
        f"sources.other.root={builds.ENGLISH}",
        "sources.other.language=eng_Latn",
        "utterances_per_shard=6",
        "validation_fraction=0.3",
        "checks.max_duration_s=2.4",
        "max_rejected_fraction=0.9",
    )
    data = builds.build(folder / "data", config=builds.LJSPEECH_CONFIG, overrides=overrides)
    write_report(Dataset.open(data))
    return data


@pytest.fixture
def disturbed(reported: Path, tmp_path: Path) -> Path:
    """A copy for a test to spoil."""
    return builds.copied(reported, to=tmp_path / "data")


def rows_of(data: Path, folder: str, *, source: str = "*") -> list[dict[str, Any]]:
    paths = sorted((data / folder).glob(f"{source}-*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def rewrite(data: Path, folder: str, **values: Any) -> None:
    """Give every row of these tables the same value in some columns."""
    for path in (data / folder).glob("*.parquet"):
        rows = [row | values for row in pq.read_table(path).to_pylist()]
        write_table(path, pa.Table.from_pylist(rows, schema=REJECTED if folder == "rejected" else MANIFEST))


def report_of(data: Path) -> Page:
    return Page(write_report(Dataset.open(data)))


def test_the_totals_are_those_of_the_tables(reported: Path) -> None:
    facts, kept = Page(reported / "report.html").facts, rows_of(reported, "manifest")
    rejected, withheld = rows_of(reported, "rejected"), rows_of(reported, "withheld")
    assert facts["records"] == len(kept) > 0
    assert facts["seconds"] == pytest.approx(sum(row["duration_s"] for row in kept), rel=1e-12)
    assert facts["speakers"] == len({row["speaker"] for row in kept})
    assert facts["languages"] == len({row["language"] for row in kept})
    assert facts["rejected"] == len(rejected) > len(withheld) == facts["withheld"] > 0
    assert facts["refused"] == len(rejected) - len(withheld)
    assert facts["read"] == len(kept) + len(rejected)


@pytest.mark.parametrize("source", ["ljspeech", "other"])
def test_each_source_is_told(reported: Path, source: str) -> None:
    facts = Page(reported / "report.html").facts
    kept, withheld, rejected = (rows_of(reported, name, source=source) for name in ("manifest", "withheld", "rejected"))
    assert facts[f"source/{source}/written"] == len(kept)
    assert facts[f"source/{source}/withheld"] == len(withheld)
    assert facts[f"source/{source}/refused"] == len(rejected) - len(withheld)
    assert facts[f"source/{source}/read"] == len(kept) + len(rejected)
    assert facts[f"source/{source}/seconds"] == pytest.approx(sum(row["duration_s"] for row in kept))


def test_languages_splits_and_speakers_are_told(sample: Path, tmp_path: Path) -> None:
    data = builds.copied(sample, to=tmp_path / "data")
    facts, kept = report_of(data).facts, rows_of(data, "manifest")
    for column, kind in (("language", "language"), ("speaker", "speaker"), ("split", "split")):
        for value in {row[column] for row in kept}:
            mine = [row for row in kept if row[column] == value]
            assert facts[f"{kind}/{value}/records"] == len(mine)
            assert facts[f"{kind}/{value}/seconds"] == pytest.approx(sum(row["duration_s"] for row in mine))
    for language in {row["language"] for row in kept}:
        held_out = [row for row in kept if row["language"] == language and row["split"] == "validation"]
        seconds = sum(row["duration_s"] for row in held_out)
        assert facts[f"language/{language}/validation_s"] == pytest.approx(seconds)


def test_reasons_are_counted_and_have_examples(reported: Path) -> None:
    page, rejected = Page(reported / "report.html"), rows_of(reported, "rejected")
    counted = collections.Counter((row["reason"], row["stage"] == "selection") for row in rejected)
    assert len(counted) >= 3
    for (reason, withheld), count in counted.items():
        assert page.facts[f"reason/{reason}/{'withheld' if withheld else 'refused'}"] == count
        messages = [row["message"] for row in rejected if row["reason"] == reason]
        assert sum(message in page.text for message in messages) >= min(count, 5)


def test_every_record_stands_in_every_histogram(reported: Path) -> None:
    source = Page(reported / "report.html").source
    kept, withheld = len(rows_of(reported, "manifest")), len(rows_of(reported, "withheld"))
    figures = re.findall(r'<figure class="card histogram" data-histogram="(\w+)".*?</figure>', source, re.DOTALL)
    whole = re.findall(r'<figure class="card histogram".*?</figure>', source, re.DOTALL)
    assert {"duration_s", "tokens", "characters_per_second", "snr_db"} <= set(figures)
    for figure in whole:
        bars = re.findall(r'data-kept="(\d+)" data-withheld="(\d+)"', figure)
        assert (sum(int(k) for k, _ in bars), sum(int(w) for _, w in bars)) == (kept, withheld)


def test_thresholds_are_drawn(reported: Path) -> None:
    limits = {one["data-limit"] for one in Page(reported / "report.html").having("data-limit")}
    assert {"min_duration_s", "max_duration_s", "max_tokens", "min_snr_db", "min_rms_db"} <= limits


def test_the_band_of_a_language_is_drawn(disturbed: Path) -> None:
    info = Dataset.open(disturbed).info
    bands = {"ljspeech": {"eng_Latn": (3.0, 30.0)}, "other": {}}
    selection = info.selection.model_copy(update={"characters_per_second": bands})
    (disturbed / "dataset.json").write_text(info.model_copy(update={"selection": selection}).model_dump_json())
    assert [one["data-band"] for one in report_of(disturbed).having("data-band")] == ["ljspeech 3 to 30"]


def test_a_corpus_cannot_put_anything_but_text_on_the_page(disturbed: Path) -> None:
    for folder in ("manifest", "withheld"):
        names = {"speaker": HOSTILE, "language": HOSTILE, "unknown_characters": "<", "audio_path": HOSTILE}
        rewrite(disturbed, folder, utterance_id=HOSTILE, text=HOSTILE, original_text=HOSTILE[1:], **names)
    rewrite(disturbed, "rejected", utterance_id=HOSTILE, audio_path=HOSTILE, message=HOSTILE, language=HOSTILE)
    page = report_of(disturbed)
    assert len(page.all_of("script")) == 1
    assert all(str(one["src"]).startswith("data:image/png;base64,") for one in page.all_of("img"))
    assert not [one for _, one in page.tags if any(name.startswith("on") for name in one)]
    assert HOSTILE in page.text


def test_the_page_needs_nothing_beside_it(reported: Path) -> None:
    page = Page(reported / "report.html")
    addresses = [str(one[name]) for _, one in page.tags for name in ("src", "href") if name in one]
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "@import" not in page.source
    assert not re.search(r"url\(", page.source)
    policy = next(one["content"] for one in page.all_of("meta") if "http-equiv" in one)
    assert str(policy).startswith("default-src 'none'")


def test_clips_show_the_mel_of_the_shard_and_sound_like_the_original(reported: Path) -> None:
    page, kept = Page(reported / "report.html"), {row["utterance_id"]: row for row in rows_of(reported, "manifest")}
    shown = [str(one["data-clip"]) for one in page.having("data-clip")]
    assert len(shown) >= CLIPS
    features = Dataset.open(reported).info.contract.features
    picture = _decoded(next(str(one["src"]) for one in page.all_of("img") if "mel" in str(one["alt"])))
    assert Image.open(io.BytesIO(picture)).size == (kept[shown[0]]["frames"], features.n_mels)
    heard, rate_hz = soundfile.read(io.BytesIO(_decoded(str(page.all_of("audio")[0]["src"]))), dtype="float32")
    original, _ = soundfile.read(kept[shown[0]]["audio_path"], dtype="float32")
    assert rate_hz == features.sample_rate_hz
    assert len(heard) / rate_hz == pytest.approx(kept[shown[0]]["duration_s"], abs=0.1)
    assert np.std(heard) == pytest.approx(np.std(original), rel=0.05)


def _decoded(address: str) -> bytes:
    return base64.b64decode(address.partition("base64,")[2])


def test_without_the_original_the_page_says_so(disturbed: Path) -> None:
    rewrite(disturbed, "manifest", audio_path="/nowhere/a.wav")
    rewrite(disturbed, "withheld", audio_sha256="0" * 64)
    page = report_of(disturbed)
    assert page.all_of("audio") == []
    assert "No such file or directory: /nowhere/a.wav" in page.text
    assert "has changed since the build (sha256)" in page.text


def test_a_damaged_record_is_told_on_its_card(disturbed: Path) -> None:
    for path in (disturbed / "shards").glob("*.tfrecord"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    assert "fails its checksum" in report_of(disturbed).text


def test_the_same_dataset_gives_the_same_page(disturbed: Path) -> None:
    first = write_report(Dataset.open(disturbed)).read_bytes()
    assert write_report(Dataset.open(disturbed)).read_bytes() == first


def test_unknown_characters_are_told_by_language(disturbed: Path) -> None:
    rewrite(disturbed, "manifest", unknown_characters="⅊₿", unknown_tokens=3, unread_numbers=2)
    rewrite(disturbed, "withheld", unknown_characters="₿", unknown_tokens=1)
    facts, kept, aside = report_of(disturbed).facts, rows_of(disturbed, "manifest"), rows_of(disturbed, "withheld")
    assert facts["text/eng_Latn/unknown_tokens"] == 3 * len(kept)
    assert facts["text/eng_Latn/withheld_tokens"] == len(aside)
    assert facts["text/eng_Latn/character/⅊"] == len(kept)
    assert facts["text/eng_Latn/character/₿"] == len(kept) + len(aside)
    assert facts["text/eng_Latn/unread_numbers"] == 2 * len(kept)


def test_repeats_leaks_and_copies_are_told(disturbed: Path) -> None:
    rewrite(disturbed, "manifest", text_repeats=2, text_leaks=True, duplicate_bits=3)
    facts, kept = report_of(disturbed).facts, rows_of(disturbed, "manifest")
    assert [facts[f"repetition/{name}"] for name in ("repeats", "leaks", "copies")] == [len(kept)] * 3


def test_many_speakers_end_in_a_sum(disturbed: Path) -> None:
    for path in (disturbed / "manifest").glob("*.parquet"):
        rows = [row | {"speaker": f"x/{row['utterance_id']}"} for row in pq.read_table(path).to_pylist()]
        copies = [row | {"speaker": f"{row['speaker']}{n}"} for row in rows for n in range(4)]
        write_table(path, pa.Table.from_pylist(copies, schema=MANIFEST))
    dataset = Dataset.open(disturbed)
    stems = [shard.name for shard in dataset.info.shards]
    speakers = speaker_totals(load_columns(stems, path_of=dataset.layout.manifest, columns=RECORD_COLUMNS))
    kept = rows_of(disturbed, "manifest")
    assert len(speakers.shown) == SHOWN_SPEAKERS
    assert speakers.others == len(kept) - SHOWN_SPEAKERS
    told = sum(row.seconds for row in speakers.shown) + speakers.others_s
    assert told == pytest.approx(sum(row["duration_s"] for row in kept))
    assert speakers.shown[0].seconds == max(row["duration_s"] for row in kept)


def test_clips_are_spread_over_languages(sample: Path) -> None:
    dataset = Dataset.open(sample)
    stems = [shard.name for shard in dataset.info.shards]
    kept = load_columns(stems, path_of=dataset.layout.manifest, columns=RECORD_COLUMNS)
    shown = [kept.full_row(row) for row in choose_typical(kept)]
    languages = collections.Counter(row["language"] for row in shown)
    assert sorted(languages.values()) == [4, 4, 4]
    assert len({row["utterance_id"] for row in shown}) == CLIPS


def test_report_is_a_command(reported: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    done = command("report", "--data", str(reported))
    assert (done.code, done.out.strip(), done.err) == (0, str(reported / "report.html"), "")
    absent = command("report", "--data", str(tmp_path / "none"))
    assert absent.code == 2
    assert absent.err.startswith("error: ")
    assert absent.err.count("\n") == 1


def test_a_page_is_left_alone_as_long_as_it_is_of_this_dataset_and_its_last_validation(disturbed: Path) -> None:
    page = disturbed / "report.html"
    before = page.stat().st_ino
    refresh_report(Dataset.open(disturbed))
    assert page.stat().st_ino == before
    validate_dataset(disturbed)
    refresh_report(Dataset.open(disturbed))
    assert "Validation has" in page.read_text(encoding="utf-8")
    (disturbed / "_SUCCESS").write_text("other sums\n")
    validated = page.stat().st_ino
    refresh_report(Dataset.open(disturbed))
    assert page.stat().st_ino != validated


@pytest.mark.parametrize("words", [("repair",), ("replay",), ("build", "{data}/config.yaml")])
def test_a_page_that_a_killed_run_left_of_an_older_dataset_is_written_anew(
    words: tuple[str, ...], disturbed: Path, command: Callable[..., Any]
) -> None:
    page = disturbed / "report.html"
    page.write_text("of an older one")
    done = command(*(word.format(data=disturbed) for word in words), "--data", str(disturbed))
    assert done.code != 2, done.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_broken_table_is_a_line(disturbed: Path) -> None:
    next((disturbed / "manifest").glob("*.parquet")).write_bytes(b"PAR1 no more")
    with pytest.raises(UserError, match="cannot be read"):
        write_report(Dataset.open(disturbed))


def test_the_report_does_without_beam() -> None:
    code = "import pipelines.report, sys; print(sorted({'apache_beam', 'tensorflow'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize("seed", range(20))
def test_bins_hold_every_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(rng.uniform(-3, 8), rng.uniform(0, 3), int(rng.integers(1, 3000))))
    bins = choose_bins(values, limits=rng.uniform(0, 100, 2).tolist(), integers=bool(seed % 2))
    counts = bins.counts(values)
    assert counts.sum() == len(values)
    inside = np.histogram(values, bins.edges)[0]
    assert np.array_equal(counts[1:-1], inside[1:-1])
    assert np.all(np.diff(bins.edges) > 0)


def test_bins_of_one_value_and_of_none() -> None:
    assert choose_bins(np.full(9, 4.2)).counts(np.full(9, 4.2)).sum() == 9
    assert choose_bins(np.zeros(0)).counts(np.zeros(0)).sum() == 0


def test_a_step_is_round() -> None:
    assert [round_step(span, at_most=5) for span in (1, 4.9, 7, 12, 300)] == [0.2, 1, 2, 5, 100]


@pytest.mark.parametrize("spec", PRESETS.values(), ids=PRESETS)
def test_kilohertz_rise_along_the_bands(spec: Any) -> None:
    places = [tick.position for tick in frequency_ticks(spec)]
    assert places == sorted(places)
    assert 0 < places[0] < 0.3
    assert places[-1] <= 1
