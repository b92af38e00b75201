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
# the folder that makes recordings fail as their content says, in a process that has it in PYTHONPATH
INJECTED_FAULTS = Path("tests/pipelines/injected_faults").absolute()
# files of a dataset's folder that are not the dataset
BESIDE = (
    "validation/",
    "build_cache/",
    "report.html",
    "dataset_info.json",
    "features.json",
    "croissant.json",
    "README.md",
    ".lock",
)
P = TypeVar("P", bound=StoragePath)
COMMAND = Path(sys.executable).with_name("myxtts-data")
# undoes what a shell sets for jobs in the background, which the tests may be: that SIGINT is ignored
HEEDING_INTERRUPTS = ("env", "--default-signal=INT")


def build(data: P, *, config: str = SAMPLE_CONFIG, overrides: Sequence[str] = ()) -> P:
    """Build into `data`, in this process."""
    build_dataset(config_of(overrides, config=config), data=data)
    return data


def config_of(overrides: Sequence[str], *, config: str = LJSPEECH_CONFIG) -> BuildConfig:
    """The config that a command loads from a file and overrides."""
    return load_config(config, of=BuildConfig, overrides=overrides)


def overrides_for(corpus: Path, *more: str) -> list[str]:
    """Overrides of configs/preprocess_ljspeech.yaml for a corpus of `make_corpus`: copied clips with one text."""
    alike = ("checks.min_duplicate_bits=null", "split_by=utterance")
    return [f"sources.ljspeech.root={corpus}", f"tokenizer={TOKENIZER}", *alike, *more]


def build_words(corpus: Path, *more: str, data: Path) -> list[str]:
    """The arguments of `myxtts-data` that build a corpus of `make_corpus`."""
    return ["build", LJSPEECH_CONFIG, *overrides_for(corpus, *more), "--data", str(data)]


def start(*words: str, group: bool = False) -> subprocess.Popen[str]:
    """Start the command as from a terminal, with `group` in a process group of its own; its stderr is a pipe."""
    return subprocess.Popen(
        [*HEEDING_INTERRUPTS, COMMAND, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=group,
    )


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)


def make_corpus(folder: Path, *, clips: int, bad_rows: Sequence[str] = ()) -> Path:
    """Make a corpus in LJSpeech's layout: `clips` links to clips of the sample corpus, then the given rows."""
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
    """A copy that a test may change."""
    shutil.copytree(dataset, to)
    return to


def content(dataset: Path) -> dict[str, bytes]:
    """The bytes of every file of a dataset, except its reports, descriptions and lock, by relative name."""
    files = {str(path.relative_to(dataset)): path for path in dataset.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(BESIDE)}
