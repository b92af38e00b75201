"""`RUN/summary.html`: every metric is shown, and no text is taken for markup."""

from __future__ import annotations

import base64
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import keras
import numpy as np
import pytest
import soundfile
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from trainer.config.loss_config import LossConfig
from trainer.config.optim_config import OptimizerConfig
from trainer.config.train_config import TrainConfig
from trainer.monitoring.gpu_stats import GpuStats
from trainer.monitoring.html_report import render_html, write_html_report
from trainer.monitoring.line_charts import (
    BOTTOM,
    HEIGHT,
    MAX_POINTS,
    TOP,
    WIDTH,
    ChartSpec,
    build_chart,
    round_ticks,
)
from trainer.monitoring.samples import Sample, Samples, write_samples
from trainer.monitoring.session import Session
from trainer.optim.adamw import AdamW
from trainer.training.losses import loss_weights
from trainer.training.synthesis_metrics import synthesis_metrics

EVIL = '<script>alert("&")</script>'
LOSS = ChartSpec("Loss", "", [("training", "train", "loss"), ("validation", "validation", "loss")])
SUMMARY = {
    **{"first_step": 1, "last_step": 20, "device": "/CPU:0", "allocator": "glibc", "memory_mib": 1532.1},
    **{
        "training_s": 3700.0,
        "first_batch_s": 4.6,
        "compilation_s": 91.0,
        "validation_s": 311.0,
        "checkpoint_s": 9.0,
        "pause_s": 1.0,
        "figures": {},
        "gpus": [],
    },
    **{"programs": {"train": 1, "validation": 1, "speech": 1, "shapes": 1}, "verdicts": ["input keeps up"]},
}

TRAIN = {
    **{"loss": 9.0, "mel": 2.0, "kl": 0.25, "flux": -0.75, "stop": 0.125, "guided_attention": 0.5},
    **{"mel_weight": 1.0, "kl_weight": 0.1, "flux_weight": 0.02, "stop_weight": 0.6, "guided_attention_weight": 5.0},
    **{"learning_rate": 0.0015, "gradient_norm": 1.25, "loss_scale": 32768.0},
    **{"frames_per_second": 4451.0, "stall": 0.07, "memory_mib": 1531.0},
    **{"host_own_cores": 1.75, "host_other_cores": 0.25, "host_memory_free_mib": 12345.0},
    **{"gpu0_memory_peak_mib": 40123.0, "gpu0_power_w": 512.0, "gpu0_utilisation": 96.5, "gpu0_clock_mhz": 1755.0},
    **{"gpu0_pcie_received_mib_s": 812.0, "gpu0_pcie_sent_mib_s": 41.0},
}
VALIDATION = {
    **{"loss": 8.0, "mel": 3.0, "kl": 0.35, "flux": -0.85, "stop": 0.225, "guided_attention": 0.7},
    **{
        "free_mel_distance_db": 9.75,
        "free_mel_cepstral_distance_db": 5.5,
        "free_length_error": 0.12,
        "free_moves": 0.98,
        "free_ended": 0.55,
    },
}
CHARTS = {  # on the page: the last value of each line
    "Loss in training": {"training": "9"},
    "Loss in validation": {"validation": "8"},
    "mel": {"training": "2", "validation": "3"},
    "KL": {"training": "0.25", "validation": "0.35"},
    "flux": {"training": "−0.75", "validation": "−0.85"},
    "stop": {"training": "0.125", "validation": "0.225"},
    "guided attention": {"training": "0.5", "validation": "0.7"},
    "Synthesis: mel distance": {"after time warping": "9.75"},
    "Synthesis: mel cepstral distance": {"envelopes, without their level": "5.5"},
    "Synthesis: error of the length": {"length": "12"},  # percent
    "Synthesis: attention and end": {"steps that move on": "98", "clips that ended": "55"},
    "Learning rate": {"learning rate": "0.0015"},
    "Gradient norm": {"gradient norm": "1.25"},
    "Loss scale": {"loss scale": "32,768"},
    "Weights of the loss": {**{"mel": "1", "kl": "0.1", "flux": "0.02", "stop": "0.6", "guided attention": "5"}},
    "Speed": {"frames": "4,451"},
    "Input stall": {"stall": "7"},
    "Memory": {"process": "1,531"},
    "Busy cores": {"training": "1.75", "other programs": "0.25"},
    "Free memory": {"machine": "12,345"},
    "Memory of GPUs": {"GPU 0": "40,123"},
    "Power of GPUs": {"GPU 0": "512"},
    "Clock of GPUs": {"GPU 0": "1,755"},
    "Data to GPUs over PCIe": {"GPU 0": "812"},
    "Data from GPUs over PCIe": {"GPU 0": "41"},
    "GPU utilisation": {"GPU 0": "96.5"},
}


