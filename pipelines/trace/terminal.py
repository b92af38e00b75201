"""The account of an utterance as the terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html.axes import written
from pipelines.trace.utterance_details import CHANGED, GONE, Account
from shared.errors import whence
from shared.storage_path import Place

LABEL = 10


def account_summary(account: Account, *, root: Place) -> str:
    """A line for each thing to know."""
    lines = [account.utterance_id]
    lines += [f"  {label:{LABEL}}{text}" for label, text in _facts(account, root=root) if text]
    return "\n".join(lines)


def _facts(account: Account, *, root: Place) -> Iterator[tuple[str, str]]:
    yield "verdict", _verdict(account)
    yield "source", f"{account.source} ({account.reader}), {account.split}, {account.language or 'language not stated'}"
    yield "speaker", account.speaker or ""
    record = account.record
    if record is not None:
        end = record.offset_bytes + record.length_bytes
        place = f"bytes {record.offset_bytes} to {end} ({record.length_bytes})"
        yield "record", f"{root / record.file}:{record.index}, {place}"
        yield "", f"{record.state}, sha256 {record.sha256}" if record.sha256 else record.state
    yield from _audio(account)
    if account.text is not None:
        yield "written", str(account.original_text)
        yield "prepared", account.text
    if account.tokens:
        yield "tokens", f"{len(account.tokens)}: {' '.join(piece for _, piece in account.tokens)}"
    yield "measures", ", ".join(f"{name} {_shown(value)}" for name, value in account.measures.items())
    yield from _contract(account)
    yield "again", account.again or ""


def _verdict(account: Account) -> str:
    """kept, or what speaks against it."""
    if not account.reason:
        return account.verdict
    threshold = f" [{account.threshold}]" if account.threshold else ""
    return f"{account.verdict}: {account.reason}: {account.message}{threshold}"


def _audio(account: Account) -> Iterator[tuple[str, str]]:
    audio = account.audio
    yield "audio", f"{audio.path}: {audio.state}{whence(audio.path) * (audio.state == GONE)}"
    if audio.state == CHANGED:
        yield "", f"sha256 {audio.sha256_then} then"
        yield "", f"sha256 {audio.sha256_now} now"
    elif audio.sha256_then or audio.sha256_now:
        yield "", f"sha256 {audio.sha256_then or audio.sha256_now}"


def _contract(account: Account) -> Iterator[tuple[str, str]]:
    contract = account.contract
    spec, tokenizer = contract.features, contract.tokenizer
    steps = [f"{name} {value}" for name, value in contract.processing if value is not None]
    yield "contract", account.fingerprint
    stored = contract.mel_dtype if contract.stores_mels else "not stored"
    yield "", f"{spec.name}: {spec.sample_rate_hz} Hz, hop {spec.hop_samples}, {spec.n_mels} mels, {stored}"
    yield "", f"processing {', '.join(steps) or 'none'}; text {contract.text_preparation}"
    yield "", f"tokenizer {tokenizer.location} (sha256 {tokenizer.sha256[:16]}…, {tokenizer.size} entries)"


def _shown(value: str | int | float | bool) -> str:
    if isinstance(value, float):
        return written(value, digits=4)
    return repr(value) if isinstance(value, str) else str(value)
