"""The preparation of one utterance and the contract of the shards, both made from a build's config."""

from __future__ import annotations

from pipelines.config import BuildConfig
from preprocess.record import Preparation
from preprocess.text import PREPARATION
from preprocess.text_normalizer import load_normalizer
from preprocess.tokens import Tokenizer
from shared.dataset import Contract
from shared.features import preset


def create_preparation(config: BuildConfig) -> Preparation:
    """Create the function that makes a record from an utterance, with the settings of `config`.

    Raises:
        UserError: the tokenizer or the text normalizer cannot be loaded.
    """
    return Preparation(
        features=preset(config.features),
        mel_dtype=config.mel_dtype,
        waveform_dtype=config.waveform_dtype,
        tokenizer=Tokenizer(config.tokenizer),
        processing=config.processing,
        decode_limit_s=config.decode_limit_s,
        normalizer=None if config.text_normalizer is None else load_normalizer(config.text_normalizer),
    )


def create_contract(prepare: Preparation) -> Contract:
    """The contract of shards that `prepare` makes: it defines the meaning of their numbers."""
    return Contract(
        features=prepare.features,
        mel_dtype=prepare.mel_dtype,
        tokenizer=prepare.tokenizer.identity,
        text_preparation=PREPARATION,
        processing=prepare.processing,
        waveform_dtype=prepare.waveform_dtype,
        text_normalizer=None if prepare.normalizer is None else prepare.normalizer.identity,
    )
