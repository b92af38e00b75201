"""The room's one door: an utterance becomes a record, or a rejection that says why."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocess.audio import Audio, decode_audio
from preprocess.checks import CheckConfig, check_duration, check_tokens
from preprocess.mel import log_mel
from preprocess.text import prepare_text
from preprocess.tokens import Tokenizer
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.features import FeatureSpec
from shared.languages import language_id
from shared.order import speaker_id
from shared.records import MEL_DTYPES, Record
from shared.vocabulary import UNKNOWN_ID

# 20 s of 192 kHz stereo float64 is 61 MB; more than this is no utterance.
MAX_FILE_BYTES = 1 << 28


class Prepared(NamedTuple):
    """A record and what the manifest says of it besides."""

    record: Record
    audio: Audio
    audio_sha256: str

    @property
    def unknown_tokens(self) -> int:
        return self.record.tokens.count(UNKNOWN_ID)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preparation:
    """All that turns an utterance into its record."""

    features: FeatureSpec
    mel_dtype: str
    tokenizer: Tokenizer
    checks: CheckConfig

    def __call__(self, utterance: Utterance) -> Prepared | Rejection:
        """The one function from utterance to record or rejection.

        An error of the data is a rejection; any other exception is a defect or a failing disk, and propagates.
        """
        stage = "text"
        try:
            text, tokens = self._text(utterance)
            stage = "audio"
            data = read_audio_file(utterance.audio_path)
            audio, mel = self._audio(data)
        except Rejected as error:
            return rejection(utterance, stage=stage, reason=error.reason, message=error.message)
        record = Record(
            utterance_id=utterance.id,
            mel=mel,
            tokens=tokens,
            language=language_id(utterance.language),
            speaker=speaker_id(utterance.speaker),
            text=text,
        )
        return Prepared(record, audio, hashlib.sha256(data).hexdigest())

    def _text(self, utterance: Utterance) -> tuple[str, tuple[int, ...]]:
        text = prepare_text(utterance.text)
        tokens = self.tokenizer.encode(text, language=utterance.language)
        check_tokens(tokens, bounds=self.checks)
        return text, tokens

    def _audio(self, data: bytes) -> tuple[Audio, np.ndarray]:
        """The signal and its mel, [F, M] in the stored dtype."""
        rate_hz = self.features.sample_rate_hz
        audio = decode_audio(data, rate_hz=rate_hz, max_duration_s=self.checks.max_duration_s)
        check_duration(audio, bounds=self.checks, min_samples=self.features.min_samples)
        return audio, log_mel(audio.samples, spec=self.features).astype(MEL_DTYPES[self.mel_dtype])


def rejection(utterance: Utterance, *, stage: str, reason: Reason, message: str) -> Rejection:
    """The rejection of an utterance."""
    return Rejection(id=utterance.id, audio_path=utterance.audio_path, stage=stage, reason=reason, message=message)


def read_audio_file(path: str) -> bytes:
    """The bytes of a recording.

    Raises:
        Rejected: the file is absent, not a file, or too large.
        OSError: the disk failed, which says nothing about the utterance.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise Rejected(Reason.MISSING_AUDIO, f"{error.strerror}: {path}") from error
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.ELOOP):
            raise
        raise Rejected(Reason.MISSING_AUDIO, f"{error.strerror}: {path[:80]}…") from error
    if len(data) > MAX_FILE_BYTES:
        raise Rejected(Reason.TOO_LONG, f"over {MAX_FILE_BYTES} bytes: {path}")
    return data
