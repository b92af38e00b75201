"""How much of a GPU training makes use of: measured on a CPU, lest it fail on the first GPU that it meets."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from tests.bench import gpu, mfu
from tests.bench.shapes import N_MELS
from tests.commands import runner
from tests.trainer.models import NARROW
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.config.train_config import TrainConfig
from trainer.data.bucket_types import Bucket
from trainer.distributed.device_memory import OutOfMemory
from trainer.monitoring.gpu_stats import GpuStats
from trainer.monitoring.step_timer import ExcludedTime
from trainer.monitoring.summary import CompiledPrograms, Summary
from trainer.tools.flops import step_flops
from trainer.training.train_step import TrainStep

CARD = "NVIDIA H100 80GB HBM3"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", NARROW)
    for name, value in {"FRAMES": 16, "TOKENS": 4, "STEPS": 2}.items():
        monkeypatch.setattr(mfu, name, value)


@pytest.mark.soak
def test_a_step_in_bfloat16_is_compiled_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mfu, "FIRST_CLIPS", 1)
    (use,) = mfu.measure_use("pico", most_clips=1)
    assert use.bucket == Bucket(1, 16, 4)
    assert use.step_s > 0
    config = ModelConfig.model_validate({"size": "pico"})
    assert config.precision == "bfloat16"
    assert use.flops_per_s * use.step_s == pytest.approx(step_flops(config, use.bucket, n_mels=N_MELS))


@pytest.mark.parametrize(
    ("room", "expected"), [(21, [8, 16, 20]), (5, [4, 5]), (0, []), (1024, [8, 16, 32, 64, 128, 256, 512, 1024])]
)
def test_batches_grow_up_to_the_largest_that_fits_within_an_eighth(
    room: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def step_s(_: TrainStep, bucket: Bucket) -> float:
        if bucket.clips > room:
            raise OutOfMemory(bucket)
        return 0.1

    monkeypatch.setattr(mfu, "_step_s", step_s)
    for name in ("XTTS", "AdamW", "TrainStep"):  # no step is made, so neither is a model
        monkeypatch.setattr(mfu, name, lambda *_, **__: SimpleNamespace(trainable_variables=[]))
    uses = mfu.measure_use("pico")
    assert mfu.read_uses(json.dumps(uses)) == uses
    assert [use.bucket.clips for use in uses] == expected
    if uses:
        *others, last = gpu._use_rows(uses, card=CARD)
        flops = step_flops(ModelConfig.model_validate({"size": "pico"}), uses[-1].bucket, n_mels=N_MELS)
        assert uses[-1].share_of(CARD) == pytest.approx(flops / 0.1 / 989e12)
        assert last[2:] == ("≥ 45 %", False)  # the fastest, being the largest in the same time
        assert {row[2:] for row in others} <= {("", None)}


def test_of_a_card_that_is_not_known_only_the_rate_is_told() -> None:
    (row,) = gpu._use_rows([mfu.Use(Bucket(8, 800, 128), 0.5, 2e14)], card="Quadro")
    assert row[1:] == ("unknown (200 T/s, 500 ms)", "≥ 45 %", None)


def summed_up(*gpus: GpuStats, excluded: tuple[ExcludedTime, ...] = ()) -> Summary:
    """What a training on such GPUs comes to."""
    return Summary(
        data="/data",
        first_step=1,
        last_step=204,
        device="GPU",
        allocator="tuned",
        training_s=100.0,
        first_batch_s=1.0,
        compilation_s=60.0,
        validation_s=1.0,
        checkpoint_s=0.5,
        pause_s=0.5,
        figures={"compute": 0.97, "stall": 0.004, "compute_median_ms": 480.5, "clips_per_second": 1234.0},
        gpus=list(gpus),
        memory_mib=4096.0,
        programs=CompiledPrograms(train=4, validation=0, shapes=4),
        verdicts=("the GPU computes",),
        excluded=excluded,
    )


def on_card(utilisation: float | None) -> GpuStats:
    return GpuStats(0, CARD, 81_559.0, 40_000.0, utilisation, 600.0)


def rows_of(page: str) -> dict[str, list[str]]:
    """Measured, expected and verdict by the figure's name."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    return {name: cells for name, *cells in rows[1:]}


USES = [mfu.Use(Bucket(8, 800, 128), 0.25, 4e14), mfu.Use(Bucket(16, 800, 128), 0.5, 5e14)]