def train_rows(losses: list[float | None]) -> list[dict]:
    return [{"step": step, "kind": "train", "loss": loss} for step, loss in enumerate(losses, 1)]


def make_run(folder: Path, *, rows: list[dict], incidents: list[dict]) -> Path:
    folder.mkdir(parents=True)
    for name, content in (("metrics", rows), ("incidents", incidents)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    (folder / "summary.json").write_text(json.dumps(SUMMARY))
    return folder


def sample(text: str) -> Sample:
    mel, sound = np.zeros([30, 8], np.float32), (3000 * np.sin(np.arange(8000) / 9)).astype(np.int16)
    return Sample("a/1", text, mel, mel + 1, np.eye(9, 5, dtype=np.float32), np.array(False), sound, sound)


class Elements(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_page_holds_everything_itself_and_runs_no_script(tmp_path: Path) -> None:
    incident = {"step": 3, "kind": EVIL, "utterances": [EVIL, "b/2"]}
    run = make_run(tmp_path / EVIL.replace("/", "_"), rows=train_rows([3.0, 2.0]), incidents=[incident])
    write_samples(Samples(20, 22050, [sample(EVIL)]), run=run)
    write_html_report(run)
    page = (run / "summary.html").read_text(encoding="utf-8")
    elements = Elements(page).seen
    assert "script" not in {tag for tag, _ in elements}
    assert EVIL not in page
    assert page.count("&lt;script&gt;") >= 4
    sources = [attrs["src"] for _, attrs in elements if "src" in attrs]
    assert len(sources) == 4
    assert all(str(source).startswith(("data:image/png;", "data:audio/")) for source in sources)
    assert re.findall(r"https?:|url\(|@import", page) == []
    assert "no end was predicted" in page


def rows_of(kind: str, losses: dict[int, float]) -> list[dict]:
    return [{"step": step, "kind": kind, "loss": loss} for step, loss in losses.items()]


def read_charts(page: str) -> dict[str, str]:
    """The HTML of each chart by its title."""
    charts = page.split('<figure class="card chart">')[1:]
    return {re.findall(r"<h3>(.*?)(?: <small>|</h3>)", chart)[0]: chart.partition("</figure>")[0] for chart in charts}


def test_every_metric_that_is_logged_has_its_line(tmp_path: Path) -> None:
    rows = [
        {"step": step, "kind": kind, **values}
        for step in (10, 20)
        for kind, values in (("train", TRAIN), ("validation", VALIDATION))
    ]
    page = render_html(make_run(tmp_path / "run", rows=rows, incidents=[]))
    shown = {}
    for title, chart in read_charts(page).items():
        lines = re.findall(r"</i>(.*?) <b>(.*?)</b>", chart)
        assert chart.count("<polyline") == len(lines)
        shown[title] = dict(lines)
    assert shown == CHARTS


def test_training_and_validation_log_the_metrics_of_the_charts_under_these_names() -> None:
    terms = loss_weights(LossConfig(), step=None)
    optimizer = AdamW(OptimizerConfig(), steps=10, variables=[keras.Variable([1.0])], scales_loss=True)
    applied = optimizer.apply([tf.constant([1.0])], loss=tf.constant(1.0))
    with Session(gpus=0) as session:
        for _ in session.timer.batches(iter([1])):
            session.timer.record_step(tf.constant([100.0, 1.0]), compiled=False)
        measured = session.metrics()
    weights = [f"{term}_weight" for term in terms]
    train = {"loss", *terms, *weights, *applied, *measured, *GpuStats(0, "a", *[1.0] * 7).metrics()}
    assert train.issuperset(TRAIN)
    assert {"loss", *terms, *synthesis_metrics([sample("Yes.")])} == {*VALIDATION}


def test_each_player_has_the_sound_that_it_is_said_to_have(tmp_path: Path) -> None:
    rate_hz, seconds, pitch_hz = 22050, {"recording": 1.5, "model": 0.7}, {"recording": 400.0, "model": 1000.0}
    times_s = {name: np.arange(int(seconds[name] * rate_hz)) / rate_hz for name in seconds}
    sounds = {name: (8000 * np.sin(2 * np.pi * pitch_hz[name] * times_s[name])).astype(np.int16) for name in seconds}
    one = sample("Yes.")._replace(target_sound=sounds["recording"], spoken_sound=sounds["model"])
    run = make_run(tmp_path / "run", rows=[], incidents=[])
    write_samples(Samples(20, rate_hz, [one]), run=run)
    players = re.findall(r'<p class="facts">(\w+)</p><audio [^>]*src="data:audio/\w+;base64,(.*?)"', render_html(run))
    assert [name for name, _ in players] == ["recording", "model"]
    for name, data in players:
        heard, heard_hz = soundfile.read(io.BytesIO(base64.b64decode(data)))
        assert heard_hz == rate_hz
        assert len(heard) / rate_hz == pytest.approx(seconds[name], abs=0.1)  # MP3 has whole frames only
        loudest_hz = np.abs(np.fft.rfft(heard)).argmax() * rate_hz / len(heard)
        assert loudest_hz == pytest.approx(pitch_hz[name], rel=0.02)


def test_a_run_without_metrics_and_incidents_still_has_a_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows=[], incidents=[])
    for name in ("metrics.jsonl", "incidents.jsonl"):
        (run / name).unlink()
    page = render_html(run)
    assert "No clip was synthesized yet" in page
    assert "No loss was logged yet" in page
    assert "no step was skipped" in page


def test_damaged_rows_of_metrics_are_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows=train_rows([3.0, None, 2.0]), incidents=[])
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b'[3]\nnull\n{"step": "4", "kind": "train", "loss": 9}\n\xff\xfe\n{"step": 5, "ki')
    assert len(re.findall(r"<polyline", render_html(run))) == 1


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ({}, "Not validated yet; training loss 5.5 at step 40"),
        ({10: 4.0}, "Validation loss 4 at step 10, the first validation"),
        ({10: 4.0, 20: 3.25}, "Validation loss 3.25 at step 20, the lowest so far"),
        ({10: 4.0, 20: 3.25, 30: 3.5}, "Lowest validation loss 3.25 at step 20; no improvement in 1 validation since"),
        ({10: 2.0, 20: 3.0, 30: 3.5}, "Lowest validation loss 2 at step 10; no improvement in 2 validations since"),
    ],
)
def test_the_page_begins_with_what_was_learnt(tmp_path: Path, validation: dict[int, float], expected: str) -> None:
    rows = rows_of("train", {40: 5.5}) + rows_of("validation", validation)
    page = render_html(make_run(tmp_path / "run", rows=rows, incidents=[]))
    assert f"</span>{expected}</p>" in page
    assert page.index(expected) < page.index("Best validation loss") < page.index("input keeps up")


