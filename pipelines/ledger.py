"""The ledger of one shard: a manifest row per record, a rejected row per refusal, and their sums."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pydantic

from preprocess.record import Prepared
from preprocess.utterance import Rejection, Utterance
from shared.dataset import MANIFEST, REJECTED, Layout, ShardInfo, Stem, file_sha256, write_json, write_table


class ShardReport(pydantic.BaseModel):
    """What the driver needs to know of a finished shard."""

    model_config = pydantic.ConfigDict(frozen=True)

    info: ShardInfo
    records_by_language: dict[str, int]
    rejected_by_language: dict[str, int]
    rejected_by_reason: dict[str, int]
    records_by_speaker: dict[str, int]
    token_ids: list[int]
    mel_sums: list[float]  # per band over all frames, [M]
    mel_squares: list[float]


def report_path(layout: Layout, stem: str) -> Path:
    """Where a shard's report lies while the dataset is in the making."""
    return layout.root / "reports" / f"{stem}.json"


class Ledger:
    """Collects rows while a shard is written, then writes them beside it."""

    def __init__(self, stem: str, *, n_mels: int):
        self._stem, self._split = stem, Stem.parse(stem).split
        self._rows: list[dict[str, Any]] = []
        self._rejected: list[dict[str, str]] = []
        self._reasons: collections.Counter[str] = collections.Counter()
        self._rejected_languages: collections.Counter[str] = collections.Counter()
        self._token_ids: set[int] = set()
        self._mel_sums, self._mel_squares = np.zeros((2, n_mels), np.float64)

    def add(self, prepared: Prepared, *, utterance: Utterance, offset_bytes: int, length_bytes: int) -> None:
        """One record was written at this place of the shard."""
        record, audio = prepared.record, prepared.audio
        self._rows.append(
            {
                "utterance_id": record.utterance_id,
                "split": self._split,
                "shard": self._stem,
                "index": len(self._rows),
                "offset_bytes": offset_bytes,
                "length_bytes": length_bytes,
                "frames": record.frames,
                "tokens": len(record.tokens),
                "unknown_tokens": prepared.unknown_tokens,
                "duration_s": audio.duration_s,
                "language": utterance.language,
                "speaker": utterance.speaker,
                "text": record.text,
                "original_text": utterance.text,
                "audio_path": utterance.audio_path,
                "audio_sha256": prepared.audio_sha256,
                "audio_rate_hz": audio.original_rate_hz,
                "peak": audio.peak,
                "rms_db": audio.rms_db,
            }
        )
        self._token_ids.update(record.tokens)
        mel = record.mel.astype(np.float64)
        self._mel_sums += mel.sum(axis=0)
        self._mel_squares += np.square(mel).sum(axis=0)

    def reject(self, rejection: Rejection, *, language: str) -> None:
        """One utterance, or metadata row, was turned away."""
        self._rejected.append(
            {
                "utterance_id": rejection.id,
                "audio_path": rejection.audio_path,
                "stage": rejection.stage,
                "reason": str(rejection.reason),
                "message": rejection.message,
            }
        )
        self._reasons[str(rejection.reason)] += 1
        self._rejected_languages[language] += 1

    def publish(self, layout: Layout) -> ShardReport:
        """Write manifest and rejected table, then the report, which says that the shard is whole."""
        shard, manifest, rejected = layout.parts(self._stem)
        write_table(manifest, pa.Table.from_pylist(self._rows, schema=MANIFEST))
        write_table(rejected, pa.Table.from_pylist(self._rejected, schema=REJECTED))
        info = ShardInfo(
            name=self._stem,
            split=self._split,
            records=len(self._rows),
            bytes=shard.stat().st_size,
            sha256=file_sha256(shard),
            frames=self._sum("frames"),
            tokens=self._sum("tokens"),
            manifest_sha256=file_sha256(manifest),
            rejected=len(self._rejected),
            rejected_sha256=file_sha256(rejected),
        )
        report = ShardReport(
            info=info,
            records_by_language=self._count("language"),
            rejected_by_language=dict(sorted(self._rejected_languages.items())),
            rejected_by_reason=dict(sorted(self._reasons.items())),
            records_by_speaker=self._count("speaker"),
            token_ids=sorted(self._token_ids),
            mel_sums=self._mel_sums.tolist(),
            mel_squares=self._mel_squares.tolist(),
        )
        write_json(report_path(layout, self._stem), report)
        return report

    def _sum(self, column: str) -> int:
        return sum(row[column] for row in self._rows)

    def _count(self, column: str) -> dict[str, int]:
        return dict(sorted(collections.Counter(row[column] for row in self._rows).items()))