def test_the_page_has_every_figure_beside_what_is_wanted_and_the_whole_summary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu.sys, "argv", ["gpu.py", "--size", "pico"])
    summary = summed_up(on_card(96.5))
    page = gpu._page(summary, by_smi=90.0, uses=USES, card=CARD, size="pico")
    assert page.startswith(f"# Training `pico` on {CARD}\n\n    python -m tests.bench.gpu --size pico\n\n| figure |")
    assert rows_of(page) == {
        "utilisation by NVML": ["96.5 %", "≥ 95 %", "met"],
        "utilisation by nvidia-smi": ["90.0 %", "as NVML", "missed"],
        "computing by the step trace": ["97.0 %", "as NVML", "met"],
        "stall": ["0.40%", "≤ 1%", "met"],
        "a step computes, median": ["480.5 ms", "", ""],
        "clips/s": ["1,234", "", ""],
        "model FLOPs utilisation, 8 clips of 800 frames": ["40.4 % (400 T/s, 250 ms)", "", ""],
        "model FLOPs utilisation, 16 clips of 800 frames": ["50.6 % (500 T/s, 500 ms)", "≥ 45 %", "met"],
    }
    assert json.loads(page.partition("```json\n")[2].partition("```")[0]) == summary.model_dump(mode="json")


@pytest.mark.parametrize("gpus", [[], [on_card(None)]])
def test_what_no_driver_tells_is_unknown_and_neither_met_nor_missed(gpus: list[GpuStats]) -> None:
    rows = rows_of(gpu._page(summed_up(*gpus), by_smi=None, uses=[], card="Quadro", size="pico"))
    assert rows["utilisation by NVML"] == ["unknown", "≥ 95 %", ""]
    assert rows["utilisation by nvidia-smi"] == ["unknown", "as NVML", ""]
    assert rows["computing by the step trace"] == ["97.0 %", "as NVML", ""]


def test_percentages_are_taken_as_they_come_and_lines_that_are_none_passed_over() -> None:
    samples: list[tuple[float, float]] = []
    before_s = time.monotonic()
    gpu._collect(SimpleNamespace(stdout=io.StringIO("97\n 5 \n\n[N/A]\n100\n")), samples)
    assert [value for _, value in samples] == [97.0, 5.0, 100.0]
    assert all(before_s <= at_s <= time.monotonic() for at_s, _ in samples)


def test_nvidia_smi_is_read_while_training_goes_on_and_not_in_what_is_set_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stood for by a program that says 90, and 10 while a file is there; the training by as long a wait."""
    busy = tmp_path / "compiles"
    script = f"while :; do test -e {busy} && echo 10 || echo 90; sleep 0.02; done"
    monkeypatch.setattr(gpu, "NVIDIA_SMI", ["sh", "-c", script])
    monkeypatch.setattr("trainer.monitoring.gpu_stats.SAMPLE_PERIOD_S", 0.2)
    seen: list[TrainConfig] = []

    def train(config: TrainConfig, *, data: Path, run: Path, allocator: str) -> SimpleNamespace:
        seen.append(config)
        excluded = []
        for reason in ("first batch", "compilation", "pause"):
            start_s = time.monotonic()
            busy.touch()
            time.sleep(0.1)
            busy.unlink()
            excluded.append(ExcludedTime(reason, start_s, time.monotonic()))
            time.sleep(0.5)
        return SimpleNamespace(summary=summed_up(excluded=tuple(excluded)))

    monkeypatch.setattr("trainer.training.train.train", train)
    summary, by_smi = gpu._train(tmp_path, tmp_path, size="pico", steps=20, allocator="tuned")
    assert summary.last_step == 204
    assert 85.0 < by_smi <= 90.0  # 71.8 where what is set apart counts; one line may come late
    assert [(one.model.size, one.steps) for one in seen] == [("pico", 20 + gpu.SHAPES)]


def test_the_whole_of_it_writes_the_page_of_the_card_that_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = SimpleNamespace(returncode=0, stdout=json.dumps(USES))
    monkeypatch.setattr(gpu.subprocess, "run", lambda words, **_: answer)
    monkeypatch.setattr(gpu, "start_tensorflow", lambda **_: "tuned")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["the first", "another"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda one: {"device_name": CARD})
    monkeypatch.setattr(gpu, "_train", lambda data, folder, **_: (summed_up(on_card(96.5)), 96.0))
    command = runner(gpu.main, name="gpu", monkeypatch=monkeypatch, capsys=capsys)
    outcome = command("--data", tmp_path, "--out", tmp_path / "gpu.md")
    assert outcome.code == 0, outcome.err
    page = (tmp_path / "gpu.md").read_text(encoding="utf-8")
    assert page.startswith(f"# Training `normal` on {CARD}\n")
    assert rows_of(page)["utilisation by nvidia-smi"] == ["96.0 %", "as NVML", "met"]
    assert len(rows_of(page)) == 8
    answer.returncode = 2
    assert command("--out", tmp_path / "none.md").code == 2
    assert not (tmp_path / "none.md").exists()
