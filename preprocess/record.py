"""Prepares one utterance: reads its text and its audio, and returns a record with its measures, or a rejection."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Literal, NamedTuple

import numpy as np

from preprocess.audio import decode_audio, resample, to_pcm
from preprocess.audio_file import PAUSES_S, TRANSIENT, read_audio_file
from preprocess.mel import frame_energy, log_mel, moments
from preprocess.parts import names_a_file
from preprocess.pitch import frame_pitch
from preprocess.processing import process
from preprocess.quality import Quality, measure_quality
from preprocess.text import prepare_text, spoken_characters
from preprocess.text_normalizer import TextNormalizer
from preprocess.tokens import Tokenizer
from preprocess.utterance import (
    READER_STAGE,
    READING_STAGE,
    MissingReader,
    Reason,
    Rejected,
    Rejection,
    Utterance,
    rejection,
)
from preprocess.wav import check_plain_pcm
from shared.features import FeatureSpec
from shared.hashing import speaker_id
from shared.languages import language_id
from shared.processing import Processing
from shared.records import MEL_DTYPES, NO_MEL, NO_PITCH, NO_WAVEFORM, PitchMethod, Record
from shared.vocabulary import UNKNOWN_ID


class Recording(NamedTuple):
    """A decoded and measured audio file."""

    frames: int
    mel: np.ndarray  # as stored: [F, M], or its moments [3, M]
    duration_s: float
    sha256: str
    rate_hz: int  # of the file
    quality: Quality
    # None: not stored
    waveform: np.ndarray | None = None  # [S] int16
    pitch_hz: np.ndarray | None = None  # [F] float32
    energy: np.ndarray | None = None  # [F] float32


class Sentence(NamedTuple):
    """A prepared and tokenized text."""

    text: str
    tokens: tuple[int, ...]  # [T]
    unknown_characters: str
    unread_numbers: int


class PreparedUtterance(NamedTuple):
    """A record, and the further facts about it in the manifest."""

    record: Record
    sentence: Sentence
    recording: Recording

    def manifest_columns(self) -> dict[str, str | int | float]:
        """The record's cells in the manifest: column name -> value."""
        sentence, recording = self.sentence, self.recording
        return {
            "utterance_id": self.record.utterance_id,
            "text": sentence.text,
            "tokens": len(sentence.tokens),
            "unknown_tokens": sentence.tokens.count(UNKNOWN_ID),
            "unknown_characters": sentence.unknown_characters,
            "unread_numbers": sentence.unread_numbers,
            "audio_sha256": recording.sha256,
            "audio_rate_hz": recording.rate_hz,
            "frames": recording.frames,
            "duration_s": recording.duration_s,
            "characters_per_second": len(spoken_characters(sentence.text)) / recording.duration_s,
            **recording.quality._asdict(),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preparation:
    """The settings and the tokenizer that turn utterances into records; call it with an utterance."""

    features: FeatureSpec
    mel_dtype: str
    waveform_dtype: Literal["none", "int16"]
    tokenizer: Tokenizer
    processing: Processing
    decode_limit_s: float
    normalizer: TextNormalizer | None = None
    pitch: PitchMethod = NO_PITCH
    energy: bool = False

    def __call__(self, utterance: Utterance) -> PreparedUtterance | Rejection:
        """Prepare one utterance.

        An error in the data gives a rejection, and so does a disk that fails to read this one recording, or a reader
        of its format that is not installed; another build tries these again. Any other exception is a defect, and
        propagates.
        Properties that are merely undesirable are measured here and checked later.
        """
        stage = "text"
        try:
            sentence = self.read_text(utterance.text, language=utterance.language)
            stage = "audio"
            recording = self.read_audio(self._read_file(utterance.audio_path))
        except Rejected as error:
            stage = READER_STAGE if isinstance(error, MissingReader) else stage
            return rejection(utterance, stage=stage, reason=error.reason, message=error.message)
        except OSError as error:
            if error.errno not in TRANSIENT:
                raise
            message = f"{error.strerror}, at each of {len(PAUSES_S) + 1} attempts"
            return rejection(utterance, stage=READING_STAGE, reason=Reason.UNREADABLE_AUDIO, message=message)
        record = Record(
            utterance_id=utterance.id,
            frames=recording.frames,
            mel=recording.mel,
            tokens=sentence.tokens,
            language=language_id(utterance.language),
            speaker=speaker_id(utterance.speaker),
            text=sentence.text,
            waveform=recording.waveform,
            pitch_hz=recording.pitch_hz,
            energy=recording.energy,
        )
        return PreparedUtterance(record, sentence, recording)

    def read_text(self, text: str, *, language: str) -> Sentence:
        """Prepare and tokenize a text; raises Rejected if nothing is left of it, or the phonemizer does not read it."""
        phonemizer = self.tokenizer.phonemizer
        if phonemizer is not None and not phonemizer.reads(language):
            raise Rejected(Reason.UNKNOWN_LANGUAGE, f"the phonemizer does not read {language}")
        prepared = prepare_text(text, language=language, normalizer=self.normalizer)
        tokens = self.tokenizer.encode(prepared.text, language=language)
        if len(tokens) < 3:
            raise Rejected(Reason.EMPTY_TEXT, "nothing is left of the text after its preparation")
        unknown = self.tokenizer.unknown_characters(prepared.text, language=language) if UNKNOWN_ID in tokens else ""
        return Sentence(prepared.text, tokens, unknown, prepared.unread_numbers)

    def _read_file(self, path: str) -> bytes:
        if self.mel_dtype == NO_MEL and not names_a_file(path):
            message = f"a part of a file; with mel_dtype={NO_MEL} the trainer reads files that are whole wavs"
            raise Rejected(Reason.NOT_PLAIN_WAV, message)
        return read_audio_file(path)

    def read_audio(self, data: bytes) -> Recording:
        """Decode and measure the bytes of an audio file; raises Rejected if they give no mel."""
        decoded = decode_audio(data, max_duration_s=self.decode_limit_s)
        if self.mel_dtype == NO_MEL:
            check_plain_pcm(data, rate_hz=self.features.sample_rate_hz, samples=decoded.samples)
        signal = process(resample(decoded, rate_hz=self.features.sample_rate_hz), steps=self.processing)
        if len(signal.samples) < self.features.min_samples:
            raise Rejected(Reason.TOO_SHORT, f"{signal.duration_s:.3f} s give no mel frame")
        mel = log_mel(signal.samples, spec=self.features)
        quality = measure_quality(decoded, resampled=signal, mel=mel, hop_samples=self.features.hop_samples)
        return Recording(
            frames=len(mel),
            mel=(moments(mel) if self.mel_dtype == NO_MEL else mel).astype(MEL_DTYPES[self.mel_dtype]),
            duration_s=signal.duration_s,
            sha256=hashlib.sha256(data).hexdigest(),
            rate_hz=decoded.rate_hz,
            quality=quality,
            waveform=None if self.waveform_dtype == NO_WAVEFORM else to_pcm(signal.samples),
            pitch_hz=None if self.pitch == NO_PITCH else self._pitch(signal.samples),
            energy=frame_energy(signal.samples, spec=self.features) if self.energy else None,
        )

    def _pitch(self, samples: np.ndarray) -> np.ndarray:
        return frame_pitch(samples, spec=self.features, method=self.pitch)
