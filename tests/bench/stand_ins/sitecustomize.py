"""Replaces decoding, mels and measures by a stand-in, in every Python process with this folder in PYTHONPATH.

An utterance gets a short mel of zeros, and a hash and measures that follow from its id. Its text is prepared and
tokenized as ever. `tests/bench/scale.py` measures everything around the decoding with it.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))
from tests.changed_imports import change_on_import

FRAMES = 8


def _stand_in(record: Any) -> None:
    import numpy as np

    from preprocess.quality import Quality

    mel = np.zeros((FRAMES, 80), np.float16)

    def prepare(self: Any, utterance: Any) -> Any:
        sentence = self.read_text(utterance.text, language=utterance.language)
        digest = hashlib.blake2b(utterance.id.encode(), digest_size=16).digest()
        duration_s = 1.0 + digest[0] / 32
        quality = Quality(
            peak=0.5,
            rms_db=-20.0,
            clipped_fraction=0.0,
            dc_offset=0.0,
            silence_fraction=0.1,
            snr_db=40.0,
            bandwidth_hz=10_000.0,
            audio_hash=digest.hex(),
        )
        recording = record.Recording(FRAMES, mel, duration_s, digest.hex() * 2, 22_050, quality)
        made = record.Record(
            utterance_id=utterance.id,
            frames=FRAMES,
            mel=mel,
            tokens=sentence.tokens,
            language=record.language_id(utterance.language),
            speaker=record.speaker_id(utterance.speaker),
            text=sentence.text,
        )
        return record.PreparedUtterance(made, sentence, recording)

    record.Preparation.__call__ = prepare


change_on_import({"preprocess.record": _stand_in})
