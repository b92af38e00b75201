"""Whether a text is in the language that its corpus states, by the bytes of its words.

The probabilities are those of py3langid (BSD), a naive Bayes classifier: Lui, Baldwin, "langid.py: An Off-the-shelf
Language Identification Tool" (ACL 2012). The scripts of a language are one language here, and so are Bokmål, Nynorsk
and Norwegian.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, NamedTuple

from shared.errors import UserError
from shared.languages import iso_639_1

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Below it, a text is in another language. Of 2,618 sentences in 23 languages (tests/preprocess/verbalization), none is
# below it in its language, and 99.5 % of their pairs with each of the other languages are.
MIN_TEXT_LANGUAGE = 0.02

_NAMES = {"nb": "no", "nn": "no"}  # a text of some words may be either
_OWN_NAMES = {"kik_Latn": "kik", "fuv_Latn": "fuv", "grn_Latn": "gug"}  # where iso_639_1 has another
_OTHER_SCRIPT = {"ckb_Arab", "ace_Arab"}  # the classifier knows the language in Latin script alone


class TextLanguage(NamedTuple):
    """How likely a text is in the language that is stated for it."""

    likelihood: float  # relative to that of the likeliest language: 1 if that is the stated one, and above 0
    likeliest: str  # an ISO 639 code


def check_text_language() -> None:
    """Raise UserError unless the classifier is installed."""
    if importlib.util.find_spec("py3langid") is None:
        raise UserError("text-language needs py3langid, which is not installed: pip install 'myxtts[text-language]'")


def text_language(text: str, *, language: str) -> TextLanguage | None:
    """Compare a text with the language that is stated for it.

    Args:
        text: as the corpus has it. A single word says little: most languages are then about as likely.
        language: a FLORES-200 code.

    Returns:
        None if the classifier does not know the language.
    """
    stated = _OWN_NAMES.get(language) or iso_639_1(language)
    probabilities: dict[str, float] = {}
    for name, probability in _classifier().rank(text):
        known = _NAMES.get(name, name)
        probabilities[known] = max(probability, probabilities.get(known, 0.0))
    own = probabilities.get(_NAMES.get(stated, stated))
    if own is None or language in _OTHER_SCRIPT:
        return None
    likeliest = max(probabilities, key=lambda name: probabilities[name])
    return TextLanguage(own / probabilities[likeliest], likeliest)


@functools.cache
def _classifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
