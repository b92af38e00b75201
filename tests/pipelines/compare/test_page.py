"""compare.html: clips side by side, tables for narrow screens, and an assessment that says what was not compared."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image

from pipelines.compare.listening import MAX_PAIRS
from shared.dataset import Dataset
from tests.pipelines.compare.compare_files import rows_of
from tests.pipelines.html_pages import Page


def test_changed_clips_can_be_heard_and_seen_side_by_side(pair: tuple[Path, Path], page: Page) -> None:
    changed = page.values("data-pair")
    assert {"ljspeech/C00002", "ljspeech/C00003"} <= set(changed)
    assert len(changed) == len(set(changed)) <= MAX_PAIRS
    features = Dataset.open(pair[0]).info.contract.features
    sides = [rows_of(data) for data in pair]
    for utterance_id in changed:
        cards = [one for one in page.having("data-clip") if one.is_within("div", **{"data-pair": utterance_id})]
        images = [one for one in page.elements if one.tag == "img" and set(cards) & set(one.ancestors)]
        for card, image, rows, name in zip(cards, images, sides, ("A", "B"), strict=True):
            assert f"{name}: {rows[utterance_id]['status']}" in card.text
            png = base64.b64decode(str(image.attributes["src"]).partition("base64,")[2])
            assert Image.open(io.BytesIO(png)).size == (rows[utterance_id]["frames"], features.n_mels)
    sounds = [one for one in page.elements if one.tag == "audio"]
    assert len(sounds) == 2 * len(changed) - 1  # the recording of C00002 was replaced after the first build
    assert "C00002.wav has changed since the build (sha256)" in page.text


def test_wide_tables_have_labels_for_narrow_screens_and_hashes_stay_whole(page: Page) -> None:
    tables = [one for one in page.elements if one.tag == "table"]
    assert all(one.attributes == {"class": "stack"} for one in tables)
    rows = [
        one for one in page.elements if one.tag == "tr" and not any(outer.tag == "thead" for outer in one.ancestors)
    ]
    assert rows
    for row in rows:
        cells = [one for one in page.elements if one.tag == "td" and one.ancestors[-1] == row]
        assert all("data-label" in one.attributes for one in cells[1:])
    assert "overflow-wrap: anywhere" not in page.source
    assert "manifest" not in page.text


def test_few_records_are_not_called_free_of_drift(page: Page) -> None:
    assert page.values("data-assessment") == ["unknown"]
