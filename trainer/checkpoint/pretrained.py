"""Weights of a trained model, a run's or an export's, with which another run begins.

Weights go by their names. The rows of the embedding go by NLLB's token ids, so that the new run may know other tokens:

    a token that the old model knows     its row
    a language that it does not know     the mean of the languages that it knows
    a piece that it does not know        the mean of the pieces that it is made of, if the model knows all of these
    any other                            a fresh row
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shared.dataset import Contract, Dataset, contract_differences
from shared.errors import UserError
from shared.languages import FIRST_ID
from shared.vocabulary import SPECIAL_IDS, UNKNOWN_ID, Vocabulary
from trainer.checkpoint.checkpoint import assign_weights, find_checkpoint
from trainer.checkpoint.checkpoint_files import list_checkpoints
from trainer.checkpoint.run_dir import RunInfo, prepare_run_info, read_run_info
from trainer.config.model_config import CHANGEABLE, ModelConfig
from trainer.config.train_config import TrainConfig
from trainer.data.reference_length import ReferenceLength
from trainer.data.speech_pace import SpeechPace
from trainer.model.xtts import XTTS

EMBEDDING_SUFFIX = "text_encoder/embedding/embeddings"  # of its name


class Pretrained(NamedTuple):
    """A trained model on disk."""

    path: Path  # of its weights
    name: str  # for messages
    model: ModelConfig
    contract: Contract
    vocabulary: Vocabulary
    lengths: ReferenceLength
    paces: dict[str, SpeechPace]


def open_pretrained(folder: Path) -> Pretrained:
    """Find the best checkpoint of a run, or the last one if none is the best; or the weights of an export.

    Raises:
        UserError: there is neither, or a file is damaged.
    """
    run, saved = read_run_info(folder), find_checkpoint(folder, None)
    vocabulary = Vocabulary.load(folder / "vocab.json")
    return Pretrained(
        saved.path, f"{folder}, {saved}", run.config.model, run.contract, vocabulary, run.lengths, run.paces
    )


def prepare_run(run: Path, *, config: TrainConfig, dataset: Dataset) -> RunInfo:
    """Return the description of a run; one without a checkpoint takes over what its `init_from` knows.

    That are its tokens, and the lengths and the pace of its clips in each language.

    Raises:
        UserError: the folder holds another run, or the weights fit neither the model nor the dataset.
    """
    info = prepare_run_info(run, config=config, dataset=dataset)
    if config.init_from is None or list_checkpoints(run):
        return info
    origin = open_pretrained(Path(config.init_from))
    check_pretrained(origin, model=config.model, dataset=dataset)
    own = Vocabulary.load(dataset.layout.vocabulary)
    pieces = {nllb_id: piece for nllb_id, piece in origin.vocabulary.by_id.items() if nllb_id not in own}
    paces = {language: pace.merged_with(origin.paces.get(language)) for language, pace in info.paces.items()}
    lengths = info.lengths.merged_with(origin.lengths)
    return info.model_copy(update={"extra_pieces": pieces, "paces": origin.paces | paces, "lengths": lengths})


def check_pretrained(pretrained: Pretrained, *, model: ModelConfig, dataset: Dataset) -> None:
    """Raise UserError unless the weights fit a model, and know the mels and the token ids of a dataset."""
    own, its = model.model_dump(exclude=CHANGEABLE), pretrained.model.model_dump(exclude=CHANGEABLE)
    if differing := [name for name in own if own[name] != its[name]]:
        settings = ", ".join(f"model.{name}={its[name]}" for name in differing)
        raise UserError(f"{pretrained.name}: another model than the config's; expected {settings}")
    differences = contract_differences(pretrained.contract, dataset.info.contract.acoustic)
    if fields := [
        f"{key} is {its}, there it is {own}" for key, (own, its) in differences.items() if key != "mel_dtype"
    ]:
        raise UserError(
            f"{dataset.layout.root}: other mels or tokens than those of {pretrained.name}: {'; '.join(fields)}; build "
            "the dataset with the values there"
        )


def load_pretrained(pretrained: Pretrained, *, model: XTTS, vocabulary: Vocabulary) -> str:
    """Give a model with fresh weights those of a trained one, and return a line for the log.

    The mel statistics, with which the network standardises mels, are weights too: they stay those of the trained model.

    Args:
        vocabulary: that of `model`.

    Raises:
        UserError: the file is damaged, or a weight is missing or has another shape.
    """
    advice = f"init_from needs the weights of {pretrained.name} as they were written"
    adapt: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        EMBEDDING_SUFFIX: lambda rows, fresh: _adapted_rows(
            rows, fresh, known=pretrained.vocabulary, vocabulary=vocabulary
        )
    }
    assign_weights(pretrained.path, model=model, adapt=adapt, advice=advice)
    new = sum(int(nllb_id) not in pretrained.vocabulary for nllb_id in vocabulary.nllb_ids)
    more = f"; {new:,} of {len(vocabulary):,} tokens are new to it" if new else ""
    return f"starting from the weights of {pretrained.name}{more}"


def _adapted_rows(rows: np.ndarray, fresh: np.ndarray, *, known: Vocabulary, vocabulary: Vocabulary) -> np.ndarray:
    """Rows [V, D] for a vocabulary, from the rows of a model that knows another one."""
    if len(rows) != len(known):
        raise UserError(f"{len(rows):,} rows in the embedding of a model with a vocabulary of {len(known):,} tokens")
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