def test_the_best_step_is_marked_and_axes_have_their_units(tmp_path: Path) -> None:
    rows = rows_of("validation", {10: 4.0, 20: 3.0, 30: 3.5, 50: 3.25})
    rows += [{**row, "free_mel_distance_db": 9.0} for row in rows_of("validation", {60: 3.125})]
    charts = read_charts(render_html(make_run(tmp_path / "run", rows=rows, incidents=[])))
    loss = charts["Loss in validation"]
    (place,) = re.findall(r'<line class="best s0" x1="([\d.]+)"', loss)
    assert float(place) == pytest.approx(58 + (20 - 10) / (60 - 10) * (WIDTH - 58 - 12), abs=0.1)
    assert ">best 20</text>" in loss
    assert [int(step) for step in re.findall(r'text-anchor="middle">(\d+)</text>', loss)] == [10, 20, 30, 40, 50, 60]
    assert ">step</text>" in loss
    assert ">dB</text>" in charts["Synthesis: mel distance"]


def test_the_marked_step_is_the_best_by_the_measure_that_chooses_checkpoints(tmp_path: Path) -> None:
    scores = {10: 0.5, 20: 0.2, 30: 0.4}
    rows = [
        {**row, "free_word_errors": scores[row["step"]]} for row in rows_of("validation", {10: 4.0, 20: 3.5, 30: 3.0})
    ]
    run = make_run(tmp_path / "run", rows=rows, incidents=[])
    assert ">best 30</text>" in render_html(run)
    (run / "run.json").write_text(json.dumps({"config": {"synthesis_eval": {"best_by": "word_errors"}}}))
    page = render_html(run)
    assert ">best 20</text>" in page
    assert "the lowest <code>word_errors</code>" in page


