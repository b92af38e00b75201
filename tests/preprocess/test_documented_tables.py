"""The sources of docs/corpora.md read miniatures of their corpora."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCUMENT = Path(__file__).parents[2] / "docs/corpora.md"

# rows as ESPnet's and Coqui's recipes for these corpora read them, and what is expected: audio, text, speaker
MINIATURES = {
    "kss": (
        "transcript.v.1.4.txt",
        "1/1_0000.wav|3일|삼일|삼일|3.5|Three days.\n",
        ("1/1_0000.wav", "삼일", "kss"),
    ),
    "ruslan": (
        "metadata_RUSLAN_22200.csv",
        '000000_RUSLAN|С трев+ожным "ч+увством" берусь я за перо.\n',
        ("RUSLAN/000000_RUSLAN.wav", 'С трев+ожным "ч+увством" берусь я за перо.', "ruslan"),
    ),
    "thorsten": (
        "metadata.csv",
        "0a1b|Mist, wieder nichts geschafft.\n",
        ("wavs/0a1b.wav", "Mist, wieder nichts geschafft.", "thorsten"),
    ),
    "made_for_piper": ("metadata.csv", "1234|anna|Hello.\n", ("wav/1234.wav", "Hello.", "anna")),
    "made_for_coqui": (
        "metadata.csv",
        "audio_file|text|speaker_name|emotion_name\nwavs/a.flac|Hello.|ben|neutral\n",
        ("wavs/a.flac", "Hello.", "ben"),
    ),
}


def documented_sources() -> dict[str, dict[str, Any]]:
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Corpora that `table` reads")[2]
    found = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert found is not None
    sources: dict[str, dict[str, Any]] = yaml.safe_load(found[1])["sources"]
    return sources


def test_each_documented_source_has_a_miniature() -> None:
    assert documented_sources().keys() == MINIATURES.keys()


@pytest.mark.parametrize("name", MINIATURES)
def test_a_documented_source_reads_its_corpus(name: str, write: Any, utterances: Any) -> None:
    file, content, (audio, text, speaker) = MINIATURES[name]
    root = write({file: content})
    options = documented_sources()[name]
    assert options.pop("root").startswith("data/")
    (one,) = utterances(root, name=name, **options)
    assert (one.audio_path, one.text, one.speaker) == (f"{root}/{audio}", text, f"{name}/{speaker}")
