"""The details of an utterance as terminal output."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pipelines.html.numbers import format_number
from pipelines.trace.utterance_details import CHANGED, MISSING, UtteranceDetails
from shared.errors import cwd_hint
from shared.records import NO_PITCH
from shared.storage_path import StoragePath

LABEL = 12


def details_summary(details: UtteranceDetails, *, root: StoragePath) -> str:
    """One labelled line per fact."""
    lines = [details.utterance_id]
    lines += [f"  {label:{LABEL}}{text}" for label, text in _lines(details, root=root) if text]
    return "\n".join(lines)


def _lines(details: UtteranceDetails, *, root: StoragePath) -> Iterator[tuple[str, str]]:
    yield "status", _status(details)
    yield "source", f"{details.source} ({details.reader}), {details.split}, {details.language or 'language not stated'}"
    yield "speaker", details.speaker or ""
    record = details.record
    if record is not None:
        end = record.offset_bytes + record.length_bytes
        place = f"bytes {record.offset_bytes} to {end} ({record.length_bytes})"
        yield "record", f"{root / record.file}:{record.index}, {place}"
        yield "", f"{record.state}, sha256 {record.sha256}" if record.sha256 else record.state
    yield from _audio(details)
    if details.text is not None:
        yield "original", str(details.original_text)
        yield "text", details.text
    if details.tokens:
        yield "tokens", f"{len(details.tokens)}: {' '.join(piece for _, piece in details.tokens)}"
    yield "measured", ", ".join(f"{name} {_format(value)}" for name, value in details.measures.items())
    yield "custom", json.dumps(details.custom, ensure_ascii=False) if details.custom else ""
    yield from _contract(details)
    yield "reproduced", details.reproduction or ""


def _status(details: UtteranceDetails) -> str:
    """`kept`, or the status with its reason and threshold."""
    if not details.reason:
        return details.status
    threshold = f" [{details.threshold}]" if details.threshold else ""
    return f"{details.status}: {details.reason}: {details.message}{threshold}"


def _audio(details: UtteranceDetails) -> Iterator[tuple[str, str]]:
    audio = details.audio
    yield "audio", f"{audio.path}: {audio.state}{cwd_hint(audio.path) * (audio.state == MISSING)}"
    if audio.state == CHANGED:
        yield "", f"sha256 {audio.recorded_sha256} at the build"
        yield "", f"sha256 {audio.current_sha256} now"
    elif audio.recorded_sha256 or audio.current_sha256:
        yield "", f"sha256 {audio.recorded_sha256 or audio.current_sha256}"


def _contract(details: UtteranceDetails) -> Iterator[tuple[str, str]]:
    contract = details.contract
    spec, tokenizer = contract.features, contract.tokenizer
    steps = [f"{name} {value}" for name, value in contract.processing if value is not None]
    yield "contract", details.fingerprint
    stored = contract.mel_dtype if contract.stores_mels else "not stored"
    stored += f", waveforms {contract.waveform_dtype}" * contract.stores_waveforms
    stored += f", pitch by {contract.pitch}" * (contract.pitch != NO_PITCH) + ", energy" * contract.energy
    yield "", f"{spec.name}: {spec.sample_rate_hz} Hz, hop {spec.hop_samples}, {spec.n_mels} mels, {stored}"
    normalizer = contract.text_normalizer
    after = f" after {normalizer.name} of {normalizer.distribution} {normalizer.version}" if normalizer else ""
    phonemizer = contract.phonemizer
    phonemes = f"; phonemes by {phonemizer.name} {phonemizer.version}" if phonemizer else ""
    yield "", f"processing {', '.join(steps) or 'none'}; text {contract.text_preparation}{after}{phonemes}"
    yield "", f"tokenizer {tokenizer.location} (sha256 {tokenizer.sha256[:16]}…, {tokenizer.size} entries)"


def _format(value: str | int | float | bool) -> str:
    if isinstance(value, float):
        return format_number(value, digits=4)
    return repr(value) if isinstance(value, str) else str(value)
