"""A corpus of tones for the tests of the learn check."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from pipelines.build.build_dataset import build_dataset
from pipelines.config import BuildConfig
from shared.config import load_config
from tests.learn.corpus import make_corpus

# harmonics of 180 or 90 Hz, as long as the text; its words are: flite -voice VOICE -t TEXT -o OUT
FLITE = """\
    #!/usr/bin/env python3
    import math, struct, sys, wave
    voice, text, out = sys.argv[2], sys.argv[4], sys.argv[6]
    pitch = {"slt": 180, "rms": 90}[voice]
    one = [math.sin(k * pitch * math.tau * n / 16000) / k for k in (1, 2, 3) for n in range(800)]
    period = [int(9000 * (one[n] + one[800 + n] + one[1600 + n])) for n in range(800)]
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(struct.pack("<800h", *period) * max(12, len(text) // 2))
    """


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of a few sentences; read-only."""
    folder = tmp_path_factory.mktemp("learn")
    program = folder / "flite"
    program.write_text(textwrap.dedent(FLITE), encoding="utf-8")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        assert make_corpus(folder / "corpus", count=6) == 14  # six sentences and a phrase
    overrides = [f"sources.flite.root={folder / 'corpus'}", "validation_fraction=0.5"]
    overrides += ["checks.max_clipped_fraction=null", "checks.min_snr_db=null"]  # tones are no speech
    config = load_config("configs/preprocess_learn_check.yaml", of=BuildConfig, overrides=overrides)
    build_dataset(config, data=folder / "data")
    return folder / "data"
