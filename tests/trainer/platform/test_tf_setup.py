"""TensorFlow's start-up: its notes, and how it takes GPU memory, with simulated devices."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from shared.errors import UserError
from tests.trainer.described_runs import describe_run
from trainer.platform import tf_setup as startup
from trainer.platform.tf_setup import start_tensorflow

SPEAKING = """
import os
from trainer.platform.log_filter import hide_notes

with hide_notes():
    os.write(2, b"I0000 cudart_stub.cc:31] Could not find cuda drivers on your machine\\n")
    os.write(2, b"I0000 port.cc:153] oneDNN custom operations are on. You may see slightly different results\\n")
    os.write(2, b"E0000 util.cc:131] oneDNN supports DT_HALF only on platforms with AVX-512. Falling back\\n")
    os.write(2, b"E0000 cpu_aot_loader.cc] Target machine feature +prefer-no-gather is not  supported on the host\\n")
    os.write(2, b"E0000 cpu_aot_loader.cc] Target machine feature +avx512f is not  supported on the host\\n")
    os.write(2, b"W0000 gpu_device.cc] Cannot dlopen some GPU libraries\\nF0000 cuda_driver.cc] all is lost")
    {end}
os.write(2, b"after\\n")
"""


def said(end: str) -> tuple[int, str]:
    """Run a script under the filter; return its exit code and stderr."""
    words = [sys.executable, "-c", SPEAKING.format(end=end)]
    ended = subprocess.run(words, stderr=subprocess.PIPE, text=True, timeout=120)
    return ended.returncode, ended.stderr


def test_everything_but_the_known_notes_passes_the_filter_in_order() -> None:
    machine = "E0000 cpu_aot_loader.cc] Target machine feature +avx512f is not  supported on the host\n"
    words = "W0000 gpu_device.cc] Cannot dlopen some GPU libraries\nF0000 cuda_driver.cc] all is lost"
    assert said("pass") == (0, f"{machine}{words}after\n")


def test_a_progress_bar_passes_the_filter_before_its_line_ends() -> None:
    code = "import os; os.write(2, b'50 %'); assert input() == 'seen'"
    script = f"from trainer.platform.log_filter import hide_notes\nwith hide_notes(): {code}"
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as process:
        assert process.stderr.read(4) == b"50 %"
        process.communicate(b"seen\n", timeout=120)
    assert process.returncode == 0


def test_the_message_of_an_abort_passes_the_filter() -> None:
    code, text = said("os.abort()")
    assert code == -6
    assert "Cannot dlopen some GPU libraries" in text
    assert text.endswith("all is lost")


GPU = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, bool]]:
    """Record whether memory growth is requested for a simulated GPU."""
    asked: list[tuple[object, bool]] = []
    monkeypatch.setattr(startup, "tune_allocator", lambda: "allocator: x")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [GPU])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: {"compute_capability": (9, 0)})
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda: asked.append(("listed", True)))
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, grows: asked.append((gpu, grows)))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    return asked


def test_memory_is_taken_as_needed_where_that_is_asked_for_before_the_gpu_is_entered(growing: list) -> None:
    assert start_tensorflow(gpus="as needed") == "allocator: x"
    assert growing == [(GPU, True), ("listed", True)]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_training_takes_the_whole_gpu_memory(growing: list) -> None:
    start_tensorflow()
    assert growing == [("listed", True)]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_commands_without_gpu_do_not_see_it(growing: list) -> None:
    start_tensorflow(gpus="hidden")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "-1"


BUSY = "cudaSetDevice() on GPU:0 failed. Status: CUDA-capable device(s) is/are busy or unavailable"


def test_a_busy_gpu_is_reported_in_one_line(growing: list, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise tf.errors.InternalError(None, None, BUSY)

    monkeypatch.setattr(tf.config, "list_logical_devices", refuse)
    with pytest.raises(UserError, match=r"^the GPU failed or is unavailable \(cudaSetDevice.*CUDA_VISIBLE_DEVICES"):
        start_tensorflow()


def test_a_process_that_has_imported_tensorflow_opens_no_folder_of_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow would not see the flags; processes that are started later would."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TF_XLA_FLAGS", "")
    start_tensorflow(keep_programs=True)
    assert os.environ["TF_XLA_FLAGS"] == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (["say", "RUN", "a", "--language", "eng_Latn", "--out", "a.wav"], "as needed"),
        (["serve", "RUN", "--port", "0"], "as needed"),
        (["export", "--out", "a", "--run", "RUN"], "hidden"),
    ],
)
def test_synthesis_and_export_leave_gpu_memory_to_a_running_training(
    command: Callable,
    speak_command: Callable,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    gpus: str,
    tmp_path: Path,
) -> None:
    asked, run = [], describe_run(tmp_path / "run")
    for name in ("trainer.cli", "trainer.speak_cli"):
        monkeypatch.setattr(f"{name}.start_tensorflow", lambda **settings: asked.append(settings["gpus"]))
    words = [str(run) if word == "RUN" else word for word in words]
    assert (command if words[0] == "export" else speak_command)(*words).code == 2
    assert asked == [gpus]
