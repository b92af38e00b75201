"""`myxtts-data` prints its help, or a mistake in its arguments or config, without importing slow libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.pipelines import builds

SLOW = {"apache_beam", "tensorflow", "scipy", "numba", "tokenizers", "soundfile", "pyarrow", "matplotlib"}

# The console command; after its own output it prints the modules that it imported.
PROGRAM = """
import sys
from pipelines.cli import main
try:
    main()
finally:
    print("modules:", *{name.partition(".")[0] for name in sys.modules})
"""


def run(*words: str) -> tuple[int, str, set[str]]:
    """Exit code, output, and imported packages of the command in a fresh process."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)
    output, _, modules = ended.stdout.rpartition("modules:")
    return ended.returncode, output + ended.stderr, set(modules.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["--help"], 0, "Commands:"),
        (["build", "--help"], 0, "--break-lock"),
        (["validate", "--help"], 0, "--changed"),
        (["flink", "--help"], 0, "Commands:"),
        (["build", builds.SAMPLE_CONFIG, "--datas", "d"], 2, "No such option"),
        (["build", builds.SAMPLE_CONFIG], 2, "Missing option '--data'"),
        (["build", builds.SAMPLE_CONFIG, "--data", "d", "--runner", "dask"], 2, "'dask' is not one of"),
        (["build", builds.SAMPLE_CONFIG, "--data", "d", "colour=red"], 2, "colour: unknown key"),
        (["build", builds.SAMPLE_CONFIG, "--data", "d", "checks.colour=red"], 2, "checks.colour: unknown key"),
        (
            ["build", builds.SAMPLE_CONFIG, "--data", "d", "sources.english.colour=red"],
            2,
            "sources.english.colour: unknown key",
        ),
        (["build", "configs/none.yaml", "--data", "d"], 2, "cannot read the config"),
        (["repair", builds.SAMPLE_CONFIG, "--data", "d", "colour=red"], 2, "colour: unknown key"),
        (["validate", "--data", "d", "--runner", "flink", "--workers", "2"], 2, "error: --workers 2: "),
        (["compare", "a", "b", "--out", "x.txt"], 2, "error: --out x.txt: "),
    ],
)
def test_help_and_mistakes_in_arguments_or_config_import_no_slow_library(
    words: list[str], code: int, expected: str
) -> None:
    found, output, modules = run(*words)
    assert (found, expected in output) == (code, True), output
    assert not modules & SLOW
