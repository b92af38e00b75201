"""The synthesizer: texts of any length to speech, by a trained run.

    from trainer.speech.synthesizer import Synthesizer

    synthesizer = Synthesizer.load("runs/ljspeech")
    speech = synthesizer.say("Printing, then, is an art. It has a history.", language="en")
    speech.write("speech.wav")

Each sentence is spoken by itself. The programs are compiled at the first sentence and serve all further ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocess.tokens import Tokenizer
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import CheckpointFile, find_checkpoint
from trainer.checkpoint.run_dir import RunInfo, load_trained_model, read_run_info
from trainer.config.speech_bounds import MAX_SPEECH_S, MIN_SPEECH_S
from trainer.model.xtts import XTTS
from trainer.speech.audio_file import write_audio
from trainer.speech.generation import Generator, Prompt, Sampling
from trainer.speech.griffin_lim import griffin_lim
from trainer.speech.request import PreparedRequest, SynthesisRequest, prepare_request
from trainer.speech.sentences import TextPiece, fit_piece
from trainer.speech.voice import reference_crop, reference_mel

MAX_SENTENCE_S = 20.0  # unless the caller allows more or less


class SpokenPiece(NamedTuple):
    """A sentence, or a part of a long one, as it was spoken."""

    text: str  # prepared
    tokens: np.ndarray  # [T] int32 of the compact vocabulary
    crop: np.ndarray  # [C, M] float32, the part of the reference that the model heard; C may be 0
    mel: np.ndarray  # [F, M] float32 in ln magnitude
    alignment: np.ndarray  # [N, T] float32, attention of each decoder step on the text
    samples: np.ndarray  # [S] float32, without the pause
    pause_s: float  # silence that follows
    has_ended: bool  # False if it was cut off, because no end was predicted

    def samples_with_pause(self, rate_hz: int) -> np.ndarray:
        """The waveform [S] float32 and the silence after it."""
        return np.concatenate([self.samples, np.zeros(round(self.pause_s * rate_hz), np.float32)])


class SpokenPieces(NamedTuple):
    """The pieces of a request: their number, and the pieces as they are spoken."""

    total: int
    pieces: Iterator[SpokenPiece]


class Speech(NamedTuple):
    """A spoken text."""

    pieces: tuple[SpokenPiece, ...]
    rate_hz: int

    @property
    def samples(self) -> np.ndarray:
        """The waveform [S] float32, with the pauses."""
        return np.concatenate([one.samples_with_pause(self.rate_hz) for one in self.pieces])

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate_hz

    @property
    def cut_off(self) -> list[str]:
        """The texts of the pieces that were cut off."""
        return [one.text for one in self.pieces if not one.has_ended]

    def write(self, path: Path | str) -> None:
        """Write the speech as wav, flac, ogg or mp3, by the suffix.

        Raises:
            UserError: the suffix is none of these, or the file cannot be written.
        """
        blocks = (one.samples_with_pause(self.rate_hz) for one in self.pieces)
        write_audio(Path(path), blocks, rate_hz=self.rate_hz)


class Synthesizer:
    """Speaks texts with the model of a run."""

    def __init__(self, model: XTTS, *, info: RunInfo, run: Path, tokenizer: Tokenizer, checkpoint: CheckpointFile):
        """Use `Synthesizer.load`."""
        self._info, self._run, self._tokenizer, self.checkpoint = info, run, tokenizer, checkpoint
        self._vocabulary = Vocabulary.load(run / "vocab.json")
        self._spec = info.contract.features
        self._generator = Generator(model, xla=info.config.xla)

    @classmethod
    def load(cls, run: Path | str, *, checkpoint: str | None = None, tokenizer: str | None = None) -> Synthesizer:
        """Load the model of a run.

        Args:
            checkpoint: "best", "last" or a step; None is the best if there is one, and else the last.
            tokenizer: its path, if it has moved since the shards were built.

        Raises:
            UserError: there is no trained run or no such checkpoint, or the tokenizer is another one.
        """
        run = Path(run)
        info = read_run_info(run)
        opened = _open_tokenizer(tokenizer, info=info, run=run)
        saved = find_checkpoint(run, checkpoint)
        model, progress = load_trained_model(run, saved, info=info)  # the best may be another by now
        return cls(model, info=info, run=run, tokenizer=opened, checkpoint=saved._replace(step=progress.step))

    @property
    def languages(self) -> list[str]:
        """The FLORES-200 codes of the languages that the model was trained on."""
        return self._vocabulary.languages

    @property
    def rate_hz(self) -> int:
        """The sampling rate of the speech."""
        return self._spec.sample_rate_hz

    def say(
        self,
        text: str,
        *,
        language: str,
        reference: Path | str | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008 (immutable)
        max_sentence_s: float = MAX_SENTENCE_S,
    ) -> Speech:
        """Speak a text of any length.

        Args:
            text: an empty line separates paragraphs.
            language: a FLORES-200 code, or a name such as "en" or "deu".
            reference: a clip of the voice; None: the model chooses a voice.
            max_sentence_s: a sentence whose end is not predicted is cut off after so many seconds.

        Raises:
            UserError: the text has nothing to speak, the language was not trained, or the reference is unusable.
        """
        return Speech(
            tuple(
                self.stream(
                    text, language=language, reference=reference, sampling=sampling, max_sentence_s=max_sentence_s
                )
            ),
            self.rate_hz,
        )

    def stream(
        self,
        text: str,
        *,
        language: str,
        reference: Path | str | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008 (immutable)
        max_sentence_s: float = MAX_SENTENCE_S,
    ) -> Iterator[SpokenPiece]:
        """Speak a text as `say` does, one sentence after another; the first comes before the second is begun."""
        given = SynthesisRequest(text, language, None if reference is None else Path(reference))
        request = prepare_request(given, run=self._run)
        return self.speak(request, sampling=sampling, max_sentence_s=max_sentence_s).pieces

    def speak(
        self,
        request: PreparedRequest,
        *,
        sampling: Sampling = Sampling(),  # noqa: B008 (immutable)
        max_sentence_s: float = MAX_SENTENCE_S,
        log: Callable[[str], object] = lambda _: None,
    ) -> SpokenPieces:
        """Speak a prepared request, sentence by sentence; `log` receives what a user should know.

        Raises:
            UserError: `max_sentence_s` is out of range, the reference is unusable, or the model needs one.
        """
        check_duration(max_sentence_s)
        voice = self._voice(request)
        pieces = self._fitted(request, log=log)
        self._log_unknown(pieces, log=log)
        if request.reference is not None and voice is not None:
            most = max(self._crop_frames(piece.text, language=request.language) for piece in pieces)
            self._log_crop(most, voice, path=request.reference.path, log=log)
        spoken = (
            self._spoken(piece, voice=voice, language=request.language, sampling=sampling, most_s=max_sentence_s)
            for piece in pieces
        )
        return SpokenPieces(len(pieces), spoken)

    def _spoken(
        self, piece: TextPiece, *, voice: np.ndarray | None, language: str, sampling: Sampling, most_s: float
    ) -> SpokenPiece:
        max_steps = max(1, int(most_s * self._spec.frames_per_second / self._info.config.model.frames_per_step))
        tokens, crop = self._tokens(piece.text, language=language), np.zeros([0, self._spec.n_mels], np.float32)
        if voice is not None:
            crop = reference_crop(voice, frames=self._crop_frames(piece.text, language=language))
        parts = list(self._generator.parts(Prompt(tokens, crop), sampling=sampling, max_steps=max_steps))
        mel = np.concatenate([part.mel for part in parts])
        return SpokenPiece(
            text=piece.text,
            tokens=tokens,
            crop=crop,
            mel=mel,
            alignment=np.concatenate([part.alignment for part in parts]),
            samples=griffin_lim(mel, spec=self._spec, seed=sampling.seed),
            pause_s=piece.pause_s,
            has_ended=parts[-1].has_ended,
        )

    def _tokens(self, text: str, *, language: str) -> np.ndarray:
        """Dense token ids [T] int32 of a prepared text."""
        return np.array(self._vocabulary.encode(self._tokenizer.encode_pieces(text, language=language)), np.int32)

    def _fitted(self, request: PreparedRequest, *, log: Callable[[str], object]) -> list[TextPiece]:
        """The pieces of a request, divided further where they are longer than any text of training."""
        most = self._info.lengths.tokens

        def count(text: str) -> int:
            return len(self._tokens(text, language=request.language))

        fitted = [part for piece in request.pieces for part in fit_piece(piece, count=count, most=most)]
        if len(fitted) > len(request.pieces):
            log(
                f"the text: sentences of more than {most} tokens, which is the longest of training, are spoken in "
                f"parts: {len(request.pieces)} sentences, {len(fitted)} parts"
            )
        return fitted

    def _log_unknown(self, pieces: list[TextPiece], *, log: Callable[[str], object]) -> None:
        unknown = sorted({one for piece in pieces for one in self._tokenizer.unknown_characters(piece.text)})
        if unknown:
            log(f"the text: the tokenizer does not know {' '.join(unknown)}; each becomes <unk>")

    def _voice(self, request: PreparedRequest) -> np.ndarray | None:
        """The mel [F, M] of the reference; None without one."""
        if request.reference is not None:
            return reference_mel(request.reference, contract=self._info.contract)
        if self._info.config.model.reference_dropout == 0:
            raise UserError(
                f"{self._run} was trained with model.reference_dropout=0, so it speaks in the voice of a "
                "--reference only"
            )
        return None

    def _crop_frames(self, text: str, *, language: str) -> int:
        """How many frames of a reference the model hears for a text."""
        tokens, limit = len(self._tokens(text, language=language)), self._info.config.model.crop_frames
        return int(self._info.lengths.reference_frames(tokens, crop_frames=limit))

    def _log_crop(self, most: int, voice: np.ndarray, *, path: Path, log: Callable[[str], object]) -> None:
        if most < len(voice):
            rate = self._spec.frames_per_second
            log(f"reference {path}: the loudest {most / rate:.1f} s of {len(voice) / rate:.1f} s are used")


def check_duration(max_sentence_s: float) -> None:
    """Raises UserError if sentences of so many seconds are not spoken."""
    if not MIN_SPEECH_S <= max_sentence_s <= MAX_SPEECH_S:
        raise UserError(f"{max_sentence_s} seconds of speech: expected {MIN_SPEECH_S:g} to {MAX_SPEECH_S:.0f}")


def _open_tokenizer(location: str | None, *, info: RunInfo, run: Path) -> Tokenizer:
    """The tokenizer that the shards of a run were built with."""
    opened = Tokenizer(location or info.contract.tokenizer.location)
    if opened.identity.sha256 != info.contract.tokenizer.sha256:
        raise UserError(
            f"tokenizer {opened.identity.location}: not the one that the shards of {run} were built with "
            f"(sha256 {info.contract.tokenizer.sha256}); pass that one with --tokenizer"
        )
    return opened
