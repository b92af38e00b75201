"""Settings of a build: sources, features, splits, checks, shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import yaml

from preprocess.check_config import CheckConfig
from preprocess.corpora import Source
from shared.config import Config
from shared.features import PRESETS, FeatureSpec
from shared.layout import SOURCE_NAME_PATTERN
from shared.mel_config import MelConfig, feature_spec
from shared.processing import Processing
from shared.records import NO_MEL, NO_PITCH, NO_WAVEFORM, PitchMethod
from shared.vocabulary import NLLB, TokenizerKind

SourceName = Annotated[str, pydantic.Field(pattern=f"^{SOURCE_NAME_PATTERN}$")]

# 48 kHz stereo of this length is 230 MB as float32; no utterance is nearly as long.
MAX_DECODE_S = 600.0


class BuildConfig(Config):
    """Settings of a build: the content of `configs/preprocess_*.yaml`."""

    sources: dict[SourceName, Source] = pydantic.Field(min_length=1)
    tokenizer: str  # path of a tokenizer.json, or a Hugging Face repository that has one
    # nllb: NLLB-200's, or one with its special tokens and languages under its ids; other: any one, whose ids are raised
    tokenizer_kind: TokenizerKind = NLLB
    phonemizer: Literal["none", "espeak-ng"] = "none"  # makes phonemes of the texts, which the tokenizer then gets
    text_normalizer: str | None = None  # entry point of an installed package, a function that gets each text first
    features: str = "hifigan-22k"  # mel preset: hifigan-22k, bigvgan-24k-100 or vocos-24k
    mel: MelConfig = MelConfig()
    mel_dtype: Literal["float16", "float32", "none"] = "float16"  # of the stored mels; none: training computes them
    # of samples that are stored beside the mels, for the training of a vocoder; none: no samples are stored
    waveform_dtype: Literal["none", "int16"] = "none"
    # method of WORLD that finds the pitch of each frame, stored beside the mels for models that predict it; harvest is
    # slower and misses less; none: no pitch is stored
    pitch: PitchMethod = NO_PITCH
    energy: bool = False  # whether the norm of each frame's magnitudes is stored, for models that predict it
    processing: Processing = Processing()

    # share of the utterances that validation gets, by hash
    validation_fraction: float = pydantic.Field(0.02, ge=0, lt=1)
    test_fraction: float = pydantic.Field(0.0, ge=0, lt=1)  # the same for the test split, which training never reads
    split_by: Literal["text", "utterance", "speaker"] = "text"  # what never occurs in two splits
    # file with a person on each line: the names, source/speaker, of their voices, between tabs; for split_by: speaker
    speaker_groups: Path | None = None
    held_out: Path | None = None  # file with utterance ids or speakers, one a line, that always go to validation
    held_out_for_test: Path | None = None  # the same: they always go to test

    decode_limit_s: float = pydantic.Field(60.0, gt=0, le=MAX_DECODE_S)  # longer recordings are not decoded
    checks: CheckConfig = CheckConfig()
    # of all utterances and of each language's, if it has 50 or more; above it nothing is published
    max_rejected_fraction: float = pydantic.Field(0.05, ge=0, le=1)

    utterances_per_shard: int = pydantic.Field(512, ge=1)  # mean size of a shard, within a factor of 1.41
    workers: int | None = pydantic.Field(None, ge=1)  # worker processes; null: by the size of the job

    @pydantic.field_validator("features")
    @classmethod
    def _check_features(cls, features: str) -> str:
        if features not in PRESETS:
            raise ValueError(f"expected one of {', '.join(PRESETS)}")
        return features

    @property
    def feature_spec(self) -> FeatureSpec:
        """The settings of the mels: those of the preset, and the user's own."""
        return feature_spec(self.features, mel=self.mel)

    @pydantic.model_validator(mode="after")
    def _check_mel(self) -> BuildConfig:
        _ = self.feature_spec  # raises where settings do not go together
        return self

    @pydantic.model_validator(mode="after")
    def _check_phonemizer(self) -> BuildConfig:
        if self.phonemizer != "none" and self.tokenizer_kind == NLLB:
            raise ValueError(
                f"phonemizer {self.phonemizer}: NLLB's pieces are those of letters; expected tokenizer_kind: other, "
                "such as with tokenizer: configs/tokenizer_ipa.json"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_fractions(self) -> BuildConfig:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError(
                f"validation_fraction {self.validation_fraction} and test_fraction {self.test_fraction} leave nothing "
                "to train on; expected a sum below 1"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_processing(self) -> BuildConfig:
        if self.mel_dtype == NO_MEL and self.processing.steps:
            steps = ", ".join(f"processing.{name}" for name in self.processing.steps)
            raise ValueError(f"mel_dtype=none: training computes the mels without {steps}; leave one of the two out")
        return self

    @pydantic.model_validator(mode="after")
    def _check_waveforms(self) -> BuildConfig:
        if self.waveform_dtype == NO_WAVEFORM:
            return self
        if self.mel_dtype == NO_MEL:
            raise ValueError("mel_dtype=none: vocoders then read the recordings; leave waveform_dtype out")
        if self.processing.loudness_lufs is not None and self.processing.max_peak is None:
            raise ValueError(
                f"waveform_dtype={self.waveform_dtype} cannot hold samples above full scale, which "
                "processing.loudness_lufs may make; expected processing.max_peak, too, such as 0.95"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _check_durations(self) -> BuildConfig:
        longest_s = self.checks.max_duration_s
        if longest_s is not None and longest_s > self.decode_limit_s:
            raise ValueError(f"checks.max_duration_s {longest_s} is larger than decode_limit_s {self.decode_limit_s}")
        return self


def config_document(config: BuildConfig) -> bytes:
    """The config as YAML with all defaults, but without settings that do not change the dataset."""
    values = config.model_dump(mode="json", exclude={"workers"})
    _drop_unchanged(values, text_normalizer=None, waveform_dtype=NO_WAVEFORM, test_fraction=0.0, held_out_for_test=None)
    _drop_unchanged(values, pitch=NO_PITCH, energy=False, tokenizer_kind=NLLB, phonemizer="none")
    if config.feature_spec == PRESETS[config.features]:
        del values["mel"]
    for source in values["sources"].values():
        _drop_unchanged(source, license=None, include=None, exclude=None, scores={}, official_splits=False)
        _drop_unchanged(source, custom_columns=[])
        if source["reader"] == "kaldi":
            _drop_unchanged(source, audio_root=".")
        _drop_unchanged(source.get("columns", {}), start=None, end=None, duration=None, split=None)
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode()


def _drop_unchanged(values: dict[str, Any], **defaults: object) -> None:
    """Remove settings that have their defaults: without them, the bytes are those of before the settings existed."""
    for name, default in defaults.items():
        if name in values and values[name] == default:
            del values[name]
