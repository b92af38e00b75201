"""Mel sums and token ids over the kept records of one shard, from those of an older version of it."""

from __future__ import annotations

import collections

import numpy as np

from pipelines.build.shard_report import SUM_UNITS, RecordTotals
from shared.dataset import Contract, moment_sums
from shared.records import MEL_DTYPES, encoded_features, feature_values


class ShardStatistics:
    """Counts records in and out of a shard; integers, so that the result depends on the records that are in it alone.

    Args:
        older: the totals of the records that are counted in already.
    """

    def __init__(self, contract: Contract, *, older: RecordTotals | None = None):
        self._contract, n_mels = contract, contract.features.n_mels
        self._tokens = collections.Counter(older.records_by_token if older is not None else {})
        self._sums = np.zeros((2, n_mels), object)  # Python's integers: of values, of squares, in SUM_UNITS
        if older is not None:
            self._sums += np.array([older.mel_sums, older.mel_squares], object)

    def add(self, payload: bytes) -> None:
        """Count one serialised record in."""
        self._count(payload, sign=1)

    def remove(self, payload: bytes) -> None:
        """Count one serialised record out."""
        self._count(payload, sign=-1)

    def _count(self, payload: bytes, *, sign: int) -> None:
        features = encoded_features(payload)
        (data,), (frames,) = feature_values(features["mel"]), feature_values(features["frames"])
        assert isinstance(data, bytes)
        assert isinstance(frames, int)
        n_mels = self._contract.features.n_mels
        mel = np.frombuffer(data, MEL_DTYPES[self._contract.mel_dtype]).reshape(-1, n_mels).astype(np.float64)
        if self._contract.stores_mels:
            sums = np.stack([mel.sum(axis=0), np.einsum("fm,fm->m", mel, mel)])
        else:
            sums = moment_sums(mel, frames=frames)
        self._sums += sign * np.rint(sums * SUM_UNITS).astype(np.int64).astype(object)
        for token in {token for token in feature_values(features["tokens"]) if isinstance(token, int)}:
            self._tokens[token] += sign

    def totals(self) -> RecordTotals:
        """The totals of the records that are in the shard now."""
        sums, squares = self._sums.tolist()
        counted = {token: count for token, count in sorted(self._tokens.items()) if count}
        return RecordTotals(records_by_token=counted, mel_sums=sums, mel_squares=squares)
