"""One run of `trace`: every utterance that is meant, told, drawn and prepared again as asked."""

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


def trace(dataset: Dataset, what: str, *, mel: Path | None = None, reproduce: bool = False) -> list[UtteranceDetails]:
    """The account of each utterance that is meant; `mel` is where the picture goes.

    Raises:
        UserError: there is none; the picture cannot be made or written; the tokenizer is not to be had.
    """
    rows = find_rows(dataset, what)
    utterances = [_one(dataset, row, reproduce=reproduce) for row in rows]
    if mel is not None:
        _draw(dataset, utterances, mel=mel, what=what)
    return [details for details, _ in utterances]


def is_ok(details: UtteranceDetails) -> bool:
    """The record is sound, and came out the same if it was made again."""
    return details.is_valid and details.reproduction in (None, SAME)


def _one(dataset: Dataset, row: Row, *, reproduce: bool) -> tuple[UtteranceDetails, bytes | None]:
    details, payload = read_utterance_details(dataset, row)
    if reproduce:
        contract = dataset.info.contract
        found = reproduce_record(row, payload=payload, contract=contract) if payload else "no record to compare with"
        details = details.model_copy(update={"reproduction": found})
    return details, payload


def _draw(dataset: Dataset, utterances: list[tuple[UtteranceDetails, bytes | None]], *, mel: Path, what: str) -> None:
    sound = [(details, payload) for details, payload in utterances if payload]
    if len(sound) != 1:
        told = "; ".join(_record_of(details) for details, _ in utterances)
        raise UserError(f"--mel {mel}: {what} has {len(sound)} sound records, wanted one: {told}")
    ((details, payload),) = sound
    contract = dataset.info.contract
    record = details.record
    assert payload is not None
    assert record is not None
    title = f"{details.utterance_id}   {record.file}:{record.index}"
    drawn = (
        decode_mel(decode(payload), contract=contract) if contract.stores_mels else _again(details, contract=contract)
    )
    write_spectrogram(drawn, spec=contract.features, title=title, path=mel)


def _record_of(details: UtteranceDetails) -> str:
    """Where it is and what is wrong with it, or why there is none."""
    record = details.record
    if record is None:
        return f"{details.utterance_id} is {details.status}: {details.reason}: {details.message}"
    return f"{record.file}:{record.index} is {record.state}"


def _again(details: UtteranceDetails, *, contract: Contract) -> np.ndarray:
    """The mel of an audio file, where none is stored, [F, M]."""
    row = {"audio_path": details.audio.path, "audio_sha256": details.audio.recorded_sha256}
    try:
        return log_mel(read_source_audio(row, contract=contract).samples, spec=contract.features)
    except (OSError, Rejected, AudioChanged) as error:
        raise UserError(f"--mel: no mels are stored in this dataset, and this one cannot be made: {error}") from error
