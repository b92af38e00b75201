"""Datasets in stores and on web servers: what is read of them, and what is refused."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from shared.errors import UserError
from tests.trainer.data.published_files import FILES, FOR_TRAINING, SHARD, URL, checksums, publish, read, write
from trainer.data import remote_dataset
from trainer.data.dataset_cache import local_dataset
from trainer.data.remote_dataset import RemoteDataset


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; knows no parts of files."""

    root, pause_s, with_length = Path(), 0.0, True

    def __init__(self, *args: Any):
        super().__init__(*args, directory=str(self.root))

    def send_header(self, keyword: str, value: str) -> None:
        if keyword != "Content-Length" or self.with_length:
            super().send_header(keyword, value)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        while chunk := source.read(1 << 12):
            outputfile.write(chunk)
            time.sleep(self.pause_s)


Served = Callable[..., str]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serves files; returns the address."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def serve(files: dict[str, bytes], **options: Any) -> str:
        root = write(files, to=tmp_path / "served" / "corpus").parent
        handler = type("Configured", (Handler,), {"root": root, **options})
        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=servers[-1].serve_forever).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/corpus"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def refusal(url: str) -> str:
    with pytest.raises(UserError) as caught:
        local_dataset(url, log=lambda line: None)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


def test_a_web_server_is_read_without_parts_of_files(served: Served) -> None:
    large = FILES | {SHARD: bytes(9 << 20)}
    folder = local_dataset(served(large) + "/", log=lambda line: None)
    assert read(folder) == FOR_TRAINING | {SHARD: bytes(9 << 20), "_SUCCESS": checksums(large)}


def test_a_file_may_take_longer_than_a_server_may_be_silent(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_dataset, "SILENCE_S", 1.0)
    slow = FILES | {SHARD: bytes(20 << 12)}
    assert read(local_dataset(served(slow, pause_s=0.1), log=lambda line: None))[SHARD] == slow[SHARD]


@pytest.mark.slow
def test_a_silent_web_server_is_given_up(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_dataset, "SILENCE_S", 0.2)
    url = served(FILES | {SHARD: bytes(3 << 12)}, pause_s=2.0)
    assert refusal(url).startswith(f"{url}: ")


def test_a_server_that_states_no_size_is_refused(served: Served) -> None:
    assert "the server does not state its size; expected a header Content-Length" in refusal(
        served(FILES, with_length=False)
    )


def test_a_file_that_is_listed_and_absent_is_named_with_the_answer(served: Served, tmp_path: Path) -> None:
    url = served(FILES)
    (tmp_path / "served" / "corpus" / SHARD).unlink()
    message = refusal(url)
    assert "404" in message
    assert SHARD in message


@pytest.mark.parametrize("content", [b"", b"<html>Sign in</html>", b"0" * 64 + b"  dataset.json\n"])
def test_another_file_in_the_place_of_success_is_refused(content: bytes, served: Served) -> None:
    url = served({"_SUCCESS": content, "dataset.json": b"{}"})
    expected = f"{url}/_SUCCESS: not that of a dataset: expected the sha256 of dataset.json and vocab.json"
    assert refusal(url) == expected


def test_a_list_of_files_that_is_far_too_long_is_not_read_to_its_end(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_dataset, "MAX_SUCCESS_BYTES", 1 << 10)
    url = served({"_SUCCESS": bytes(1 << 24)})
    assert refusal(url) == f"{url}/_SUCCESS: over 1024 bytes, not that of a dataset"


def test_a_list_that_lists_itself_is_that_of_a_dataset() -> None:
    listed = {**FILES, "_SUCCESS": b"older"}
    publish(FILES, _SUCCESS=checksums(listed))
    assert RemoteDataset.open(URL).checksums.keys() == FOR_TRAINING.keys()


def test_a_dataset_that_is_being_published_is_told_from_none() -> None:
    publish(FILES)
    store = fsspec.filesystem("memory")
    store.rm("/bucket/corpus/_SUCCESS")
    assert "no published dataset, _SUCCESS cannot be read" in refusal(URL)
    store.pipe_file("/bucket/corpus/.publication.json", b"{}")
    assert refusal(URL) == f"{URL}: a build publishes it now, or was ended while it did; wait, or run that build again"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s4://bucket/corpus", "s4://bucket/corpus: Protocol not known: s4"),
        ("http://127.0.0.1:1/corpus", "Connect call failed"),
        ("https://somebody:secret@host/corpus", "https://…@host/corpus: a password in an address is shown everywhere"),
        ("https://host/corpus?sig=abc", "expected the address of a folder, without ? and #"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_in_a_line(url: str, expected: str) -> None:
    message = refusal(url)
    assert expected in message
    assert "secret" not in message


def test_a_web_server_is_reached_through_the_proxy_of_the_environment(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server itself plays the proxy: it is asked for whole addresses."""
    url = served(FILES)
    monkeypatch.setenv("http_proxy", url.removesuffix("/corpus"))
    asked: list[str] = []
    monkeypatch.setattr(Handler, "log_request", lambda handler, *_: asked.append(handler.path))
    refusal("http://somewhere.invalid/corpus")
    assert asked[0] == "http://somewhere.invalid/corpus/_SUCCESS"
