"""Weights of a trained model, a run's or an export's, with which another run begins.

Weights go by their names. The rows of the embedding go by NLLB's token ids, so that the new run may know other tokens:

    a token that the old model knows     its row
    a language that it does not know     the mean of the languages that it knows
    a piece that it does not know        the mean of the known pieces that the piece is made of, if there are such ones
    any other                            a fresh row
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pydantic

from shared.dataset import Contract, Dataset, contract_differences
from shared.errors import UserError
from shared.languages import FIRST_ID
from shared.vocabulary import SPECIAL_IDS, UNKNOWN_ID, Vocabulary
from trainer.checkpoint.checkpoint import assign_weights, find_checkpoint
from trainer.config.model_config import CHANGEABLE, ModelConfig
from trainer.model.xtts import XTTS

EMBEDDING = "text_encoder/embedding/embeddings"  # the end of its name


class Pretrained(NamedTuple):
    """A trained model on disk."""

    path: Path  # of its weights
    name: str  # for messages
    model: ModelConfig
    contract: Contract
    vocabulary: Vocabulary


class _ExportConfig(pydantic.BaseModel):
    """What the `config.json` of an export says of its weights."""

    model: ModelConfig
    contract: Contract
    step: int


class _RunConfig(pydantic.BaseModel):
    """What the `run.json` of a run says of its weights."""

    class Settings(pydantic.BaseModel):
        model: ModelConfig

    config: Settings
    contract: Contract


def open_pretrained(folder: Path) -> Pretrained:
    """Find the best checkpoint of a run, or the last one if none is the best; or the weights of an export.

    Raises:
        UserError: there is neither, or a file is damaged.
    """
    try:
        if (folder / "run.json").is_file():
            run = _RunConfig.model_validate(json.loads((folder / "run.json").read_bytes()))
            saved = find_checkpoint(folder, None)
            path, name, model, contract = saved.path, f"{folder}, {saved}", run.config.model, run.contract
        else:
            export = _ExportConfig.model_validate(json.loads((folder / "config.json").read_bytes()))
            path, name = folder / "weights.safetensors", f"{folder}, exported from step {export.step}"
            model, contract = export.model, export.contract
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{folder}: neither a run nor an export; expected the RUN or the OUT of one") from error
    return Pretrained(path, name, model, contract, Vocabulary.load(folder / "vocab.json"))


def check_pretrained(pretrained: Pretrained, *, model: ModelConfig, dataset: Dataset) -> None:
    """Raise UserError unless the weights fit a model, and know the mels and the token ids of a dataset."""
    own, its = model.model_dump(exclude=CHANGEABLE), pretrained.model.model_dump(exclude=CHANGEABLE)
    if differing := [name for name in own if own[name] != its[name]]:
        settings = ", ".join(f"model.{name}={its[name]}" for name in differing)
        raise UserError(f"{pretrained.name}: another model than the config's; expected {settings}")
    differences = contract_differences(pretrained.contract, dataset.info.contract)
    if fields := [
        f"{key} is {its}, there it is {own}" for key, (own, its) in differences.items() if key != "mel_dtype"
    ]:
        raise UserError(
            f"{dataset.layout.root}: other mels or tokens than those of {pretrained.name}: {'; '.join(fields)}; build "
            "the dataset with the values there"
        )


def extra_pieces(pretrained: Pretrained, *, vocabulary: Vocabulary) -> dict[int, str]:
    """The tokens, by NLLB id, that a model knows and a dataset's vocabulary lacks."""
    known = zip(pretrained.vocabulary.nllb_ids.tolist(), pretrained.vocabulary.pieces, strict=True)
    return {nllb_id: piece for nllb_id, piece in known if nllb_id not in vocabulary}


def load_pretrained(pretrained: Pretrained, *, model: XTTS, vocabulary: Vocabulary) -> str:
    """Give a model with fresh weights those of a trained one, and return a line for the log.

    The mel statistics, with which the network standardises mels, are weights too: they stay those of the trained model.

    Args:
        vocabulary: that of `model`.

    Raises:
        UserError: the file is damaged, or a weight is missing or has another shape.
    """
    adapt: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        EMBEDDING: lambda rows, fresh: _adapted_rows(rows, fresh, known=pretrained.vocabulary, vocabulary=vocabulary)
    }
    assign_weights(pretrained.path, model=model, adapt=adapt)
    new = sum(int(nllb_id) not in pretrained.vocabulary for nllb_id in vocabulary.nllb_ids)
    more = f"; {new:,} of {len(vocabulary):,} tokens are new to it" if new else ""
    return f"starting from the weights of {pretrained.name}{more}"


def _adapted_rows(rows: np.ndarray, fresh: np.ndarray, *, known: Vocabulary, vocabulary: Vocabulary) -> np.ndarray:
    """Rows [V, D] for a vocabulary, from the rows of a model that knows another one."""
    dense = {int(nllb_id): number for number, nllb_id in enumerate(known.nllb_ids)}
    languages = [number for nllb_id, number in dense.items() if nllb_id >= FIRST_ID]
    adapted = fresh.copy()
    for place, (nllb_id, piece) in enumerate(zip(vocabulary.nllb_ids.tolist(), vocabulary.pieces, strict=True)):
        if nllb_id in dense:
            parts = [dense[nllb_id]]
        elif nllb_id >= FIRST_ID:
            parts = languages
        else:
            parts = known.encode([(nllb_id, piece)])
        if (parts and dense[UNKNOWN_ID] not in parts) or nllb_id in SPECIAL_IDS:
            adapted[place] = rows[parts].mean(axis=0)
    return adapted
