"""One run of `trace`: every utterance that is meant, told, drawn and prepared again as asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipelines.report.clips import Changed, read_original
from pipelines.tables.record_diff import decode_mel
from pipelines.trace.lookup import Row, find_rows
from pipelines.trace.reproduce import SAME, prepare_again
from pipelines.trace.spectrogram import write_spectrogram
from pipelines.trace.utterance_details import Account, give_account
from preprocess.mel import log_mel
from preprocess.utterance import Rejected
from shared.dataset import Contract, Dataset
from shared.errors import UserError
from shared.records import decode


def trace(dataset: Dataset, what: str, *, mel: Path | None = None, again: bool = False) -> list[Account]:
    """The account of each utterance that is meant; `mel` is where the picture goes.

    Raises:
        UserError: there is none; the picture cannot be made or written; the tokenizer is not to be had.
    """
    rows = find_rows(dataset, what)
    accounts = [_one(dataset, row, again=again) for row in rows]
    if mel is not None:
        _draw(dataset, accounts, mel=mel, what=what)
    return [account for account, _ in accounts]


def is_good(account: Account) -> bool:
    """The record is sound, and came out the same if it was made again."""
    return account.is_sound and account.again in (None, SAME)


def _one(dataset: Dataset, row: Row, *, again: bool) -> tuple[Account, bytes | None]:
    account, payload = give_account(dataset, row)
    if again:
        contract = dataset.info.contract
        found = prepare_again(row, payload=payload, contract=contract) if payload else "no record to compare with"
        account = account.model_copy(update={"again": found})
    return account, payload


def _draw(dataset: Dataset, accounts: list[tuple[Account, bytes | None]], *, mel: Path, what: str) -> None:
    sound = [(account, payload) for account, payload in accounts if payload]
    if len(sound) != 1:
        told = "; ".join(_record_of(account) for account, _ in accounts)
        raise UserError(f"--mel {mel}: {what} has {len(sound)} sound records, wanted one: {told}")
    ((account, payload),) = sound
    contract = dataset.info.contract
    record = account.record
    assert payload is not None
    assert record is not None
    title = f"{account.utterance_id}   {record.file}:{record.index}"
    drawn = (
        decode_mel(decode(payload), contract=contract) if contract.stores_mels else _again(account, contract=contract)
    )
    write_spectrogram(drawn, spec=contract.features, title=title, path=mel)


def _record_of(account: Account) -> str:
    """Where it is and what is wrong with it, or why there is none."""
    record = account.record
    if record is None:
        return f"{account.utterance_id} is {account.verdict}: {account.reason}: {account.message}"
    return f"{record.file}:{record.index} is {record.state}"


def _again(account: Account, *, contract: Contract) -> np.ndarray:
    """The mel of an audio file, where none is stored, [F, M]."""
    row = {"audio_path": account.audio.path, "audio_sha256": account.audio.sha256_then}
    try:
        return log_mel(read_original(row, contract=contract).samples, spec=contract.features)
    except (OSError, Rejected, Changed) as error:
        raise UserError(f"--mel: no mels are stored in this dataset, and this one cannot be made: {error}") from error
