"""`myxtts-train compare-runs`: two runs on one page, and a short table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trainer.config.train_config import TrainConfig
from trainer.monitoring.line_charts import HEIGHT, WIDTH

EVIL = "<i>x&"


def write_run(root: Path, *, losses: dict[int, float], **settings: object) -> Path:
    root.mkdir(parents=True)
    rows = [
        {"step": step, "kind": kind, "loss": loss + (kind == "train"), "free_ended": 0.5}
        for step, loss in losses.items()
        for kind in ("train", "validation")
    ]
    (root / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = TrainConfig.model_validate(settings).model_dump(mode="json")
    (root / "run.json").write_text(json.dumps({"config": config, "contract": {"mel_dtype": "float16"}}))
    return root


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    first = write_run(tmp_path / "first", losses={10: 4.0, 20: 3.0, 30: 3.5})
    second = write_run(tmp_path / EVIL, losses={10: 5.0, 40: 2.5}, steps=40, optimizer={"learning_rate": 0.01})
    return first, second


def read_charts(page: str) -> dict[str, str]:
    charts = page.split('<figure class="card chart">')[1:]
    return {re.findall(r"<h3>(.*?)(?: <small>|</h3>)", chart)[0]: chart.partition("</figure>")[0] for chart in charts}


def test_both_runs_are_drawn_in_each_chart_on_the_same_axes(
    runs: tuple[Path, Path], command: Callable, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    assert command("compare-runs", *runs, "--out", out).code == 0
    page = out.read_text(encoding="utf-8")
    charts = read_charts(page)
    assert {"Loss in training", "Loss in validation", "Synthesis: attention and end"} <= set(charts)
    loss = charts["Loss in validation"]
    assert re.findall(r"</i>(.*?) <b>(.*?)</b>", loss) == [("first", "3.5"), ("&lt;i&gt;x&amp;", "2.5")]
    lines = [np.array([pair.split(",") for pair in points.split()], float) for points in polylines(loss)]
    assert [len(line) for line in lines] == [3, 2]
    assert lines[0][0, 0] == lines[1][0, 0]  # step 10
    assert lines[0][2, 0] == pytest.approx((lines[1][0, 0] + 2 * lines[1][1, 0]) / 3, abs=0.2)  # 30 of 10 to 40
    assert lines[0][0, 1] > lines[1][0, 1]  # 4 is drawn below 5
    assert all(((line >= 0) & (line <= [WIDTH, HEIGHT])).all() for line in lines)
    marks = re.findall(r'<line class="best (s\d)" x1="([\d.]+)"', loss)
    assert [(color, float(x)) for color, x in marks] == [("s0", lines[0][1, 0]), ("s1", lines[1][1, 0])]


def polylines(chart: str) -> list[str]:
    return re.findall(r'<polyline class="s\d" points="(.*?)"', chart)


def test_the_page_names_the_settings_that_differ_and_the_results(
    runs: tuple[Path, Path], command: Callable, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    outcome = command("compare-runs", *runs, "--out", out)
    page = out.read_text(encoding="utf-8")
    rows = re.findall(r"<code>(\S+?)</code></td><td class=\"name\"><bdi>(.*?)</bdi></td>", page)
    assert rows == [("optimizer.learning_rate", "0.0003"), ("steps", "200000")]
    assert '<td>best validation loss</td><td class="n">3</td><td class="n">2.5</td>' in page
    assert "Lowest validation loss 3 at step 20; no improvement in 1 validation since" in page
    assert EVIL not in page
    assert "script" not in page
    assert re.search(r"^best validation loss +3 +2\.5$", outcome.out, re.MULTILINE)
    assert "settings that differ: optimizer.learning_rate, steps\n" in outcome.out


def test_runs_of_one_name_are_told_apart_by_their_paths(command: Callable, tmp_path: Path) -> None:
    runs = [write_run(tmp_path / parent / "run", losses={10: 4.0}) for parent in ("a", "b")]
    outcome = command("compare-runs", *runs, "--out", tmp_path / "page.html")
    assert outcome.code == 0
    assert "settings that differ" not in outcome.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f"<bdi>{run}</bdi>:" in page for run in runs)
    assert re.findall(r"</i>(.*?) <b>", read_charts(page)["Loss in validation"]) == list(map(str, runs))


def test_a_folder_without_a_run_and_a_page_that_cannot_be_written_are_one_line(
    runs: tuple[Path, Path], command: Callable, tmp_path: Path
) -> None:
    outcome = command("compare-runs", runs[0], tmp_path / "nowhere", "--out", tmp_path / "page.html")
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {tmp_path / 'nowhere'}: no run here; expected ")
    outcome = command("compare-runs", *runs, "--out", tmp_path / "nowhere" / "page.html")
    assert outcome.code == 2
    assert "nowhere/page.html: cannot be written" in outcome.err


@pytest.mark.slow
def test_comparing_runs_needs_no_tensorflow() -> None:
    code = "import sys, trainer.tools.compare_runs; print('tensorflow' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
