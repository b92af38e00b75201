"""`myxtts-train export`: a run's model, for `myxtts-speak` and the synthesizer, and for software without this code.

OUT/saved_model/           signature `synthesize`: tokens, crop, seed -> mel, steps, stopped, alignment
OUT/signature.json         the most tokens and steps of the signature
OUT/weights.safetensors    every weight by name, float32: its moving average if the run has one
OUT/run.json               the run: config, contract, lengths and paces of training
OUT/vocab.json             the compact vocabulary; the position of a token is its id
OUT/voices/                the saved voices of the run, and others that were saved here
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from shared.errors import UserError, writing
from shared.files import fsync_path, remove_tree, temporary_files_of, temporary_path, write_bytes, write_json
from trainer.checkpoint.checkpoint import (
    Snapshot,
    copy_to_host,
    find_checkpoint,
    named_variables,
    write_snapshot,
)
from trainer.checkpoint.checkpoint_files import CheckpointFile, exported_weights_path
from trainer.checkpoint.run_dir import load_trained_model, read_run_info
from trainer.data.reference_length import ReferenceLength
from trainer.model.reference_crop import reference_pieces
from trainer.model.xtts import XTTS

LEFTOVER_S = 24 * 3600.0  # leftovers of killed exports are deleted after this time
NAMES = {"saved_model", "signature.json", "weights.safetensors", "run.json", "vocab.json", "voices"}


class ExportResult(NamedTuple):
    """The checkpoint that was exported."""

    checkpoint: CheckpointFile
    parameters: int


def export_run(
    run: Path,
    *,
    out: Path,
    max_duration_s: float,
    max_tokens: int,
    checkpoint: str | None = None,
    log: Callable[[str], object],
) -> ExportResult:
    """Write the model of a run's checkpoint, with the moving average of its weights if it has one.

    Args:
        checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.
        log: receives a line before each long step.

    Raises:
        UserError: there is no trained run or no such checkpoint, or `out` is not writable or holds something else.
    """
    info, saved = read_run_info(run), find_checkpoint(run, checkpoint)
    contract = info.contract
    model, progress = load_trained_model(run, saved, info=info)  # the best may be another by now
    saved = saved._replace(step=progress.step)
    steps = max(1, int(max_duration_s * contract.features.frames_per_second / model.config.frames_per_step))
    with writing(out, advice="expected a folder for the export"):
        _check_replaceable(out)
        log(f"writing {saved}: the graph of a large model takes minutes")
        with _new_folder(out) as folder:
            module = synthesizer(
                model,
                lengths=info.lengths,
                n_mels=contract.features.n_mels,
                max_tokens=max_tokens,
                max_steps=steps,
            )
            tf.saved_model.save(module, str(folder / "saved_model"), signatures={"synthesize": module.synthesize})
            write_json(folder / "signature.json", {"max_tokens": max_tokens, "max_steps": steps})
            write_json(folder / "run.json", info)
            write_bytes(folder / "vocab.json", (run / "vocab.json").read_bytes())
            _copy_voices(folder / "voices", sources=(out / "voices", run / "voices"))
            weights = Snapshot(copy_to_host(named_variables(model)), progress, contract.fingerprint)
            write_snapshot(exported_weights_path(folder), weights)
    return ExportResult(saved, model.count_params())


def _copy_voices(folder: Path, *, sources: tuple[Path, ...]) -> None:
    """Copy saved voices; those of later sources take the place of earlier ones."""
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, folder, dirs_exist_ok=True)


def _check_replaceable(out: Path) -> None:
    """Raises UserError if the folder holds anything but an export."""
    found = {path.name for path in out.iterdir()} if out.is_dir() else {out.name} if out.exists() else set()
    foreign = sorted(found - NAMES) or sorted(found if "saved_model" not in found else ())
    if foreign:
        raise UserError(
            f"{out}: holds {foreign[0]}, which is no part of an export; expected a new folder, or remove it"
        )


@contextlib.contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder that replaces `out` when the block ends without an error.

    It also deletes folders that killed exports to `out` left, after a day: younger ones may belong to a running export.
    """
    out = out.resolve()
    new, old = temporary_path(out), temporary_path(out)
    try:
        new.mkdir(parents=True)
        yield new
        for path in (*new.rglob("*"), new):
            fsync_path(path)
        if out.exists():
            out.rename(old)
        new.rename(out)
        fsync_path(out.parent)
        for leftover in temporary_files_of(out):
            with contextlib.suppress(OSError):
                if time.time() - leftover.stat().st_mtime > LEFTOVER_S:
                    remove_tree(leftover)
    finally:
        if old.exists() and not out.exists():
            old.rename(out)
        for folder in (new, old):
            if folder.exists():
                remove_tree(folder)


def synthesizer(model: XTTS, *, lengths: ReferenceLength, n_mels: int, max_tokens: int, max_steps: int) -> tf.Module:
    """A module with a function `synthesize`; it pads inputs to the limits, because its shapes are static inside.

    The module holds the variables of the model and not the model itself, which Keras would save in its own format.
    """
    limit, r = model.config.crop_frames, model.config.frames_per_step

    def synthesize(tokens: tf.Tensor, crop: tf.Tensor, seed: tf.Tensor) -> dict[str, tf.Tensor]:
        """Speak tokens [1, T] in the voice of a mel [1, C, M] of any length; C = 0: the model chooses a voice.

        The mel is heard in pieces as long as the text allows, and their encodings are averaged, as `myxtts-speak` does.

        Returns:
            mel [1, F, M]; steps [1]; stopped [1], whether the model predicted the end; alignment [1, N, T].
        """
        token_counts = tf.shape(tokens)[1]
        frames = lengths.reference_frames(token_counts, crop_frames=limit)
        pieces = reference_pieces(crop[0], frames=frames)
        count, heard = tf.shape(pieces)[0], tf.shape(pieces)[1]
        padded_pieces = tf.pad(pieces, [[0, 0], [0, limit - heard], [0, 0]])
        voice = model.encode_reference(tf.ensure_shape(padded_pieces, [None, limit, n_mels]), tf.fill([count], heard))
        padded = tf.ensure_shape(tf.pad(tokens, [[0, 0], [0, max_tokens - token_counts]]), [1, max_tokens])
        memory = model.encode_memory(padded, token_counts[None], voice.mean())
        generated = model.generate_from(memory, max_steps=max_steps, seed=seed)
        steps = generated.steps[0]
        return {
            "mel": generated.mel[:, : steps * r],
            "steps": generated.steps,
            "stopped": generated.stopped,
            "alignment": generated.alignment[:, :steps, :token_counts],
        }

    module = tf.Module(name="xtts")
    module.held = [variable.value for variable in model.variables]
    module.synthesize = tf.function(
        synthesize,
        autograph=False,
        input_signature=[
            tf.TensorSpec([1, None], tf.int32, "tokens"),
            tf.TensorSpec([1, None, n_mels], tf.float32, "crop"),
            tf.TensorSpec([], tf.int32, "seed"),
        ],
    )
    return module
