"""Prepare an utterance again and compare the record with the stored one."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipelines.config import MAX_DECODE_S
from pipelines.storage.record_reader import decode_mel
from pipelines.trace.lookup import Row
from preprocess.phonemizer import phonemizer_of
from preprocess.pitch import check_pyworld
from preprocess.record import Preparation
from preprocess.text_normalizer import normalizer_of
from preprocess.tokens import Tokenizer
from preprocess.utterance import Rejection, Utterance
from shared.dataset import Contract
from shared.errors import UserError
from shared.records import ALL_FIELDS, NO_PITCH, decode, encode

SAME = "the same bytes"


def reproduce_record(row: Row, *, payload: bytes, contract: Contract) -> str:
    """Prepare the manifest's text and the present audio file; return `SAME` or a description of the difference.

    Raises:
        UserError: the tokenizer, the text normalizer or the phonemizer cannot be loaded, or is not that of the dataset;
            or a library is missing.
    """
    utterance = Utterance(
        id=row["utterance_id"],
        audio_path=row["audio_path"],
        text=row["original_text"],
        language=row["language"],
        speaker=row["speaker"],
    )
    prepared = _preparation(contract)(utterance)
    if isinstance(prepared, Rejection):
        return f"rejected now: {prepared.reason}: {prepared.message}"
    made = encode(prepared.record)
    return SAME if made == payload else _describe_difference(decode(payload), decode(made), contract=contract)


def _preparation(contract: Contract) -> Preparation:
    phonemizer = phonemizer_of(contract.phonemizer)
    tokenizer = Tokenizer(contract.tokenizer.location, kind=contract.tokenizer_kind, phonemizer=phonemizer)
    if tokenizer.identity.sha256 != contract.tokenizer.sha256:
        raise UserError(
            f"tokenizer {contract.tokenizer.location}: is another one than the dataset was made with (sha256); "
            "trace without --reproduce"
        )
    if contract.pitch != NO_PITCH:
        check_pyworld()
    return Preparation(
        features=contract.features,
        mel_dtype=contract.mel_dtype,
        waveform_dtype=contract.waveform_dtype,
        pitch=contract.pitch,
        energy=contract.energy,
        tokenizer=tokenizer,
        processing=contract.processing,
        decode_limit_s=MAX_DECODE_S,
        normalizer=normalizer_of(contract.text_normalizer),
    )


def _describe_difference(before: dict[str, Any], after: dict[str, Any], *, contract: Contract) -> str:
    changed = [field.name for field in ALL_FIELDS if before.get(field.name) != after.get(field.name)]
    old, new = (decode_mel(features, contract=contract) for features in (before, after))
    text = f"other bytes now, in {', '.join(changed)}"
    if "mel" in changed and old.shape == new.shape:
        distance = np.abs(old.astype(np.float64) - new.astype(np.float64))
        text += f"; mel differs by {distance.max():.3g} at most, {distance.mean():.3g} in the mean"
    return text
