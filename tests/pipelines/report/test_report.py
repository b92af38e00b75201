"""The report: its numbers against pyarrow's, its pictures against the shards, its text against a hostile corpus."""

from __future__ import annotations

import base64
import collections
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
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
from pipelines.report.assessment import ERROR, OK, UNKNOWN, WARNING, Aspect, summarise
from pipelines.report.clips import CLIP_CHECKS, FILTERED_PER_REASON, RATE, SAMPLE_CLIPS, WORST_PER_CHECK, sample_rows
from pipelines.report.totals import SHOWN_SPEAKERS, speaker_totals
from pipelines.tables.columns import RECORD_COLUMNS, load_columns
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import PRESETS
from shared.tables import MANIFEST, REJECTED, write_table
from tests.pipelines import builds
from tests.pipelines.html_pages import Page, check_isolation

HOSTILE = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two sources with missing, duplicate and too long clips, and its report."""
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
def editable(reported: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
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
    assert facts["rejected"] == len(rejected) > len(withheld) == facts["filtered"] > 0
    assert facts["failed"] == len(rejected) - len(withheld)
    assert facts["read"] == len(kept) + len(rejected)


@pytest.mark.parametrize("source", ["ljspeech", "other"])
def test_each_source_is_shown(reported: Path, source: str) -> None:
    facts = Page(reported / "report.html").facts
    kept, withheld, rejected = (rows_of(reported, name, source=source) for name in ("manifest", "withheld", "rejected"))
    assert facts[f"source/{source}/written"] == len(kept)
    assert facts[f"source/{source}/filtered"] == len(withheld)
    assert facts[f"source/{source}/failed"] == len(rejected) - len(withheld)
    assert facts[f"source/{source}/read"] == len(kept) + len(rejected)
    assert facts[f"source/{source}/seconds"] == pytest.approx(sum(row["duration_s"] for row in kept))


def test_languages_splits_and_speakers_are_shown(sample: Path, tmp_path: Path) -> None:
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
        assert page.facts[f"reason/{reason}/{'filtered' if withheld else 'failed'}"] == count
        messages = [row["message"] for row in rejected if row["reason"] == reason]
        assert sum(message in page.text for message in messages) >= min(count, 5)


def test_every_record_stands_in_every_histogram(reported: Path) -> None:
    source = Page(reported / "report.html").source
    kept, withheld = len(rows_of(reported, "manifest")), len(rows_of(reported, "withheld"))
    figures = re.findall(r'<figure class="card histogram" data-histogram="(\w+)".*?</figure>', source, re.DOTALL)
    whole = re.findall(r'<figure class="card histogram".*?</figure>', source, re.DOTALL)
    assert {"duration_s", "tokens", "characters_per_second", "snr_db"} <= set(figures)
    for figure in whole:
        bars = re.findall(r'data-kept="(\d+)" data-filtered="(\d+)"', figure)
        assert (sum(int(k) for k, _ in bars), sum(int(w) for _, w in bars)) == (kept, withheld)


def test_thresholds_are_drawn(reported: Path) -> None:
    limits = set(Page(reported / "report.html").values("data-threshold"))
    assert {"min_duration_s", "max_duration_s", "max_tokens", "min_snr_db", "min_rms_db"} <= limits


def test_the_allowed_range_of_a_language_is_drawn(editable: Path) -> None:
    info = Dataset.open(editable).info
    bands = {"ljspeech": {"eng_Latn": (3.0, 30.0)}, "other": {}}
    selection = info.selection.model_copy(update={"characters_per_second": bands})
    (editable / "dataset.json").write_text(info.model_copy(update={"selection": selection}).model_dump_json())
    assert report_of(editable).values("data-range") == ["ljspeech 3 to 30"]


def test_a_corpus_cannot_put_anything_but_text_on_the_page(editable: Path) -> None:
    for folder in ("manifest", "withheld"):
        names = {"speaker": HOSTILE, "language": HOSTILE, "unknown_characters": "<", "audio_path": HOSTILE}
        rewrite(editable, folder, utterance_id=HOSTILE, text=HOSTILE, original_text=HOSTILE[1:], **names)
    rewrite(editable, "rejected", utterance_id=HOSTILE, audio_path=HOSTILE, message=HOSTILE, language=HOSTILE)
    page = report_of(editable)
    assert len(page.all_of("script")) == 1
    assert all(str(one["src"]).startswith("data:image/png;base64,") for one in page.all_of("img"))
    check_isolation(page)
    assert HOSTILE in page.text


def test_the_page_needs_nothing_beside_it(reported: Path) -> None:
    check_isolation(Page(reported / "report.html"))


def test_clips_show_the_mel_of_the_shard_and_sound_like_the_original(reported: Path) -> None:
    page, kept = Page(reported / "report.html"), {row["utterance_id"]: row for row in rows_of(reported, "manifest")}
    shown = page.values("data-clip")
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


def test_missing_and_changed_audio_files_are_reported_on_their_cards(editable: Path) -> None:
    rewrite(editable, "manifest", audio_path="/nowhere/a.wav")
    rewrite(editable, "withheld", audio_sha256="0" * 64)
    page = report_of(editable)
    assert page.all_of("audio") == []
    assert "No such file or directory: /nowhere/a.wav" in page.text
    assert "has changed since the build (sha256)" in page.text


def test_a_damaged_record_is_reported_on_its_card(editable: Path) -> None:
    for path in (editable / "shards").glob("*.tfrecord"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    assert "fails its checksum" in report_of(editable).text


def test_the_same_dataset_gives_the_same_page(editable: Path) -> None:
    first = write_report(Dataset.open(editable)).read_bytes()
    assert write_report(Dataset.open(editable)).read_bytes() == first


def test_unknown_characters_are_counted_by_language(editable: Path) -> None:
    rewrite(editable, "manifest", unknown_characters="⅊₿", unknown_tokens=3, unread_numbers=2)
    rewrite(editable, "withheld", unknown_characters="₿", unknown_tokens=1)
    facts, kept, aside = report_of(editable).facts, rows_of(editable, "manifest"), rows_of(editable, "withheld")
    assert facts["text/eng_Latn/unknown_tokens"] == 3 * len(kept)
    assert facts["text/eng_Latn/filtered_tokens"] == len(aside)
    assert facts["text/eng_Latn/character/⅊"] == len(kept)
    assert facts["text/eng_Latn/character/₿"] == len(kept) + len(aside)
    assert facts["text/eng_Latn/unread_numbers"] == 2 * len(kept)


def test_repeats_leaks_and_duplicates_are_counted(editable: Path) -> None:
    rewrite(editable, "manifest", text_repeats=2, text_leaks=True, duplicate_bits=3)
    facts, kept = report_of(editable).facts, rows_of(editable, "manifest")
    assert [facts[f"repetition/{name}"] for name in ("repeats", "leaks", "copies")] == [len(kept)] * 3


def test_speakers_that_are_not_listed_are_summed(editable: Path) -> None:
    for path in (editable / "manifest").glob("*.parquet"):
        rows = [row | {"speaker": f"x/{row['utterance_id']}"} for row in pq.read_table(path).to_pylist()]
        copies = [row | {"speaker": f"{row['speaker']}{n}"} for row in rows for n in range(4)]
        write_table(path, pa.Table.from_pylist(copies, schema=MANIFEST))
    dataset = Dataset.open(editable)
    stems = [shard.name for shard in dataset.info.shards]
    speakers = speaker_totals(load_columns(stems, path_of=dataset.layout.manifest, columns=RECORD_COLUMNS))
    kept = rows_of(editable, "manifest")
    assert len(speakers.shown) == SHOWN_SPEAKERS
    assert speakers.others == len(kept) - SHOWN_SPEAKERS
    total = sum(row.seconds for row in speakers.shown) + speakers.others_s
    assert total == pytest.approx(sum(row["duration_s"] for row in kept))
    assert speakers.shown[0].seconds == max(row["duration_s"] for row in kept)


def test_clips_are_spread_over_languages(sample: Path) -> None:
    dataset = Dataset.open(sample)
    stems = [shard.name for shard in dataset.info.shards]
    kept = load_columns(stems, path_of=dataset.layout.manifest, columns=RECORD_COLUMNS)
    shown = [kept.whole(row) for row in sample_rows(kept)]
    languages = collections.Counter(row["language"] for row in shown)
    assert sorted(languages.values()) == [4, 4, 4]
    assert len({row["utterance_id"] for row in shown}) == SAMPLE_CLIPS


def levels_of(page: Page) -> dict[str, str]:
    """The level of each aspect of the assessment by its text."""
    return {" ".join(one.text.split()): str(one.attributes["data-level"]) for one in page.having("data-level")}


def test_a_dataset_that_was_never_validated_is_not_called_ready(reported: Path) -> None:
    page = Page(reported / "report.html")
    (assessment,) = page.having("data-assessment")
    levels = levels_of(page)
    assert next(level for text, level in levels.items() if "Not validated since the build" in text) == "unknown"
    assert assessment.attributes["data-assessment"] != "ok"
    assert "not checked" in assessment.text


def test_little_speech_and_a_language_without_validation_are_warnings(sample: Path, tmp_path: Path) -> None:
    data = builds.copied(sample, to=tmp_path / "data")
    codes = {row["language"] for row in rows_of(data, "manifest")}
    path = next(path for path in (data / "manifest").glob("*-validation-*.parquet") if pq.read_table(path).num_rows)
    absent = pq.read_table(path)["language"][0].as_py()
    for path in (data / "manifest").glob("*-validation-*.parquet"):
        rows = [row for row in pq.read_table(path).to_pylist() if row["language"] != absent]
        write_table(path, pa.Table.from_pylist(rows, schema=MANIFEST))
    levels = levels_of(report_of(data))
    warnings = [text for text, level in levels.items() if level == "warning"]
    assert any(f"Less than an hour of speech in {len(codes)} of {len(codes)} languages" in text for text in warnings)
    assert any("No validation records in 1 language" in text and absent in text for text in warnings)


@pytest.mark.parametrize(
    ("levels", "whole", "words"),
    [
        ((OK, OK), OK, "Ready for training"),
        ((OK, UNKNOWN), UNKNOWN, "No problem found, but 1 aspect was not checked"),
        ((UNKNOWN, WARNING, UNKNOWN), WARNING, "Usable, with 1 warning; 2 aspects were not checked"),
        ((WARNING, ERROR, WARNING), ERROR, "Not ready: aspect 1"),
    ],
)
def test_the_whole_is_as_good_as_its_worst_aspect(levels: tuple[str, ...], whole: str, words: str) -> None:
    aspects = [Aspect(level, f"Aspect {number}", "") for number, level in enumerate(levels)]
    level, sentence = summarise(aspects)
    assert (level, sentence.startswith(words)) == (whole, True)


def test_file_and_column_names_stand_in_one_closed_section(reported: Path) -> None:
    page = Page(reported / "report.html")
    files = [one for one in page.elements if one.tag == "code" and ".parquet" in one.text]
    assert files
    for one in files:
        (section,) = [outer for outer in one.ancestors if outer.tag == "details"]
        assert section.attributes == {"class": "card provenance"}


def test_names_and_hashes_break_after_separators_only(editable: Path) -> None:
    for path in (editable / "manifest").glob("*.parquet"):
        rows = [row | {"speaker": "common_voice_fa/b66de0d6017a4a2a"} for row in pq.read_table(path).to_pylist()]
        write_table(path, pa.Table.from_pylist(rows, schema=MANIFEST))
    page = report_of(editable)
    assert "common_<wbr>voice_<wbr>fa/<wbr>b66de0d6017a4a2a" in page.source
    for style in ("overflow-wrap: anywhere", "word-break"):
        assert style not in page.source
    fingerprint = Dataset.open(editable).info.fingerprint
    assert all(
        one.attributes["class"] == "hash" for one in page.elements if one.tag == "code" and one.text == fingerprint
    )


def test_wide_tables_have_a_label_at_every_number_for_narrow_screens(reported: Path) -> None:
    page = Page(reported / "report.html")
    wide = [one for one in page.elements if one.tag == "table" and one.attributes.get("class") == "stack"]
    assert len(wide) == 3
    cells = [one for one in page.elements if one.tag == "td" and one.is_within("table", **{"class": "stack"})]
    assert all(one.attributes.get("data-label") for one in cells if one.attributes.get("class", "").startswith("n "))
    heads = [one for one in page.elements if one.tag == "thead" and not one.is_within("table", **{"class": "stack"})]
    for head in heads:  # the others have few enough columns for 400 pixels, without the bars
        columns = [one for one in page.elements if one.tag == "th" and head in one.ancestors]
        assert sum(one.attributes.get("class") != "share" for one in columns) <= 4


def test_the_worst_clips_of_every_check_are_shown_worst_first(reported: Path) -> None:
    page, kept = Page(reported / "report.html"), rows_of(reported, "manifest")
    cards = page.having("data-clip")
    ranks = {str(one.attributes["data-clip"]): json.loads(str(one.attributes["data-ranks"])) for one in cards}
    assert len(ranks) == len(cards)  # every record once
    for check in CLIP_CHECKS:
        if check.column == RATE:  # compared within a language: here is one
            assert len({row["language"] for row in kept}) == 1
        sign = 1 if check.lowest_first else -1
        values = {row["utterance_id"]: sign * row[check.column] for row in kept if row[check.column] != check.harmless}
        shown = sorted((mine[check.slug], name) for name, mine in ranks.items() if check.slug in mine)
        assert [rank for rank, _ in shown] == list(range(1, min(WORST_PER_CHECK, len(values)) + 1))
        assert [values[name] for _, name in shown] == sorted(values.values())[:WORST_PER_CHECK]


def test_filtered_clips_are_those_nearest_to_the_threshold(reported: Path) -> None:
    page, filtered = Page(reported / "report.html"), rows_of(reported, "withheld")
    group = [one for one in page.having("data-clip") if one.is_within("div", **{"data-group": "filtered"})]
    reasons = {row["utterance_id"]: row["reason"] for row in rows_of(reported, "rejected")}
    long = {row["utterance_id"]: row["duration_s"] for row in filtered if reasons[row["utterance_id"]] == "too_long"}
    shown = [str(one.attributes["data-clip"]) for one in group if str(one.attributes["data-clip"]) in long]
    assert [long[name] for name in shown] == sorted(long.values())[:FILTERED_PER_REASON]


def test_clips_can_be_searched_and_sorted_and_are_all_readable_without_the_script(reported: Path) -> None:
    page = Page(reported / "report.html")
    (form,) = [one for one in page.elements if one.tag == "form"]
    assert "hidden" in form.attributes
    cards = page.having("data-clip")
    assert not [one for card in cards for one in (*card.ancestors, card) if "hidden" in one.attributes]
    controls = {
        str(one.attributes["name"]) for one in page.elements if form in one.ancestors and "name" in one.attributes
    }
    assert controls == {"search", "show", "sort"}
    options = [one.attributes["value"] for one in page.elements if one.tag == "option" and form in one.ancestors]
    columns = {str(value).partition(":")[0] for value in options if str(value).endswith((":asc", ":desc"))}
    assert columns == {"duration", "snr", "level", "rate", "bandwidth"}
    for card in cards:
        assert all(float(str(card.attributes[f"data-{column}"])) is not None for column in columns)


@pytest.mark.skipif(shutil.which("node") is None, reason="apt-get install nodejs: it runs the script of the page")
def test_the_script_finds_orders_and_counts_clips(reported: Path, tmp_path: Path) -> None:
    cards = [
        {"text": one.text, **{key.removeprefix("data-"): value for key, value in one.attributes.items()}}
        for one in Page(reported / "report.html").having("data-clip")
    ]
    (tmp_path / "cards.json").write_text(json.dumps(cards))
    script = resources.files("pipelines.report").joinpath("templates/clip_search.js").read_text("utf-8")
    (tmp_path / "run.js").write_text(FAKE_PAGE.replace("SCRIPT", script))
    done = subprocess.run(["node", tmp_path / "run.js", tmp_path / "cards.json"], capture_output=True, text=True)
    assert done.stderr == ""
    answers = json.loads(done.stdout)
    by_name = {card["clip"]: card for card in cards}
    durations = [float(by_name[name]["duration"]) for name in answers["longest"]["shown"]]
    assert durations == sorted(durations, reverse=True)
    assert len(durations) == len(cards)
    ranks = [json.loads(by_name[name]["ranks"])["lowest-snr"] for name in answers["noisy"]["shown"]]
    assert ranks == list(range(1, WORST_PER_CHECK + 1))
    first = cards[0]["clip"]
    assert answers["search"] == {"shown": [first], "count": f"1 of {len(cards)} clips", "list": True}
    assert answers["reset"] == {"shown": [], "count": f"{len(cards)} of {len(cards)} clips", "list": False}


# The few parts of a document that the script uses.
FAKE_PAGE = """
const cards = JSON.parse(require("fs").readFileSync(process.argv[2], "utf-8")).map((data) => ({
  dataset: data, textContent: data.text, parentNode: null, closest: () => ({ dataset: { group: "worst" } }),
}));
const container = () => ({ hidden: false, children: [],
  append(card) { card.parentNode = this; }, replaceChildren(...shown) { this.children = shown; } });
