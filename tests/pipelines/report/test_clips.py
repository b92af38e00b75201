"""The clips of the report: mel and sound against shard and corpus, their choice, and the script that searches them."""

from __future__ import annotations

import base64
import collections
import io
import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from pipelines.report.clips import CLIP_CHECKS, FILTERED_PER_REASON, RATE, SAMPLE_CLIPS, WORST_PER_CHECK, sample_rows
from pipelines.tables.columns import RECORD_COLUMNS, load_columns
from shared.dataset import Dataset
from tests.pipelines.html_pages import Page
from tests.pipelines.report.report_files import report_of, rewrite, rows_of


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


@pytest.mark.slow
def test_a_damaged_record_is_reported_on_its_card(editable: Path) -> None:
    for path in (editable / "shards").glob("*.tfrecord"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    assert "fails its checksum" in report_of(editable).text


def test_clips_are_spread_over_languages(sample: Path) -> None:
    dataset = Dataset.open(sample)
    stems = [shard.name for shard in dataset.info.shards]
    kept = load_columns(stems, path_of=dataset.layout.manifest, columns=RECORD_COLUMNS)
    shown = [kept.full_row(row) for row in sample_rows(kept)]
    languages = collections.Counter(row["language"] for row in shown)
    assert sorted(languages.values()) == [4, 4, 4]
    assert len({row["utterance_id"] for row in shown}) == SAMPLE_CLIPS


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


@pytest.mark.slow
def test_filtered_clips_are_those_nearest_to_the_threshold(reported: Path) -> None:
    page, filtered = Page(reported / "report.html"), rows_of(reported, "withheld")
    group = [one for one in page.having("data-clip") if one.is_within("div", **{"data-group": "filtered"})]
    too_long = {row["utterance_id"] for row in rows_of(reported, "rejected") if row["reason"] == "too_long"}
    long = {row["utterance_id"]: row["duration_s"] for row in filtered if row["utterance_id"] in too_long}
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
