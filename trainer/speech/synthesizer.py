"""Speech synthesis: a prepared request and a run's checkpoint to a wav file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import tensorflow as tf

from preprocess.audio import resample
from preprocess.mel import log_mel
from preprocess.processing import process
from preprocess.tokens import Tokenizer
from preprocess.utterance import Rejected
from shared.dataset import Contract
from shared.errors import UserError
from shared.features import FeatureSpec
from shared.files import write_bytes
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import CheckpointFile, find_checkpoint
from trainer.checkpoint.run_dir import RunInfo, load_trained_model, read_run_info
from trainer.config.speech_bounds import MAX_SPEECH_S, MAX_TOKENS, MIN_SPEECH_S
from trainer.model.reference_crop import loudest_part
from trainer.model.xtts import XTTS, Generated
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.request import PreparedRequest, Reference


class Speech(NamedTuple):
    """A waveform [S] float32, its mel [F, M] float32 in ln magnitude, and the reason of its end in words."""

    samples: np.ndarray
    mel: np.ndarray
    rate_hz: int
    ending: str

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate_hz


class SynthesisResult(NamedTuple):
    """Synthesized speech, and the checkpoint that synthesized it."""

    speech: Speech
    checkpoint: CheckpointFile


def synthesize_file(
    request: PreparedRequest,
    *,
    run: Path,
    out: Path,
    tokenizer: str | None,
    max_duration_s: float,
    seed: int,
    checkpoint: str | None = None,
    mel: Path | None = None,
    tokens: Path | None = None,
    crop: Path | None = None,
    log: Callable[[str], object],
) -> SynthesisResult:
    """Synthesize speech into a wav file, mono PCM16, scaled down if it would clip.

    Args:
        checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.
        mel: a file for the mel [F, M] float32 in ln magnitude, for a vocoder.
        tokens: a file for the dense token ids [1, T] int32, for the signature of an export.
        crop: a file for the part of the reference that is used, [1, C, M] float32, for the signature of an export.
        log: receives a line before each long step.

    Raises:
        UserError: there is no trained run or no such checkpoint, the text or reference is unusable, or a file is not
            writable.
    """
    if not MIN_SPEECH_S <= max_duration_s <= MAX_SPEECH_S:
        raise UserError(f"{max_duration_s} seconds of speech: expected {MIN_SPEECH_S:g} to {MAX_SPEECH_S:.0f}")
    info = read_run_info(run)
    dense = _tokens(request, info=info, run=run, tokenizer=tokenizer)
    heard = _crop(request, tokens=len(dense), info=info, run=run, log=log)
    if len(dense) > info.lengths.tokens:
        log(
            f"the text: {len(dense)} tokens, in training at most {info.lengths.tokens}; if words are lost, "
            "synthesize it sentence by sentence"
        )
    saved = find_checkpoint(run, checkpoint)
    model, progress = load_trained_model(run, saved, info=info)  # the best may be another by now
    log(f"compiling, then synthesizing at most {max_duration_s:g} s; this takes minutes for a large model on CPUs")
    speech = synthesize(
        model,
        tokens=dense,
        crop=heard,
        spec=info.contract.features,
        max_duration_s=max_duration_s,
        seed=seed,
        xla=info.config.xla,
    )
    _write_wav(out, speech)
    for path, array in ((mel, speech.mel), (tokens, dense[None]), (crop, heard[None])):
        if path is not None:
            _write_array(path, array)
    return SynthesisResult(speech, saved._replace(step=progress.step))


def synthesize(
    model: XTTS,
    *,
    tokens: np.ndarray,
    crop: np.ndarray,
    spec: FeatureSpec,
    max_duration_s: float,
    seed: int,
    xla: bool,
) -> Speech:
    """Synthesize dense tokens [T] in the voice of a mel crop [C, M]; without frames the model chooses a voice."""
    frames_per_step = model.config.frames_per_step
    max_steps = max(1, int(max_duration_s * spec.frames_per_second / frames_per_step))

    @tf.function(jit_compile=xla or None, autograph=False)
    def generate() -> Generated:
        return model.generate(
            tf.constant(tokens[None], tf.int32),
            token_counts=tf.constant([len(tokens)]),
            crop=tf.constant(np.pad(crop, [(0, 1), (0, 0)])[None]),
            crop_frames=tf.constant([len(crop)]),
            max_steps=max_steps,
            seed=seed,
        )

    generated = generate()
    steps = int(generated.steps[0])
    mel = generated.mel.numpy()[0, : steps * frames_per_step]
    more = "; --seconds allows more" if max_duration_s < MAX_SPEECH_S else ""
    cut_off = f"cut off at {max_duration_s} s: no end was predicted{more}"
    ending = "ended by itself" if generated.stopped[0] else cut_off
    return Speech(griffin_lim(mel, spec=spec, seed=seed), mel, spec.sample_rate_hz, ending)


def _tokens(request: PreparedRequest, *, info: RunInfo, run: Path, tokenizer: str | None) -> np.ndarray:
    """Dense token ids [T] int32, from the tokenizer that the shards were built with."""
    opened = Tokenizer(tokenizer or info.contract.tokenizer.location)
    if opened.identity.sha256 != info.contract.tokenizer.sha256:
        raise UserError(
            f"tokenizer {opened.identity.location}: not the one that the shards of {run} were built with "
            f"(sha256 {info.contract.tokenizer.sha256}); pass that one with --tokenizer"
        )
    pieces = opened.encode_pieces(request.text, language=request.language)
    vocabulary = Vocabulary.load(run / "vocab.json")
    if len(pieces) > MAX_TOKENS:
        raise UserError(
            f"the text: {len(pieces):,} tokens, expected at most {MAX_TOKENS:,}; synthesize it sentence by sentence"
        )
    return np.array(vocabulary.encode(pieces), np.int32)


def _crop(
    request: PreparedRequest, *, tokens: int, info: RunInfo, run: Path, log: Callable[[str], object]
) -> np.ndarray:
    """The part of the reference that the model hears for a text of this many tokens: [C, M] float32, C may be 0."""
    if request.reference is not None:
        mel = _reference_mel(request.reference, contract=info.contract)
        most = info.lengths.reference_frames(tokens, crop_frames=info.config.model.crop_frames)
        heard = loudest_part(mel, frames=most).numpy()
        if len(heard) < len(mel):
            rate = info.contract.features.frames_per_second
            used = f"the loudest {len(heard) / rate:.1f} s of {len(mel) / rate:.1f} s are used"
            log(f"reference {request.reference.path}: {used}")
        return heard
    if info.config.model.reference_dropout == 0:
        raise UserError(
            f"{run} was trained with model.reference_dropout=0, so it speaks in the voice of a --reference only"
        )
    return np.zeros([0, info.contract.features.n_mels], np.float32)


def _reference_mel(reference: Reference, *, contract: Contract) -> np.ndarray:
    """The mel [F, M] float32 of a decoded clip, processed as the clips in the shards were."""
    spec = contract.features
    try:
        signal = process(resample(reference.signal, rate_hz=spec.sample_rate_hz), steps=contract.processing)
        return log_mel(signal.samples, spec=spec)
    except (Rejected, ValueError) as error:
        raise UserError(
            f"reference {reference.path}: {error}; expected a clip of a voice, some seconds long"
        ) from error


def _write_wav(path: Path, speech: Speech) -> None:
    buffer = io.BytesIO()
    peak = max(1.0, float(np.abs(speech.samples).max(initial=0.0)))
    soundfile.write(buffer, speech.samples / peak, speech.rate_hz, format="WAV", subtype="PCM_16")
    _write(path, buffer.getvalue())


def _write_array(path: Path, array: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    _write(path, buffer.getvalue())


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror})") from error
