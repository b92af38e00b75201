"""The compact vocabulary: the few thousand of NLLB's 256,204 tokens that a dataset needs, numbered densely.

It holds the special tokens, the ids that the corpus uses, its languages, and every single-character piece in the
scripts of those languages; with the single characters, text that the corpus does not contain can still be encoded. With
another tokenizer than NLLB's it holds all pieces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

import numpy as np

from shared.errors import UserError
from shared.languages import FIRST_ID, LAST_ID
from shared.storage_path import StoragePath

PAD_ID, END_ID, UNKNOWN_ID = 1, 2, 3
SPECIAL_IDS = (PAD_ID, END_ID, UNKNOWN_ID)
WORD_START = "▁"

TokenizerKind = Literal["nllb", "other"]  # of the tokenizer that made the ids, see preprocess/tokens.py
NLLB: Literal["nllb"] = "nllb"

# All ids in records are below this: pieces, languages and NLLB's <mask>.
NUM_NLLB_IDS = LAST_ID + 2


class Vocabulary:
    """A mapping from some of NLLB's token ids to dense ids 0, 1, …; 0 is padding."""

    def __init__(self, pieces: dict[int, str]):
        """Number the tokens densely, in the order of their NLLB ids.

        Args:
            pieces: NLLB id -> piece; must hold the special tokens.
        """
        self.nllb_ids = np.array(sorted(pieces), np.int64)
        self.pieces = tuple(pieces[int(nllb_id)] for nllb_id in self.nllb_ids)
        self._dense = {int(nllb_id): dense for dense, nllb_id in enumerate(self.nllb_ids)}
        self._dense_of_piece = {
            piece: dense
            for dense, (nllb_id, piece) in enumerate(zip(self.nllb_ids, self.pieces, strict=True))
            if nllb_id not in SPECIAL_IDS and nllb_id < FIRST_ID
        }
        if any(special not in self._dense for special in SPECIAL_IDS) or self._dense[PAD_ID] != 0:
            raise ValueError("a vocabulary needs <pad> (1, its smallest id), </s> and <unk>")
        if self.nllb_ids[-1] >= NUM_NLLB_IDS:
            raise ValueError(f"token {self.nllb_ids[-1]} is not one of NLLB's {NUM_NLLB_IDS}")

    def __len__(self) -> int:
        return len(self.nllb_ids)

    def __contains__(self, nllb_id: int) -> bool:
        return nllb_id in self._dense

    @property
    def languages(self) -> list[str]:
        """The FLORES-200 codes of the languages in the vocabulary."""
        return [piece for nllb_id, piece in zip(self.nllb_ids, self.pieces, strict=True) if nllb_id >= FIRST_ID]

    @property
    def by_id(self) -> dict[int, str]:
        """The pieces by NLLB id."""
        return dict(zip(self.nllb_ids.tolist(), self.pieces, strict=True))

    def table(self) -> np.ndarray:
        """Look-up table from NLLB id to dense id, [NUM_NLLB_IDS] int32; ids outside the vocabulary give <unk>."""
        table = np.full(NUM_NLLB_IDS, self._dense[UNKNOWN_ID], np.int32)
        table[self.nllb_ids] = np.arange(len(self), dtype=np.int32)
        return table

    def encode(self, tokens: Iterable[tuple[int, str]]) -> list[int]:
        """Dense ids of NLLB tokens (id, piece); a piece outside the vocabulary is split into the fewest in it."""
        return [dense for nllb_id, piece in tokens for dense in self._encode_one(nllb_id, piece)]

    def _encode_one(self, nllb_id: int, piece: str) -> list[int]:
        if nllb_id in self._dense:
            return [self._dense[nllb_id]]
        return self._split(piece)

    def _split(self, text: str) -> list[int]:
        """Split a text into the fewest pieces, by dynamic programming; a character that no piece has is <unk>."""
        unknown = self._dense[UNKNOWN_ID]
        best: list[list[int]] = [[]]  # splits of the first 0, 1, … characters

        def cost(split: list[int]) -> tuple[int, int]:
            return split.count(unknown), len(split)

        for end in range(1, len(text) + 1):
            pieces = ((start, self._dense_of_piece.get(text[start:end])) for start in range(end))
            known = [[*best[start], dense] for start, dense in pieces if dense is not None]
            best.append(min([*known, [*best[-1], unknown]], key=cost))
        return best[-1]

    def to_json(self) -> bytes:
        """The content of `vocab.json`: an `[id, piece]` pair per line, in the order of the dense ids."""
        rows = zip(self.nllb_ids.tolist(), self.pieces, strict=True)
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        return f"[\n{lines}\n]\n".encode()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.to_json()).hexdigest()

    @classmethod
    def load(cls, path: StoragePath) -> Vocabulary:
        """Read a `vocab.json`; raises UserError if the file is not a vocabulary."""
        try:
            return cls({int(nllb_id): str(piece) for nllb_id, piece in json.loads(path.read_bytes())})
        except (OSError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise UserError(f"{path}: not a readable vocabulary ({error}); run `make preprocess` again") from error
