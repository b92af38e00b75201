"""The rooms of the house, from the import statements of their files."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("shared", "preprocess", "pipelines", "trainer")

# What each room may import of ours, and what of others' it may not.
OURS = {
    "shared": {"shared"},
    "preprocess": {"preprocess", "shared"},
    "pipelines": {"pipelines", "preprocess", "shared"},
    "trainer": {"trainer", "shared"},
    "trainer/speech": {"trainer", "shared", "preprocess"},
}
REFUSED = {
    "shared": set(),
    "preprocess": {"apache_beam", "tensorflow", "keras", "librosa", "click"},
    "pipelines": {"tensorflow", "keras", "librosa"},
    "trainer": {"apache_beam", "librosa"},
    "trainer/speech": {"apache_beam", "librosa"},
}
SHARED_MAY_IMPORT = {"google_crc32c", "numpy", "pyarrow", "pydantic", "yaml"}

TOP_LEVEL = {
    *ROOMS,
    *("configs", "tests", "docker", "docs", ".ci"),
    *("Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "mkdocs.yml"),
    *("pyproject.toml", "requirements.lock", ".gitignore"),
}


def room_of(path: str) -> str:
    return "trainer/speech" if path.startswith("trainer/speech/") else path.partition("/")[0]


def imported_packages(source: str) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of every import, also of those within functions and by name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, str(node.module).partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield from ((node.lineno, ast.literal_eval(name).partition(".")[0]) for name in node.args[:1])


def trespasses(source: str, *, path: str) -> list[str]:
    """`file:line: package` of the imports that the file's room may not make."""
    room = room_of(path)
    return [f"{path}:{line}: {package}" for line, package in imported_packages(source) if not allowed(package, room)]


def allowed(package: str, room: str) -> bool:
    if package in ROOMS:
        return package in OURS[room]
    if room == "shared":
        return package in SHARED_MAY_IMPORT or package in sys.stdlib_module_names
    return package not in REFUSED[room]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_design_allows(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files, f"{room}/ holds no Python file"
    paths = [(file, file.relative_to(ROOT).as_posix()) for file in files]
    assert [line for file, path in paths for line in trespasses(file.read_text("utf-8"), path=path)] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("shared/x.py", "import scipy.fft"),
        ("shared/x.py", "from preprocess.mel import log_mel"),
        ("shared/x.py", "def late():\n    import tensorflow as tf"),
        ("preprocess/x.py", "from apache_beam.io import filesystems"),
        ("preprocess/corpora/x.py", "if True:\n    from pipelines import build"),
        ("pipelines/x.py", "from keras import layers"),
        ("pipelines/x.py", "import importlib\nimportlib.import_module('tensorflow.io')"),
        ("pipelines/x.py", "__import__('trainer')"),
        ("trainer/x.py", "import numpy, apache_beam"),
        ("trainer/model/x.py", "from preprocess.audio import decode_audio"),
        ("trainer/speechless.py", "import preprocess"),
        ("trainer/speech/x.py", "import pipelines"),
        ("trainer/x.py", "import librosa"),
    ],
)
def test_the_checker_sees_a_forbidden_import(path: str, source: str) -> None:
    assert len(trespasses(source, path=path)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("shared/x.py", "import json\nimport numpy as np\nfrom shared.errors import UserError"),
        ("preprocess/x.py", "import scipy\nfrom . import mel\nfrom shared import order"),
        ("pipelines/x.py", "import apache_beam as beam\nfrom preprocess.record import Preparation"),
        ("trainer/speech/x.py", "import tensorflow\nfrom preprocess.mel import log_mel"),
    ],
)
def test_the_checker_lets_an_allowed_import_pass(path: str, source: str) -> None:
    assert trespasses(source, path=path) == []


def test_a_beam_worker_does_not_load_tensorflow() -> None:
    names = "pipelines.build.prepare_shards, pipelines.build.build_dataset, pipelines.cli"
    code = f"import {names}, sys; print('tensorflow' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


def test_the_contract_loads_neither_beam_nor_a_signal_library() -> None:
    code = (
        "import shared.config, shared.dataset, shared.features, shared.records, shared.tfrecord, shared.vocabulary;"
        "import sys;"
        "print(sorted({'apache_beam', 'scipy', 'soundfile', 'tensorflow', 'tokenizers'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_the_top_level_is_the_designs() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so there is no telling which files are the project's")
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    top_level = {path.partition("/")[0] for path in listed}
    assert top_level - TOP_LEVEL == set()
    assert {*ROOMS, "configs", "tests", "Makefile", "pyproject.toml"} - top_level == set()
