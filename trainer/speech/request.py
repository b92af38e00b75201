"""A request to speak a text, and the checks of it that need no TensorFlow."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from preprocess.corpora.source import has_surrogate
from preprocess.text import PREPARATION, prepare_text, spoken_characters
from preprocess.text_normalizer import TextNormalizer, normalizer_of
from shared.dataset import Contract, NormalizerIdentity
from shared.errors import UserError
from shared.languages import resolve_language
from shared.messages import first_few
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint_files import run_info_path
from trainer.config.speech_bounds import MAX_CHARACTERS
from trainer.speech.sentences import TextPiece, paragraphs_of, split_text

MAX_NAMED = 3  # characters or sentences in a message


class SynthesisRequest(NamedTuple):
    """A text whose language is resolved, divided into sentences that are prepared for the tokenizer."""

    pieces: tuple[TextPiece, ...]  # at least one
    language: str  # a FLORES-200 code


class TextFrontEnd:
    """Prepares texts for the model of a run; needs no TensorFlow.

    The text normalizer is that of the run's dataset; the text preparation is that of this version of the software, and
    `preparation_difference` tells whether the dataset had another one.
    """

    def __init__(self, run: Path, *, languages: Sequence[str], normalizer: TextNormalizer | None = None) -> None:
        """
        Args:
            run: the run or export, for messages.
            languages: codes of the languages that the run was trained on.
            normalizer: the text normalizer of its dataset; None: it had none.
        """
        self._run, self._languages, self._normalizer = run, languages, normalizer

    @classmethod
    def of_run(cls, run: Path) -> TextFrontEnd:
        """The front end of a run or export. A damaged `run.json` is left to the model's loader.

        Raises:
            UserError: there is no run, its vocabulary is damaged, or the text normalizer of the dataset is not
                installed as it was.
        """
        normalizer = normalizer_of(_normalizer_identity(run_info_path(run)))
        return cls(run, languages=Vocabulary.load(run / "vocab.json").languages, normalizer=normalizer)

    def prepare(self, text: str, *, language: str | None, is_normalized: bool = False) -> SynthesisRequest:
        """Prepare a text.

        Args:
            text: an empty line separates paragraphs.
            is_normalized: the text is one of a dataset, which the text normalizer had already.
            language: a FLORES-200 code, or a name that means exactly one; None: the only one that was trained.

        Raises:
            UserError: the language is unknown or was not trained, or the text has nothing to speak or is too long.
        """
        code = _trained_language(language, languages=self._languages, run=self._run)
        normalizer = None if is_normalized else self._normalizer
        return SynthesisRequest(prepare_pieces(text, language=code, normalizer=normalizer), code)

    def prepare_heard(self, heard: str, *, language: str) -> str:
        """A transcript that a listener wrote, prepared as texts are: numbers and abbreviations in words."""
        return prepare_text(heard, language=language, normalizer=self._normalizer).text


def preparation_difference(contract: Contract, *, run: Path) -> str | None:
    """What a person should know before the model of a run speaks, if another version prepared the texts it learned."""
    if contract.text_preparation == PREPARATION:
        return None
    return (
        f"{run}: the texts of its dataset were prepared by {contract.text_preparation}, and this version prepares by "
        f"{PREPARATION}: numbers and abbreviations may be read otherwise than in training"
    )


def _normalizer_identity(path: Path) -> NormalizerIdentity | None:
    """The text normalizer that a `run.json` names."""
    try:
        named = json.loads(path.read_bytes())["contract"].get("text_normalizer")
        return None if named is None else NormalizerIdentity.model_validate(named)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def prepare_pieces(text: str, *, language: str, normalizer: TextNormalizer | None = None) -> tuple[TextPiece, ...]:
    """Divide a text into sentences, each prepared for the tokenizer.

    Args:
        normalizer: gets each paragraph, before it is divided.

    Raises:
        UserError: the text has no letter or digit, is no Unicode or too long, or the normalizer fails.
    """
    if len(text) > MAX_CHARACTERS:
        raise UserError(f"the text: {len(text):,} characters, expected at most {MAX_CHARACTERS:,}; divide it")
    if has_surrogate(text):  # Python has them for bytes of the command line that are no UTF-8, too
        raise UserError("the text: bytes that are no UTF-8, or half of a surrogate pair; expected Unicode")
    if normalizer is not None:
        text = "\n\n".join(normalizer(paragraph, language=language) for paragraph in paragraphs_of(text))
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
        if len(languages) > 1:
            raise UserError(f"no language: {run.name} speaks {', '.join(languages)}; expected one of them")
        return languages[0]
    code = resolve_language(language)
    if code not in languages:
        raise UserError(f"{run.name} was not trained on {code}; it speaks {', '.join(languages)}")
    return code
