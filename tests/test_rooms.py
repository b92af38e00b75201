"""The architecture, read from import statements: rooms, the floors inside a room, and what each may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("shared", "preprocess", "pipelines", "trainer")

# Rooms of ours that a room may import, and packages of others that it may not.
OURS = {
    "shared": {"shared"},
    "preprocess": {"preprocess", "shared"},
    "pipelines": {"pipelines", "preprocess", "shared"},
    "trainer": {"trainer", "shared"},
    "trainer/speech": {"trainer", "shared", "preprocess"},
    "trainer/evaluation": {"trainer", "shared"},
}
REFUSED = {
    "shared": set(),
    "preprocess": {"apache_beam", "tensorflow", "keras", "librosa", "click"},
    "pipelines": {"tensorflow", "keras", "librosa"},
    "trainer": {"apache_beam", "librosa"},
    "trainer/speech": {"apache_beam", "librosa"},
    "trainer/evaluation": {"apache_beam"},
}
SHARED_MAY_IMPORT = {"google_crc32c", "numpy", "pyarrow", "pydantic", "yaml"}

# The floors of a room, from the top: a module imports its own floor and those below. "." is the room's own folder.
FLOORS = {
    "trainer": (
        *(".", "server", "tools", "vocoder_training", "training", "evaluation", "speech", "monitoring"),
        *("checkpoint", "distributed", "optim", "data", "model", "vocoder", "platform", "config"),
    ),
    "pipelines": (
        *(
            ".",
            "download",
            "segment",
            "score",
            "export",
            "repair",
            "compare",
            "trace",
            "report",
            "descriptions",
            "validation",
            "build",
            "html",
            "tables",
            "execution",
        ),
        *("storage", "config"),
    ),
}
# Modules of the room's own folder that stand on a floor of their own.
GROUND = {"pipelines.config": "config"}
# What training must not reach, whatever lies between: preparing an utterance is for speech alone.
WITHOUT_PREPROCESS = ("trainer.training.train", "trainer.tools.evaluate", "trainer.tools.profile")

TOP_LEVEL = {
    *ROOMS,
    *("configs", "tests", "docker", "docs", ".ci"),
    *("Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "mkdocs.yml"),
    *("pyproject.toml", "requirements.lock", ".gitignore"),
}


def room_of(path: str) -> str:
    folder = "/".join(path.split("/")[:2])
    return folder if folder in OURS else path.partition("/")[0]


def imported_names(source: str) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import, also of those within functions and by name; `from a import b` is a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield from ((node.lineno, ast.literal_eval(name)) for name in node.args[:1])


def forbidden_imports(source: str, *, path: str) -> list[str]:
    """`file:line: package` of the imports that the file's room may not make."""
    room = room_of(path)
    found = dict.fromkeys((line, name.partition(".")[0]) for line, name in imported_names(source))
    return [f"{path}:{line}: {package}" for line, package in found if not is_allowed(package, room=room)]


def is_allowed(package: str, *, room: str) -> bool:
    if package in ROOMS:
        return package in OURS[room]
    if room == "shared":
        return package in SHARED_MAY_IMPORT or package in sys.stdlib_module_names
    return package not in REFUSED[room]


@cache
def modules() -> dict[str, Path]:
    """The files of all rooms by their dotted names."""
    files = (path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): ROOT / path for path in files}


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of ours that a module imports; a package that holds an imported one counts too."""
    found = set()
    for _, name in imported_names(modules()[module].read_text("utf-8")):
        while name:
            found |= {name} & modules().keys()
            name = name.rpartition(".")[0]
    return frozenset(found - {module})


def floor_of(module: str, *, room: str) -> str:
    parts = module.split(".")
    is_at_top = (len(parts) <= 2 and modules()[module].name != "__init__.py") or len(parts) == 1
    return GROUND.get(module, "." if is_at_top else parts[1])


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_design_allows(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files, f"{room}/ holds no Python file"
    paths = [(file, file.relative_to(ROOT).as_posix()) for file in files]
    assert [line for file, path in paths for line in forbidden_imports(file.read_text("utf-8"), path=path)] == []


def test_only_the_reader_of_pytorch_files_imports_pytorch() -> None:
    """Also within functions; converting a vocoder is the only command that needs it."""
    importing = {
        module
        for module, path in modules().items()
        if any(name.partition(".")[0] in ("torch", "torchaudio") for _, name in imported_names(path.read_text("utf-8")))
    }
    assert importing == {"trainer.vocoder.torch_file"}


@pytest.mark.parametrize("room", FLOORS)
def test_a_module_imports_no_floor_above_its_own(room: str) -> None:
    """A room's own `__init__.py`, which holds no code, is on no floor."""
    floors = FLOORS[room]
    upward = [
        f"{module} ({floor_of(module, room=room)}) imports {other} ({floor_of(other, room=room)})"
        for module in modules()
        if module.startswith(f"{room}.")
        for other in imports_of(module)
        if other.startswith(f"{room}.")
        and floors.index(floor_of(other, room=room)) < floors.index(floor_of(module, room=room))
    ]
    assert upward == []


@pytest.mark.parametrize("module", WITHOUT_PREPROCESS)
def test_training_reaches_no_module_of_preprocess_on_any_way(module: str) -> None:
    way = {module: module}
    waiting = [module]
    while waiting:
        here = waiting.pop()
        for other in imports_of(here) - way.keys():
            way[other] = f"{way[here]} -> {other}"
            waiting.append(other)
    assert [chain for other, chain in way.items() if other.startswith("preprocess")] == []


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
    assert len(forbidden_imports(source, path=path)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("shared/x.py", "import json\nimport numpy as np\nfrom shared.errors import UserError"),
        ("preprocess/x.py", "import scipy\nfrom . import mel\nfrom shared import hashing"),
        ("pipelines/x.py", "import apache_beam as beam\nfrom preprocess.record import Preparation"),
        ("trainer/speech/x.py", "import tensorflow\nfrom preprocess.mel import log_mel"),
    ],
)
def test_the_checker_lets_an_allowed_import_pass(path: str, source: str) -> None:
    assert forbidden_imports(source, path=path) == []


def test_the_floors_of_a_room_are_its_folders() -> None:
    for room, floors in FLOORS.items():
        folders = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
        assert folders == set(floors) - {".", *GROUND.values()} | ({"config"} if room == "trainer" else set())


@pytest.mark.parametrize("room", ROOMS)
def test_the_folders_of_tests_are_those_of_the_code(room: str) -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests" / room).rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (ROOT / folder).is_dir()] == []


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
