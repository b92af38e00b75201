"""A request to synthesize a sentence, and the checks of it that need no TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from preprocess.audio import Signal, decode_audio, read_audio_file
from preprocess.text import prepare_text
from preprocess.utterance import Rejected
from shared.errors import UserError
from shared.languages import resolve_language
from shared.vocabulary import Vocabulary
from trainer.config.speech_bounds import MAX_REFERENCE_S


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
    """A request whose language is resolved, whose text is prepared and whose reference is decoded."""

    text: str
    language: str
    reference: Reference | None


def prepare_request(request: SynthesisRequest, *, run: Path) -> PreparedRequest:
    """Prepare a request for the model of a run.

    Raises:
        UserError: the language is unknown or was not trained, no text is left, or the reference cannot be decoded.
    """
    language = resolve_language(request.language)
    _check_language(language, run=run)
    text = prepare_text(request.text, language=language).text
    if not text:
        raise UserError("the text: nothing is left of it after text preparation; expected words to speak")
    return PreparedRequest(text, language, None if request.reference is None else _decode(request.reference))


def _check_language(language: str, *, run: Path) -> None:
    """Raises UserError if the run's vocabulary lacks the language; a run without vocabulary is reported elsewhere."""
    path = run / "vocab.json"
    if path.is_file() and language not in (trained := Vocabulary.load(path).languages):
        raise UserError(f"{run} was not trained on {language}; it speaks {', '.join(trained)}")


def _decode(path: Path) -> Reference:
    try:
        return Reference(path, decode_audio(read_audio_file(str(path)), max_duration_s=MAX_REFERENCE_S))
    except (Rejected, ValueError) as error:
        raise UserError(f"reference {path}: {error}; expected a clip of a voice, some seconds long") from error
