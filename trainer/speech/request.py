"""A request to speak a text, and the checks of it that need no TensorFlow."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from preprocess.text import prepare_text, spoken_characters
from shared.errors import UserError
from shared.languages import resolve_language
from shared.messages import first_few
from shared.vocabulary import Vocabulary
from trainer.config.speech_bounds import MAX_CHARACTERS
from trainer.speech.sentences import TextPiece, split_text

MAX_NAMED = 3  # characters or sentences in a message


class SynthesisRequest(NamedTuple):
    """A text whose language is resolved, divided into sentences that are prepared for the tokenizer."""

    pieces: tuple[TextPiece, ...]  # at least one
    language: str  # a FLORES-200 code


def prepare_request(text: str, *, language: str | None, languages: Sequence[str], run: Path) -> SynthesisRequest:
    """Prepare a text for the model of a run.

    Args:
        text: an empty line separates paragraphs.
        language: a FLORES-200 code, or a name that means exactly one; None: the only one that was trained.
        languages: codes of the languages that the run was trained on; empty if they are unknown.

    Raises:
        UserError: the language is unknown or was not trained, or the text has nothing to speak or is too long.
    """
    code = _trained_language(language, languages=languages, run=run)
    return SynthesisRequest(prepare_pieces(text, language=code), code)


def trained_languages(run: Path) -> list[str]:
    """Codes of the languages that a run was trained on; none if there is no run, which is reported elsewhere."""
    path = run / "vocab.json"
    return Vocabulary.load(path).languages if path.is_file() else []


def prepare_pieces(text: str, *, language: str) -> tuple[TextPiece, ...]:
    """Divide a text into sentences, each prepared for the tokenizer.

    Raises:
        UserError: the text has no letter or digit, or is too long.
    """
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"the text: {len(text):,} characters, expected at most {MAX_CHARACTERS:,}; divide it")
    text = text.encode(errors="ignore").decode()  # without halves of surrogate pairs, which UTF-8 does not have
    divided = split_text(text, language=language)
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
    return f"no letter or digit in it, only {first_few(named, most=MAX_NAMED)}"


def _trained_language(language: str | None, *, languages: Sequence[str], run: Path) -> str:
    """The code of a language.

    Raises:
        UserError: the run was not trained on the language, or none is given and there are several.
    """
    if language is None:
        if not languages:
            raise UserError(f"{run}: no run here; `make train RUN={run}` creates one")
        if len(languages) > 1:
            raise UserError(f"no language: {run} speaks {', '.join(languages)}; expected one of them")
        return languages[0]
    code = resolve_language(language)
    if languages and code not in languages:
        raise UserError(f"{run} was not trained on {code}; it speaks {', '.join(languages)}")
    return code
