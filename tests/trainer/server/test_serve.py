"""The server as a process: it speaks with a trained run, ends gracefully, and keeps its memory flat."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer import runs
from tests.trainer.processes import begin, end, program

WITHIN_S = 600
BODY = {"input": "The kettle sings. Is it five?", "language": "en", "response_format": "pcm"}


class Process:
    """A running server, and the port that it names in its log."""

    def __init__(self, run: Path):
        words = [program("myxtts-speak"), "serve", run, "--port", "0", "--seconds", "0.3"]
        self.process = begin(words, environment={"COLUMNS": "200"})
        assert self.process.stderr is not None
        line = next(line for line in self.process.stderr if line.startswith("http://"))
        self.port = int(re.search(r":(\d+):", line)[1])

    def post(self, body: dict[str, object] = BODY) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S)
        connection.request("POST", "/v1/audio/speech", body=json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read()

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


@pytest.fixture
def start(trained: runs.Trained) -> Callable[[], Process]:
    return lambda: Process(trained.undisturbed.run)


@pytest.mark.slow
def test_a_server_answers_curl_and_at_sigterm_finishes_what_it_is_answering(
    start: Callable[[], Process], tmp_path: Path
) -> None:
    server = start()
    url = f"http://localhost:{server.port}/v1/audio/speech"
    words = ["curl", "--silent", "--fail", url, "-o", tmp_path / "speech.mp3"]
    subprocess.run([*words, "-d", '{"input": "Hi.", "language": "en"}'], check=True, timeout=WITHIN_S)
    assert (tmp_path / "speech.mp3").read_bytes()[:1] == b"\xff"
    status, whole = server.post()
    assert status == 200
    answers: list[tuple[int, bytes]] = []
    asking = threading.Thread(target=lambda: answers.append(server.post()))
    asking.start()
    health = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WITHIN_S)
    while True:
        health.request("GET", "/health")
        if json.loads(health.getresponse().read())["requests"] or not asking.is_alive():
            break
    server.process.send_signal(signal.SIGTERM)
    asking.join(WITHIN_S)
    assert answers == [(200, whole)]  # the same seed says the same
    ended = end(server.process, within_s=WITHIN_S)
    assert ended.code == 128 + signal.SIGTERM
    assert "SIGTERM: the server has ended" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.soak
def test_memory_is_flat_over_500_requests(start: Callable[[], Process]) -> None:
    server = start()
    texts = [f"The kettle sings {'and sings ' * (number % 7)}." for number in range(500)]
    measured = []
    for number, text in enumerate(texts):
        assert server.post({**BODY, "input": text})[0] == 200
        if number % 100 == 99:
            measured.append(server.resident_mib())
    assert measured[-1] - measured[0] < 64, measured
    server.process.kill()
