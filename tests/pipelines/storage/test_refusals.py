"""Stores that refuse or cannot be reached are reported in one line; other exceptions are not."""

from __future__ import annotations

import functools
import getpass
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.storage.object_store import file_system
from shared.dataset import Dataset
from tests.commands import Outcome
from tests.pipelines import builds, vault


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("403 Forbidden:\nno access"), "403 Forbidden: no access"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
    ],
)
@pytest.mark.parametrize("name", ["build", "validate", "repair", "replay", "report", "compare", "trace"])
def test_a_store_that_refuses_is_reported_in_one_line(
    name: str,
    error: Exception,
    message: str,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[..., Outcome],
) -> None:
    monkeypatch.setattr(vault.Shut, "error", error)
    words: dict[str, list[str | Path]] = {
        "build": [*builds.build_words(small.parent / "corpus", data=small)[1:-1], "shut://bucket/of/mine"],
        "compare": ["shut://bucket/of/mine", small],
        "trace": ["ljspeech/C00001", "--data", "shut://bucket/of/mine"],
    }
    outcome = command(name, *words.get(name, ["--data", "shut://bucket/of/mine"]))
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: shut://bucket/of/mine")
    assert message in line


def test_other_exceptions_are_not_reported_as_a_refusal(
    small: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Outcome]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no file of anybody's")

    monkeypatch.setattr(Dataset, "open", fail)
    with pytest.raises(OSError, match="no file of anybody's"):
        command("report", "--data", small)


def test_a_user_without_a_name_reads_hdfs_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[dict[str, object]] = []
    monkeypatch.setitem(
        sys.modules, "apache_beam.io.hadoopfilesystem", SimpleNamespace(HadoopFileSystem=options.append)
    )
    monkeypatch.setattr(getpass, "getuser", functools.partial({}.__getitem__, "uid"))
    file_system("hdfs://namenode/data")
    assert [one["hdfs_user"] for one in options] == [str(os.getuid())]
