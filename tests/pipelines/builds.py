"""Small corpora, builds of them, and the commands as a user types them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config
from shared.storage_path import StoragePath

SAMPLE_CONFIG = "configs/preprocess_sample.yaml"
LJSPEECH_CONFIG = "configs/preprocess_ljspeech.yaml"
TOKENIZER = "tests/corpora/tokenizer.json"
ENGLISH = Path("tests/corpora/english")
P = TypeVar("P", bound=StoragePath)
COMMAND = Path(sys.executable).with_name("myxtts-data")


def build(data: P, *, config: str = SAMPLE_CONFIG, overrides: Sequence[str] = ()) -> P:
    """Build into `data`, in this process."""
    build_dataset(config_of(overrides, config=config), data=data)
    return data


def config_of(overrides: Sequence[str], *, config: str = LJSPEECH_CONFIG) -> BuildConfig:
    """What the command reads of a config and its overrides."""
    return load_config(config, of=BuildConfig, overrides=overrides)


def overrides_for(corpus: Path, *more: str) -> list[str]:
    """Turns configs/preprocess_ljspeech.yaml to a corpus made here, whose clips are copies with one text."""
    alike = ("checks.min_duplicate_bits=null", "split_by=utterance")
    return [f"sources.ljspeech.root={corpus}", f"tokenizer={TOKENIZER}", *alike, *more]


def build_words(corpus: Path, *more: str, data: Path) -> list[str]:
    """The words behind `myxtts-data` that build such a corpus."""
    return ["build", LJSPEECH_CONFIG, *overrides_for(corpus, *more), "--data", str(data)]


def start(*words: str, group: bool = False) -> subprocess.Popen[str]:
    """The command as a process of its own, or as the first of a group of its own; its stderr piped."""
    return subprocess.Popen(
        [COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=group
    )


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The command to its end."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def make_corpus(folder: Path, *, clips: int, bad_rows: Sequence[str] = ()) -> Path:
    """LJSpeech's layout with `clips` links to the clips of the sample corpus, then the rows given."""
    wavs = sorted((ENGLISH / "wavs").iterdir())
    (folder / "wavs").mkdir(parents=True)
    rows = []
    for number in range(clips):
        name = f"C{number:05d}"
        (folder / "wavs" / f"{name}.wav").symlink_to(wavs[number % len(wavs)].resolve())
        rows.append(f"{name}|The kettle is singing again.|The kettle is singing again.")
    (folder / "metadata.csv").write_text("\n".join([*rows, *bad_rows]) + "\n", encoding="utf-8")
    return folder


def copied(dataset: Path, *, to: Path) -> Path:
    """A copy that may be disturbed."""
    shutil.copytree(dataset, to)
    return to


def content(dataset: Path) -> dict[str, bytes]:
    """Every file of a dataset but its reports and its lock, by its relative name."""
    files = {str(path.relative_to(dataset)): path for path in dataset.rglob("*") if path.is_file()}
    other = ("validation/", "report.", ".lock")
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(other)}
