"""A request to speak a text, and the checks of it that need no TensorFlow."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import NamedTuple

from preprocess.audio import Signal, decode_audio, read_audio_file
from preprocess.text import prepare_text, spoken_characters
from preprocess.utterance import Rejected
from shared.errors import UserError
from shared.languages import iso_639_1, resolve_language
from shared.vocabulary import Vocabulary
from trainer.config.speech_bounds import MAX_CHARACTERS, MAX_REFERENCE_S, MIN_REFERENCE_S
from trainer.speech.sentences import TextPiece, split_text

MAX_NAMED = 3  # characters in a message


class SynthesisRequest(NamedTuple):
    """A text, its language, and the voice to speak it in."""

    text: str
    language: str  # a FLORES-200 code, or a name that means exactly one
    reference: Path | None  # a clip of the voice; None: the model chooses a voice


class Reference(NamedTuple):
    """A clip of a voice, decoded."""

    path: Path
    signal: Signal


class PreparedRequest(NamedTuple):
    """A request whose language is resolved, whose text is divided and prepared, and whose reference is decoded."""

    pieces: tuple[TextPiece, ...]  # sentences, at least one
    language: str
    reference: Reference | None


def prepare_request(request: SynthesisRequest, *, run: Path) -> PreparedRequest:
    """Prepare a request for the model of a run.

    Raises:
        UserError: the language is unknown or was not trained, the text has nothing to speak or is too long, or the
            reference cannot be decoded.
    """
    language = resolve_language(request.language)
    _check_language(language, run=run)
    pieces = prepare_pieces(request.text, language=language)
    return PreparedRequest(pieces, language, None if request.reference is None else _decode(request.reference))


def prepare_pieces(text: str, *, language: str) -> tuple[TextPiece, ...]:
    """Divide a text into sentences, each prepared for the tokenizer.

    Raises:
        UserError: the text has no letter or digit, or is too long.
    """
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"the text: {len(text):,} characters, expected at most {MAX_CHARACTERS:,}; divide it")
    text = text.encode(errors="ignore").decode()  # without halves of surrogate pairs, which UTF-8 does not have
    divided = split_text(text, iso_639_1=iso_639_1(language))
    prepared = (piece._replace(text=prepare_text(piece.text, language=language).text) for piece in divided)
    pieces = tuple(piece for piece in prepared if spoken_characters(piece.text))
    if not pieces:
        raise UserError(f"the text: {_without_words(text)}; expected words to speak")
    return pieces


def _without_words(text: str) -> str:
    """Why a text has nothing to speak: its characters by name."""
    names = dict.fromkeys(unicodedata.name(one, "") for one in text if not one.isspace())
    named = [name for name in names if name]
    if not named:
        return "nothing is left of it after text preparation"
    more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return f"no letter or digit in it, only {', '.join(named[:MAX_NAMED])}{more}"


def _check_language(language: str, *, run: Path) -> None:
    """Raises UserError if the run's vocabulary lacks the language; a run without vocabulary is reported elsewhere."""
    path = run / "vocab.json"
    if path.is_file() and language not in (trained := Vocabulary.load(path).languages):
        raise UserError(f"{run} was not trained on {language}; it speaks {', '.join(trained)}")


def _decode(path: Path) -> Reference:
    try:
        signal = decode_audio(read_audio_file(str(path)), max_duration_s=MAX_REFERENCE_S)
    except (Rejected, ValueError) as error:
        raise UserError(f"reference {path}: {error}; expected a clip of a voice, some seconds long") from error
    if signal.duration_s < MIN_REFERENCE_S:
        raise UserError(f"reference {path}: {signal.duration_s:.2f} s; expected a clip of a voice, some seconds long")
    return Reference(path, signal)
