"""The report: its numbers against pyarrow's, its text against a hostile corpus, its layout, and when it is written."""

from __future__ import annotations

import collections
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.report import refresh_report, write_report
from pipelines.report.totals import SHOWN_SPEAKERS, speaker_totals
from pipelines.tables.columns import RECORD_COLUMNS, load_columns
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from shared.tables import MANIFEST, write_table
from tests.pipelines import builds
from tests.pipelines.html_pages import Page, check_isolation
from tests.pipelines.report.report_files import report_of, rewrite, rows_of

HOSTILE = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>{{ 7 * 7 }}"


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


@pytest.mark.slow
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


def test_a_report_from_another_folder_says_why_it_has_no_sounds(
    sample: Path, command: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = builds.copied(sample, to=tmp_path / "data")
    assert command("report", "--data", data).err == ""
    monkeypatch.chdir(tmp_path)
    outcome = command("report", "--data", data)
    assert outcome.code == 0
    expected = (
        rf"the page may have no sounds: No such file or directory: \S+ \(from {tmp_path}; a dataset's relative paths"
    )
    assert re.match(expected, outcome.err)


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_same_dataset_gives_the_same_page(editable: Path) -> None:
    first = write_report(Dataset.open(editable)).read_bytes()
    assert write_report(Dataset.open(editable)).read_bytes() == first


@pytest.mark.slow
def test_unknown_characters_are_counted_by_language(editable: Path) -> None:
    rewrite(editable, "manifest", unknown_characters="⅊₿", unknown_tokens=3, unread_numbers=2)
    rewrite(editable, "withheld", unknown_characters="₿", unknown_tokens=1)
    facts, kept, aside = report_of(editable).facts, rows_of(editable, "manifest"), rows_of(editable, "withheld")
    assert facts["text/eng_Latn/unknown_tokens"] == 3 * len(kept)
    assert facts["text/eng_Latn/filtered_tokens"] == len(aside)
    assert facts["text/eng_Latn/character/⅊"] == len(kept)
    assert facts["text/eng_Latn/character/₿"] == len(kept) + len(aside)
    assert facts["text/eng_Latn/unread_numbers"] == 2 * len(kept)


@pytest.mark.slow
def test_repeats_leaks_and_duplicates_are_counted(editable: Path) -> None:
    rewrite(editable, "manifest", text_repeats=2, text_leaks=True, duplicate_bits=3)
    facts, kept = report_of(editable).facts, rows_of(editable, "manifest")
    assert [facts[f"repetition/{name}"] for name in ("repeats", "leaks")] == [len(kept)] * 2
    assert "repetition/copies" not in facts, "the build of this dataset did not look for copies"
    document = json.loads((editable / "dataset.json").read_text())
    document["selection"]["checks"]["min_duplicate_bits"] = 25
    (editable / "dataset.json").write_text(json.dumps(document))
    assert report_of(editable).facts["repetition/copies"] == len(kept)


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


def test_file_and_column_names_stand_in_one_closed_section(reported: Path) -> None:
    page = Page(reported / "report.html")
    files = [one for one in page.elements if one.tag == "code" and ".parquet" in one.text]
    assert files
    for one in files:
        (section,) = [outer for outer in one.ancestors if outer.tag == "details"]
        assert section.attributes == {"class": "card provenance"}


@pytest.mark.slow
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
    numbers = [one for one in cells if str(one.attributes.get("class")).split()[0] == "n"]
    assert len(numbers) > 10
    assert all(one.attributes.get("data-label") for one in numbers)
    heads = [one for one in page.elements if one.tag == "thead" and not one.is_within("table", **{"class": "stack"})]
    for head in heads:  # the others have few enough columns for 400 pixels, without the bars
        columns = [one for one in page.elements if one.tag == "th" and head in one.ancestors]
        assert sum(one.attributes.get("class") != "share" for one in columns) <= 4


@pytest.mark.slow
def test_report_is_a_command(reported: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    done = command("report", "--data", str(reported))
    assert (done.code, done.out.strip(), done.err) == (0, str(reported / "report.html"), "")
    absent = command("report", "--data", str(tmp_path / "none"))
    assert absent.code == 2
    assert absent.err.startswith("error: ")
    assert absent.err.count("\n") == 1


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_report_imports_no_beam() -> None:
    code = "import pipelines.report, sys; print(sorted({'apache_beam', 'tensorflow'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