const home = container(); for (const card of cards) card.parentNode = home;
const results = container(), groups = [container()], output = { textContent: "" }, listeners = {};
const elements = { search: { value: "" }, show: { value: "" }, sort: { value: "" } };
const form = { hidden: true, elements, querySelector: () => output,
  addEventListener(name, listener) { listeners[name] = listener; } };
globalThis.document = {
  querySelector: (selector) => ({ "#clip-controls": form, "#clip-results": results })[selector],
  querySelectorAll: (selector) => ({ "#clips .clip": cards, "#clips .clip-group": groups })[selector],
};
SCRIPT
const answer = (values) => {
  for (const name of ["search", "show", "sort"]) elements[name].value = values[name] ?? "";
  listeners.input();
  return { shown: results.children.map((card) => card.dataset.clip), count: output.textContent, list: !results.hidden };
};
console.log(JSON.stringify({
  longest: answer({ sort: "duration:desc" }), noisy: answer({ show: "check:lowest-snr" }),
  search: answer({ search: cards[0].dataset.clip.toUpperCase() }), reset: answer({}),
}));
"""


def test_report_is_a_command(reported: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    done = command("report", "--data", str(reported))
    assert (done.code, done.out.strip(), done.err) == (0, str(reported / "report.html"), "")
    absent = command("report", "--data", str(tmp_path / "none"))
    assert absent.code == 2
    assert absent.err.startswith("error: ")
    assert absent.err.count("\n") == 1


def test_a_page_is_written_again_only_for_another_dataset_or_validation(editable: Path) -> None:
    page = editable / "report.html"
    before = page.stat().st_ino
    refresh_report(Dataset.open(editable))
    assert page.stat().st_ino == before
    validate_dataset(editable)
    refresh_report(Dataset.open(editable))
    assert "Validation has" in page.read_text(encoding="utf-8")
    (editable / "_SUCCESS").write_text("other sums\n")
    validated = page.stat().st_ino
    refresh_report(Dataset.open(editable))
    assert page.stat().st_ino != validated


@pytest.mark.parametrize("words", [("repair",), ("replay",), ("build", "{data}/config.yaml")])
def test_a_page_that_a_killed_run_left_of_an_older_dataset_is_written_again(
    words: tuple[str, ...], editable: Path, command: Callable[..., Any]
) -> None:
    page = editable / "report.html"
    page.write_text("of an older one")
    done = command(*(word.format(data=editable) for word in words), "--data", str(editable))
    assert done.code != 2, done.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_broken_table_is_reported_in_one_line(editable: Path) -> None:
    next((editable / "manifest").glob("*.parquet")).write_bytes(b"PAR1 no more")
    with pytest.raises(UserError, match="cannot be read"):
        write_report(Dataset.open(editable))


def test_the_report_imports_no_beam() -> None:
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
    assert [round_step(span, max_steps=5) for span in (1, 4.9, 7, 12, 300)] == [0.2, 1, 2, 5, 100]


@pytest.mark.parametrize("spec", PRESETS.values(), ids=PRESETS)
def test_kilohertz_rise_along_the_bands(spec: Any) -> None:
    places = [tick.position for tick in frequency_ticks(spec)]
    assert places == sorted(places)
    assert 0 < places[0] < 0.3
    assert places[-1] <= 1
