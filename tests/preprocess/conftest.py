"""Corpora as a config names them, read to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pydantic
import pytest

from preprocess.corpora import Source, read_corpus
from preprocess.utterance import Rejection, Utterance

Read = Callable[..., list[Utterance | Rejection]]


@pytest.fixture
def read() -> Read:
    """Everything that a reader yields of the corpus `x` at this root."""

    def read(
        root: Path, *, name: str = "x", sharing: Sequence[str] = (), **options: Any
    ) -> list[Utterance | Rejection]:
        source = pydantic.TypeAdapter(Source).validate_python({"root": root, **options})
        return list(read_corpus(source, name=name, sources=dict.fromkeys([name, *sharing], source)))

    return read


@pytest.fixture
def utterances(read: Read) -> Callable[..., list[Utterance]]:
    """The same of a corpus in which no row may be bad."""

    def utterances(root: Path, **options: Any) -> list[Utterance]:
        found = read(root, **options)
        assert [one for one in found if isinstance(one, Rejection)] == []
        return [one for one in found if isinstance(one, Utterance)]

    return utterances


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes files by their paths below a new root, and returns that."""

    def write(files: dict[str, str | bytes]) -> Path:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return write
