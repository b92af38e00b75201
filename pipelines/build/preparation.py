"""The preparation of one utterance and the contract of the shards, both made from a build's config."""

from __future__ import annotations

from pipelines.config import BuildConfig
from preprocess.phonemizer import Phonemizer, load_phonemizer
from preprocess.pitch import check_pyworld
from preprocess.record import Preparation
from preprocess.text import PREPARATION
from preprocess.text_normalizer import load_normalizer
from preprocess.tokens import Tokenizer
from shared.dataset import Contract
from shared.records import NO_PITCH


def create_preparation(config: BuildConfig) -> Preparation:
    """Create the function that makes a record from an utterance, with the settings of `config`.

    Raises:
        UserError: the tokenizer or the text normalizer cannot be loaded, or a library is missing.
    """
    if config.pitch != NO_PITCH:
        check_pyworld()
    return Preparation(
        features=config.feature_spec,
        mel_dtype=config.mel_dtype,
        waveform_dtype=config.waveform_dtype,
        tokenizer=Tokenizer(config.tokenizer, kind=config.tokenizer_kind, phonemizer=_phonemizer(config)),
        processing=config.processing,
        decode_limit_s=config.decode_limit_s,
        pitch=config.pitch,
        energy=config.energy,
        normalizer=None if config.text_normalizer is None else load_normalizer(config.text_normalizer),
    )


def _phonemizer(config: BuildConfig) -> Phonemizer | None:
    """The phonemizer of a build; raises UserError if it is not installed or cannot read a source's language."""
    if config.phonemizer == "none":
        return None
    phonemizer = load_phonemizer()
    for source in config.sources.values():
        if source.language is not None:
            phonemizer.check_language(source.language)
    return phonemizer


def create_contract(prepare: Preparation) -> Contract:
    """The contract of shards that `prepare` makes: it defines the meaning of their numbers."""
    return Contract(
        features=prepare.features,
        mel_dtype=prepare.mel_dtype,
        tokenizer=prepare.tokenizer.identity,
        tokenizer_kind=prepare.tokenizer.kind,
        phonemizer=None if prepare.tokenizer.phonemizer is None else prepare.tokenizer.phonemizer.identity,
        text_preparation=PREPARATION,
        processing=prepare.processing,
        waveform_dtype=prepare.waveform_dtype,
        pitch=prepare.pitch,
        energy=prepare.energy,
        text_normalizer=None if prepare.normalizer is None else prepare.normalizer.identity,
    )
