"""Two builds of one corpus that differ in every way that compare reports, built once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import soundfile

from pipelines.compare import compare_datasets, write_comparison
from shared.dataset import Dataset
from tests.pipelines import builds
from tests.pipelines.compare.compare_files import HOSTILE
from tests.pipelines.html_pages import Page


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One corpus built twice: a gain, a text, a clip more, a clip less and a threshold between the two."""
    folder = tmp_path_factory.mktemp("pair")
    corpus = builds.make_corpus(folder / "corpus", clips=16)
    alike = builds.overrides_for(corpus, "utterances_per_shard=6", "validation_fraction=0.3", "max_rejected_fraction=1")
    a = builds.build(folder / "a", config=builds.LJSPEECH_CONFIG, overrides=alike)
    quieter = corpus / "wavs" / "C00002.wav"
    samples, rate_hz = soundfile.read(quieter)
    quieter.unlink()  # a link
    soundfile.write(quieter, 0.7 * samples, rate_hz, subtype="PCM_16")
    shutil.copy(corpus / "wavs" / "C00001.wav", corpus / "wavs" / "C00099.wav")
    table = corpus / "metadata.csv"
    rows = [row for row in table.read_text("utf-8").splitlines() if not row.startswith("C00005|")]
    rows = [f"C00003|{HOSTILE}|{HOSTILE}" if row.startswith("C00003|") else row for row in rows]
    table.write_text("\n".join([*rows, "C00099|One more clip.|One more clip."]) + "\n", "utf-8")
    b = builds.build(folder / "b", config=builds.LJSPEECH_CONFIG, overrides=[*alike, "checks.min_duration_s=1.9"])
    return a, b


@pytest.fixture(scope="session")
def document(pair: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("document") / "out.json"
    write_comparison(compare_datasets(*map(Dataset.open, pair)), path=path)
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="session")
def page(pair: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "out.html"
    write_comparison(compare_datasets(*map(Dataset.open, pair)), path=path)
    return Page(path)
