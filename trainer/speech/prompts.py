"""Turns texts and voices into the prompts of the generator: tokens, encoded voices, and bounds on the length."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from preprocess.phonemizer import phonemizer_of
from preprocess.tokens import Tokenizer
from preprocess.verbalization.verbalize import words_with_digits
from shared.errors import UserError
from shared.messages import counted, first_few
from shared.vocabulary import Vocabulary
from trainer.checkpoint.run_dir import RunInfo
from trainer.config.speech_bounds import MAX_TAIL_S
from trainer.data.speech_pace import ANY_PACE, SpeechPace
from trainer.model.reference_crop import reference_pieces
from trainer.model.reference_encoder import Conditioning
from trainer.model.text_guide import END_POSITIONS
from trainer.speech.generation import Generator, Prompt
from trainer.speech.options import SpeechOptions
from trainer.speech.sentences import TextPiece, fit_piece
from trainer.speech.voice import Voice

MAX_NAMED = 5  # words that one line names
MAX_EXCESS = 1.25  # by which guided speech may be longer than the pace of training allows, before it is cut off


class PromptMaker:
    """Makes prompts for the model of a run."""

    def __init__(self, generator: Generator, *, info: RunInfo, vocabulary: Vocabulary, tokenizer: Tokenizer):
        self._generator, self._info, self._vocabulary, self._tokenizer = generator, info, vocabulary, tokenizer
        self._encoded: weakref.WeakKeyDictionary[Voice, dict[int, Conditioning]] = weakref.WeakKeyDictionary()

    def endless(self, tokens: int, *, steps: int) -> Prompt:
        """A prompt of `tokens` tokens that is spoken for `steps` steps, if its end is not predicted."""
        return Prompt(
            np.zeros(max(1, tokens), np.int32), self._generator.own_voice, max_steps=steps, max_tail_steps=steps
        )

    def pace(self, language: str) -> SpeechPace:
        """The pace of a language in training."""
        return self._info.paces.get(language, ANY_PACE)

    def prompt(self, text: str, *, language: str, voice: Voice | None, options: SpeechOptions) -> Prompt:
        """The prompt of a prepared text; None: the model's own voice."""
        tokens = self._tokens(text, language=language)
        pace, frames_per_step = self.pace(language), self._info.config.model.frames_per_step
        frames_per_second = self._info.contract.features.frames_per_second
        max_frames = options.max_sentence_s * frames_per_second
        if options.is_guided:
            max_frames = min(max_frames, MAX_EXCESS * pace.max_frames_per_token * len(tokens))
        tail_frames = min(MAX_TAIL_S * frames_per_second, pace.max_frames_per_token * END_POSITIONS)
        return Prompt(
            tokens,
            self._encode_voice(voice, tokens=len(tokens)),
            max_steps=max(1, int(max_frames / frames_per_step)),
            min_steps=math.ceil(pace.min_frames_per_token * len(tokens) / frames_per_step),
            max_tail_steps=math.ceil(tail_frames / frames_per_step),
        )

    def _encode_voice(self, voice: Voice | None, *, tokens: int) -> Conditioning:
        """Encode a voice for a text of `tokens` tokens; None: the voice that the model has without a reference."""
        if voice is None:
            return self._generator.own_voice
        limit = self._info.config.model.crop_frames
        frames = int(self._info.lengths.reference_frames(tokens, crop_frames=limit))
        encoded = self._encoded.setdefault(voice, {})
        if frames not in encoded:
            crops = [crop for mel in voice.mels for crop in reference_pieces(mel, frames=frames).numpy()]
            encoded[frames] = self._generator.encode_voice(crops)
        return encoded[frames]

    def _tokens(self, text: str, *, language: str) -> np.ndarray:
        """Dense token ids [T] int32 of a prepared text."""
        return np.array(self._vocabulary.encode(self._tokenizer.encode_pieces(text, language=language)), np.int32)

    def fit(self, pieces: Sequence[TextPiece], *, language: str, log: Callable[[str], object]) -> list[TextPiece]:
        """Pieces of a text, divided further where they are longer than any text of training.

        Args:
            log: receives a line if there are such pieces, one if the tokenizer does not know a character, and one if
                digits are left that no rule puts in words.
        """
        most = self._info.lengths.tokens

        def count(text: str) -> int:
            return len(self._tokens(text, language=language))

        fitted = [part for piece in pieces for part in fit_piece(piece, count=count, most=most)]
        if len(fitted) > len(pieces):
            log(
                f"the text: sentences of more than {most} tokens, which is the longest of training, are spoken in "
                f"parts: {counted(len(pieces), 'sentence')}, {len(fitted)} parts"
            )
        self._log_unknown(fitted, language=language, log=log)
        _log_digits(pieces, language=language, log=log)
        return fitted

    def _log_unknown(self, pieces: list[TextPiece], *, language: str, log: Callable[[str], object]) -> None:
        found = (self._tokenizer.unknown_characters(piece.text, language=language) for piece in pieces)
        unknown = sorted({one for characters in found for one in characters})
        if unknown:
            log(f"the text: the tokenizer does not know {' '.join(unknown)}; each becomes <unk>")


def _log_digits(pieces: Sequence[TextPiece], *, language: str, log: Callable[[str], object]) -> None:
    words = list(dict.fromkeys(word for piece in pieces for word in words_with_digits(piece.text, language=language)))
    if words:
        named = first_few(words, most=MAX_NAMED, separator=" ")
        log(f"the text: no rule reads {named}; write such words as they are spoken")


def open_tokenizer(location: str | None, *, info: RunInfo, run: Path) -> Tokenizer:
    """The tokenizer that the shards of a run were built with."""
    contract = info.contract
    phonemizer = phonemizer_of(contract.phonemizer)
    opened = Tokenizer(location or contract.tokenizer.location, kind=contract.tokenizer_kind, phonemizer=phonemizer)
    if opened.identity.sha256 != contract.tokenizer.sha256:
        raise UserError(
            f"tokenizer {opened.identity.location}: not the one that the shards of {run} were built with "
            f"(sha256 {contract.tokenizer.sha256}); pass that one with --tokenizer"
        )
    return opened
