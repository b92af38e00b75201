"""The assessment: what was not checked is not called good."""

from __future__ import annotations

import types
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.report import assessment
from pipelines.report.assessment import ERROR, OK, UNKNOWN, WARNING, Aspect, summarise
from shared.tables import MANIFEST, write_table
from tests.pipelines import builds
from tests.pipelines.html_pages import Page
from tests.pipelines.report.report_files import levels_of, report_of, rows_of


def test_a_dataset_that_was_never_validated_is_not_called_ready(reported: Path) -> None:
    page = Page(reported / "report.html")
    (assessment,) = page.having("data-assessment")
    levels = levels_of(page)
    assert next(level for text, level in levels.items() if "Not validated since the build" in text) == "unknown"
    assert assessment.attributes["data-assessment"] != "ok"
    assert "not checked" in assessment.text


@pytest.mark.slow
def test_little_speech_and_a_language_without_validation_are_warnings(sample: Path, tmp_path: Path) -> None:
    data = builds.copied(sample, to=tmp_path / "data")
    codes = {row["language"] for row in rows_of(data, "manifest")}
    path = next(path for path in (data / "manifest").glob("*-validation-*.parquet") if pq.read_table(path).num_rows)
    absent = pq.read_table(path)["language"][0].as_py()
    for path in (data / "manifest").glob("*-validation-*.parquet"):
        rows = [row for row in pq.read_table(path).to_pylist() if row["language"] != absent]
        write_table(path, pa.Table.from_pylist(rows, schema=MANIFEST))
    levels = levels_of(report_of(data))
    missing = codes - {row["language"] for row in rows_of(data, "manifest") if row["split"] == "validation"}
    warnings = [text for text, level in levels.items() if level == "warning"]
    assert any(f"Less than an hour of speech in {len(codes)} of {len(codes)} languages" in text for text in warnings)
    assert any(f"No validation records in {len(missing)} language" in text and absent in text for text in warnings)


@pytest.mark.parametrize(("narrow", "level"), [(1, OK), (2, WARNING)])
def test_records_below_three_quarters_of_the_mels_range_are_narrow(narrow: int, level: str) -> None:
    """One of twenty may be."""
    bandwidths_hz = [5_900.0] * narrow + [6_100.0] * (20 - narrow)
    kept = types.SimpleNamespace(table=bandwidths_hz, numbers=lambda name: np.array(bandwidths_hz))
    aspect = assessment._bandwidth(kept, fmax_hz=8_000.0)
    assert (aspect.level, "nothing above 6 kHz; the mel reaches 8 kHz" in aspect.detail) == (level, True)


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
