"""What loading a build's config imports: the settings and pydantic, and none of the libraries that a build needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    *("apache_beam", "tensorflow", "keras", "pyarrow", "numba", "scipy", "soundfile", "soxr", "pyloudnorm"),
    *("tokenizers", "huggingface_hub", "regex", "sacremoses", "num2words"),
)
CODE = f"""
import sys
from pipelines.config import BuildConfig
from shared.config import load_config
from shared.errors import UserError
load_config("configs/preprocess_ljspeech.yaml", of=BuildConfig)
try:
    load_config("configs/preprocess_ljspeech.yaml", of=BuildConfig, overrides=["chekcs.min_snr_db=3"])
except UserError as error:
    print(error)
print(sorted(set({HEAVY!r}) & set(sys.modules)))
"""


@pytest.mark.slow
def test_a_build_config_and_its_mistakes_import_no_library_of_a_build() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", CODE], cwd=root, capture_output=True, text=True, check=True)
    mistake, imported = done.stdout.splitlines()
    assert "chekcs: unknown key; did you mean checks?" in mistake
    assert imported == "[]"