def test_the_page_shows_the_dataset_and_the_settings_that_differ_from_their_defaults(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows=[], incidents=[])
    config = TrainConfig(steps=77).model_dump(mode="json")
    (run / "run.json").write_text(json.dumps({"config": config}))
    (run / "summary.json").write_text(json.dumps({**SUMMARY, "data": str(tmp_path / "data")}))
    assert f"<bdi>{tmp_path / 'data'}</bdi>" in render_html(run)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "report.html").touch()
    page = render_html(run)
    assert '<a href="../data/report.html">' in page
    changed, every = page[page.index("<h2>Settings") :].split("<details")
    assert re.findall(r"<code>(.*?)</code></td><td class=\"name\"><bdi>(.*?)</bdi>", changed) == [("steps", "77")]
    assert ">200000</td>" in changed
    assert "<code>optimizer.learning_rate</code></dt><dd><bdi>0.0003</bdi>" in every


def test_words_and_voices_are_shown_once_they_were_measured(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows=[], incidents=[])
    row = {"group": "unseen", "measure": "word errors", "got": 0.31, "sign": "≤", "bound": 0.2, "verdict": "missed"}
    (run / "learn_check.json").write_text(json.dumps({"step": 500, "passed": False, "measures": [row]}))
    evaluation = {"checkpoint": "best.safetensors", "step": 20, "data": "d", "clips": 3, "losses": {"loss": 2.5}}
    (run / "evaluation.json").write_text(json.dumps({**evaluation, "spoken": {"free_ended": None}}))
    page = render_html(run)
    assert '<td class="n">≤ 20 %</td><td class="n">31.0 % <b>missed</b></td>' in page
    assert '<td>loss</td><td class="n">2.5</td>' in page
    assert '<td>synthesis: ended</td><td class="n">–</td>' in page


