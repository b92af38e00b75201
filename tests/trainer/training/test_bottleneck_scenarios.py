"""Each verdict on a training that really is limited so, and on the same training after the remedy that it names.

The trainings are those of a user, as processes; the machine should be quiet.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.trainer.processes import begin, build_sample, end, program, xla_flags
from trainer.platform.process import usable_cores

TIMEOUT_S = 1800
# folders that make a training compute mels slowly, or read records slowly, in a process that has them in PYTHONPATH
SLOW_MELS, SLOW_STORAGE = (str(Path(__file__).parents[1] / name) for name in ("slow_mels", "slow_storage"))
BASE = {
    "steps": 60,
    "log_every": 30,
    "validate_every": 1000,
    "checkpoint_every": 1000,
    "input.buckets": 3,
    "input.global_frames_per_batch": 3000,
}

Settings = Mapping[str, object]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sample(tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="module")
def many_shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample in shards of few clips, which as many readers read at once; a large corpus has as many blocks."""
    return build_sample(tmp_path_factory.mktemp("many") / "data", "utterances_per_shard=2")


@pytest.fixture(scope="module")
def without_mels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wavs of the sample without stored mels, which are computed while the model trains; it has mp3s too."""
    return build_sample(tmp_path_factory.mktemp("online") / "data", "mel_dtype=none", "max_rejected_fraction=1")


def verdicts(data: Path, *, run: Path, settings: Settings, environment: Mapping[str, str] | None = None) -> set[str]:
    """The kinds of the verdicts on a training, which loads the programs that other trainings compiled."""
    overrides = [f"{name}={value}" for name, value in {**BASE, **settings}.items()]
    words = ["train", "configs/train_sample.yaml", *overrides, "--data", str(data), "--run", str(run)]
    ended = end(begin([program("myxtts-train"), *words], environment=environment), within_s=TIMEOUT_S)
    assert ended.code == 0, ended.err
    lines = json.loads((run / "summary.json").read_text(encoding="utf-8"))["verdicts"]
    print(*lines, sep="\n")  # shown where an assertion fails
    return {line.partition("-bound: ")[0] for line in lines if "-bound: " in line}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "limited", "remedied"),
    [
        ("validation", {"validate_every": 2}, {}),
        ("checkpoint", {"checkpoint_every": 1, "steps": 300}, {}),  # of 60 steps, most time goes to the start
        ("shape", {"input.buckets": 1}, {}),
        ("Python", {"log_every": 1, "input.global_frames_per_batch": 200}, {}),
    ],
    ids=["validation", "checkpoint", "shape", "Python"],
)
def test_a_setting_that_limits_a_training_is_named_until_it_is_changed(
    kind: str, limited: Settings, remedied: Settings, sample: Path, tmp_path: Path
) -> None:
    verdicts(sample, run=tmp_path / "first", settings=limited)  # compiles
    assert kind in verdicts(sample, run=tmp_path / "limited", settings=limited)
    assert kind not in verdicts(sample, run=tmp_path / "remedied", settings=remedied)


@pytest.mark.soak
def test_compilation_is_named_until_the_programs_are_kept_and_the_session_is_longer(
    sample: Path, tmp_path: Path
) -> None:
    """XLA compiles as it does for users. A kept program is found after TensorFlow traced the step, for seconds."""
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XLA_FLAGS": xla_flags()}
    assert "compile" in verdicts(sample, run=tmp_path / "limited", settings={"steps": 300}, environment=own)
    compiled = set(tmp_path.glob("cache/myxtts/programs/*/*.pb"))
    assert "compile" not in verdicts(sample, run=tmp_path / "remedied", settings={"steps": 2000}, environment=own)
    new = set(tmp_path.glob("cache/myxtts/programs/*/*.pb")) - compiled
    assert len(compiled) > 4
    assert len(new) <= 1, "only the update's, since the learning rate's schedule ends at the last step"
    assert compilation_s(tmp_path / "remedied") < 0.7 * compilation_s(tmp_path / "limited")


def compilation_s(run: Path) -> float:
    """The time that a session took to trace the step, and to compile or load its programs."""
    return float(json.loads((run / "summary.json").read_text(encoding="utf-8"))["compilation_s"])


@pytest.mark.soak
def test_mels_computed_too_slowly_are_named_until_they_are_stored(
    sample: Path, without_mels: Path, tmp_path: Path
) -> None:
    slowly = {"PYTHONPATH": SLOW_MELS}
    assert "input" in verdicts(without_mels, run=tmp_path / "limited", settings={}, environment=slowly)
    assert "input" not in verdicts(sample, run=tmp_path / "remedied", settings={})


@pytest.mark.soak
def test_storage_that_answers_late_is_named_until_several_reads_wait_at_once(many_shards: Path, tmp_path: Path) -> None:
    slowly = {"PYTHONPATH": SLOW_STORAGE}
    one, many = ({"input.num_parallel_reads": reads} for reads in (1, 32))
    assert "input" in verdicts(many_shards, run=tmp_path / "limited", settings=one, environment=slowly)
    assert "input" not in verdicts(many_shards, run=tmp_path / "remedied", settings=many, environment=slowly)


@contextlib.contextmanager
def hogs() -> Iterator[None]:
    """Programs that take every core."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(usable_cores())]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


@pytest.mark.soak
def test_programs_that_take_the_cores_are_named_until_they_end(sample: Path, tmp_path: Path) -> None:
    verdicts(sample, run=tmp_path / "first", settings={})  # compiles
    with hogs():
        assert "core" in verdicts(sample, run=tmp_path / "limited", settings={})
    assert "core" not in verdicts(sample, run=tmp_path / "remedied", settings={"steps": 300})
