"""The `trace` command: details of the utterances that match, a spectrogram, and the reproduction of a record."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipelines.html.clips import AudioChanged, read_source_audio
from pipelines.storage.record_reader import decode_mel
from pipelines.trace.lookup import Row, find_rows
from pipelines.trace.reproduce import SAME, reproduce_record
from pipelines.trace.spectrogram import write_spectrogram
from pipelines.trace.utterance_details import UtteranceDetails, read_utterance_details
from preprocess.mel import log_mel
from preprocess.utterance import Rejected
from shared.dataset import Contract, Dataset
from shared.errors import UserError
from shared.records import decode


def trace(dataset: Dataset, target: str, *, mel: Path | None = None, reproduce: bool = False) -> list[UtteranceDetails]:
    """Read the details of every utterance that matches `target`.

    Args:
        target: an id, a record of a shard, or an audio file, as in `find_rows`.
        mel: where to write a PNG of the mel.
        reproduce: prepare the utterance again and compare the records.

    Raises:
        UserError: nothing matches; the PNG cannot be drawn or written; the tokenizer cannot be loaded.
    """
    rows = find_rows(dataset, target)
    utterances = [_details(dataset, row, reproduce=reproduce) for row in rows]
    if mel is not None:
        _draw(dataset, utterances, mel=mel, target=target)
    return [details for details, _ in utterances]


def is_ok(details: UtteranceDetails) -> bool:
    """The record is valid, and if it was reproduced, the reproduction is equal."""
    return details.is_valid and details.reproduction in (None, SAME)


def _details(dataset: Dataset, row: Row, *, reproduce: bool) -> tuple[UtteranceDetails, bytes | None]:
    details, payload = read_utterance_details(dataset, row)
    if reproduce:
        contract = dataset.info.contract
        outcome = reproduce_record(row, payload=payload, contract=contract) if payload else "no record to compare with"
        details = details.model_copy(update={"reproduction": outcome})
    return details, payload


def _draw(dataset: Dataset, utterances: list[tuple[UtteranceDetails, bytes | None]], *, mel: Path, target: str) -> None:
    valid = [(details, payload) for details, payload in utterances if payload]
    if len(valid) != 1:
        found = "; ".join(_record_of(details) for details, _ in utterances)
        raise UserError(f"--mel {mel}: {target} has {len(valid)} valid records; expected one: {found}")
    ((details, payload),) = valid
    contract = dataset.info.contract
    record = details.record
    assert payload is not None
    assert record is not None
    title = f"{details.utterance_id}   {record.file}:{record.index}"
    if contract.stores_mels:
        drawn = decode_mel(decode(payload), contract=contract)
    else:
        drawn = _mel_from_audio(details, contract=contract)
    write_spectrogram(drawn, spec=contract.features, title=title, path=mel)


def _record_of(details: UtteranceDetails) -> str:
    """The location and state of the record, or the reason why there is none."""
    record = details.record
    if record is None:
        return f"{details.utterance_id} is {details.status}: {details.reason}: {details.message}"
    return f"{record.file}:{record.index} is {record.state}"


def _mel_from_audio(details: UtteranceDetails, *, contract: Contract) -> np.ndarray:
    """Compute the mel [F, M] from the audio file, for a dataset that stores no mels."""
    row = {"audio_path": details.audio.path, "audio_sha256": details.audio.recorded_sha256}
    try:
        return log_mel(read_source_audio(row, contract=contract).samples, spec=contract.features)
    except (OSError, Rejected, AudioChanged) as error:
        raise UserError(f"--mel: the dataset stores no mels, and this mel cannot be computed: {error}") from error