def test_lines_are_of_the_values_and_within_the_drawing() -> None:
    chart = build_chart(LOSS, rows=train_rows([4.0, 2.0, None, float("nan"), 3.0]))
    assert chart is not None
    (line,) = chart.lines
    places = np.array([pair.split(",") for pair in line.points.split()], float)
    assert len(places) == 3
    assert ((places >= 0) & (places <= [WIDTH, HEIGHT])).all()
    # linear in both directions, upwards in y
    assert np.diff(places[:, 0])[1] == pytest.approx(3 * np.diff(places[:, 0])[0], abs=0.3)
    assert places[1, 1] - places[2, 1] == pytest.approx((places[1, 1] - places[0, 1]) / 2, abs=0.2)
    assert (places[:, 1].min(), places[:, 1].max()) == (TOP, HEIGHT - BOTTOM)  # 4 and 2 are ticks
    assert line.last == "3"


def test_the_page_shows_the_use_of_each_gpu(tmp_path: Path) -> None:
    gpu = {"number": 0, "name": EVIL, "memory_total_mib": 81559.0, "memory_peak_mib": 30720.0}
    run = make_run(tmp_path / "run", rows=train_rows([1.0]), incidents=[])
    known = {"utilisation": 96.46, "power_w": 512.3, "clock_mhz": 1755.4}
    gpus = [{**gpu, **known}, {**gpu, "number": 1, **dict.fromkeys(known)}]
    (run / "summary.json").write_text(json.dumps({**SUMMARY, "gpus": gpus}))
    page = render_html(run)
    assert EVIL not in page
    assert re.search(r"GPU 0, .*96\.5 % busy; peak memory 30,720 of 81,559 MiB; 512 W; 1755 MHz</dd>", page)
    assert re.search(r"GPU 1, .*utilisation unknown; peak memory 30,720 of 81,559 MiB</dd>", page)


def test_every_gpu_has_a_line_and_no_two_of_sixteen_look_alike(tmp_path: Path) -> None:
    busy = {f"gpu{number}_utilisation": 90.0 + number for number in range(17)}
    rows = [{**row, **busy} for row in train_rows([1.0, 2.0])]
    page = render_html(make_run(tmp_path / "run", rows=rows, incidents=[]))
    chart = page[page.index("GPU utilisation") :]
    lines = re.findall(r'<polyline class="(s\d(?: again)?)"', chart[: chart.index("</figure>")])
    assert len(lines) == 17
    assert len(set(lines[:16])) == 16
    assert [int(number) for number in re.findall(r"</i>GPU (\d+) <b>", chart)] == list(range(17))


def test_no_peak_is_lost_in_a_long_run_and_the_page_stays_small() -> None:
    values = list(np.sin(np.arange(200_000) / 1e4))
    values[123_456] = 50.0
    chart = build_chart(LOSS, rows=train_rows(values))
    assert chart is not None
    points = chart.lines[0].points.split()
    assert len(points) <= MAX_POINTS
    heights = [float(point.split(",")[1]) for point in points]
    assert sum(height < min(heights) + 1 for height in heights) == 1


def test_a_chart_without_a_row_is_not_drawn_and_one_point_is_a_dot() -> None:
    assert build_chart(LOSS, rows=[]) is None
    chart = build_chart(LOSS, rows=[{"step": 3, "kind": "validation", "loss": 1.0}])
    assert chart is not None
    assert len(chart.lines[0].dots) == 1


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_are_few_and_hold_the_range(low: float, span: float) -> None:
    ticks = round_ticks(low, low + span, at_most=5)
    step = ticks[1] - ticks[0]
    assert 2 <= len(ticks) <= 8
    assert ticks[0] <= low + 1e-6 * step
    assert ticks[-1] >= low + span - 1e-6 * step


def test_what_limits_a_session_is_a_notice_and_that_it_computes_is_none(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows=train_rows([1.0]), incidents=[])
    lines = ["input-bound: stall 30%", "shape-bound: 45% is padding", "compute-bound: 97%", "input keeps up: stall 1%"]
    (run / "summary.json").write_text(json.dumps({**SUMMARY, "verdicts": lines}))
    page = render_html(run)
    assert re.findall('<p class="notice">(.*?)</p>', page) == lines[:2]
    assert re.findall('<p class="lede">(.*?)</p>', page)[-4:] == lines
