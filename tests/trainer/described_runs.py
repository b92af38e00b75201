"""Folders with what a command reads of a run before it loads the model."""

from __future__ import annotations

from pathlib import Path

from shared.vocabulary import Vocabulary

VOCABULARY = Vocabulary({1: "<pad>", 2: "</s>", 3: "<unk>", 256047: "eng_Latn"})


def describe_run(run: Path, *, document: bytes = b"{}") -> Path:
    """Write `run.json` with this content, and a vocabulary of English alone."""
    run.mkdir(exist_ok=True)
    (run / "run.json").write_bytes(document)
    (run / "vocab.json").write_bytes(VOCABULARY.to_json())
    return run
