"""The ids of a tokenizer's pieces in records, which leave room for NLLB-200's special tokens and languages.

NLLB-200's tokenizer keeps its ids. Those of another tokenizer are raised by four, above NLLB's special tokens.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

import tokenizers
from tokenizers import pre_tokenizers

from shared.errors import UserError
from shared.languages import CODES, FIRST_ID
from shared.vocabulary import END_ID, PAD_ID, SPECIAL_IDS, UNKNOWN_ID

SPECIAL_TOKENS = {"<pad>": PAD_ID, "</s>": END_ID, "<unk>": UNKNOWN_ID}
SHIFT_OF_OTHERS = max(SPECIAL_IDS) + 1
_UNKNOWN_TO_ALL = "\U00012000"  # a letter of cuneiform
_SAMPLING = ("dropout", "alpha", "nbest_size")  # of a model that encodes a text differently each time


class PieceIds(Protocol):
    """Gives a tokenizer's ids their place in records."""

    def __call__(self, own_id: int) -> int:
        """The id in records of a tokenizer's own id; that of `<unk>` for special tokens and languages."""


class NllbIds:
    """The ids of a tokenizer that has NLLB-200's special tokens and languages under NLLB-200's ids."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, *, location: str):
        """
        Raises:
            UserError: a special token or a language has another id than NLLB-200's.
        """
        for token, nllb_id in (SPECIAL_TOKENS | {code: FIRST_ID + index for index, code in enumerate(CODES)}).items():
            if (found := tokenizer.token_to_id(token)) != nllb_id:
                raise UserError(
                    f"tokenizer {location}: {token} has id {found}, expected NLLB-200's {nllb_id}; is it an NLLB "
                    "tokenizer? Any other one needs tokenizer_kind: other"
                )

    def __call__(self, own_id: int) -> int:
        return own_id if max(SPECIAL_IDS) < own_id < FIRST_ID else UNKNOWN_ID


class OtherIds:
    """The ids of any other tokenizer."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, *, location: str):
        """
        Raises:
            UserError: it has too many pieces, or drops letters that it does not know.
        """
        document = json.loads(tokenizer.to_str())
        _check_size(tokenizer, location=location)
        _check_unknown(tokenizer, document=document, location=location)
        self._special = _special_ids(tokenizer, model=document["model"])

    def __call__(self, own_id: int) -> int:
        return UNKNOWN_ID if own_id in self._special else own_id + SHIFT_OF_OTHERS


def without_sampling(data: bytes) -> bytes:
    """The `tokenizer.json` of a tokenizer that encodes a text the same each time."""
    document = json.loads(data)
    if any(document["model"].get(name) is not None for name in _SAMPLING):
        document["model"] |= {name: None for name in _SAMPLING if name in document["model"]}
    return json.dumps(document).encode()


def _check_size(tokenizer: tokenizers.Tokenizer, *, location: str) -> None:
    most = FIRST_ID - SHIFT_OF_OTHERS
    if (size := max(tokenizer.get_vocab().values(), default=0) + 1) > most:
        raise UserError(
            f"tokenizer {location}: {size:,} pieces, expected at most {most:,}; train a smaller one, or leave "
            "tokenizer_kind out if it is NLLB-200's"
        )


def _check_unknown(tokenizer: tokenizers.Tokenizer, *, document: dict[str, Any], location: str) -> None:
    """Raise UserError unless letters that a tokenizer does not know become its unknown token, or bytes."""
    try:
        tokenizer.encode(_UNKNOWN_TO_ALL, add_special_tokens=False)
    except Exception as error:  # the library raises no narrower class
        raise UserError(
            f"tokenizer {location}: a letter that it does not know ends in an error ({error}); give it an unknown token"
        ) from error
    model = document["model"]
    if model["type"] == "BPE" and model.get("unk_token") is None and not _knows_bytes(tokenizer, document=document):
        raise UserError(
            f"tokenizer {location}: letters that it does not know vanish; give it an unknown token, or the pieces of "
            "all bytes (initial_alphabet=ByteLevel.alphabet())"
        )


def _knows_bytes(tokenizer: tokenizers.Tokenizer, *, document: dict[str, Any]) -> bool:
    """True if a tokenizer has a piece for each byte, and divides what it does not know into bytes."""
    pieces = tokenizer.get_vocab().keys()
    if document["model"].get("byte_fallback"):
        return all(f"<0x{byte:02X}>" in pieces for byte in range(256))
    steps = json.dumps([document.get("normalizer"), document.get("pre_tokenizer")])
    return '"ByteLevel"' in steps and set(pre_tokenizers.ByteLevel.alphabet()) <= pieces


def _special_ids(tokenizer: tokenizers.Tokenizer, *, model: dict[str, Any]) -> frozenset[int]:
    """The ids that are no pieces of text: special tokens, and the unknown one."""
    unknown = model.get("unk_id") if "unk_id" in model else tokenizer.token_to_id(model.get("unk_token") or "")
    special = {own_id for own_id, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    return frozenset(special if unknown is None else {*special, unknown})
