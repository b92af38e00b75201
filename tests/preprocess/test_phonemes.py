from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from preprocess import phonemes
from preprocess.phonemes import to_phonemes, tool_version
from preprocess.text import prepare_text
from preprocess.text_normalizer import load_normalizer
from shared.errors import UserError

TEXTS = {
    "eng_Latn": "He said: “The singer's vision, measured through thick hedges, is a nurse's.” Yes…",
    "deu_Latn": "„Grüße aus Köln“, schrieb er; Pfeffer, Häuser, Bücher?",
    "rus_Cyrl": "Я люблю щи, ёлку и чай!",
    "pol_Latn": "Źle się dzieje, źdźbło.",
    "hin_Deva": "मैं ठीक हूँ, टमाटर लाओ।",
    "spa_Latn": "¿Dónde está el yate? ¡Ya!",
    "arb_Arab": "السلام عليكم، ورحمة الله؟",
    "tur_Latn": "Ağaç, dağ ve kalp.",
    "ces_Latn": "Tři říční raci.",
    "eus_Latn": "Kaixo, zer moduz?",
    "tam_Taml": "தமிழ் அழகு.",
}


@pytest.fixture(autouse=True)
def loaded_anew() -> None:
    load_normalizer.cache_clear()


def test_numbers_and_abbreviations_are_read_and_punctuation_stays() -> None:
    found = to_phonemes('"No," he said at 12:30 (to Dr. No)…', language="eng_Latn")
    assert found.startswith('"nˈoʊ," ')
    assert found.endswith("nˈoʊ)…")
    assert "dˈɑːktə" in found, "doctor"
    assert "θˈɜː" in found, "thirty"
    assert to_phonemes("No", language="eng_Latn") == "nˈoʊ"
    assert to_phonemes(" — … ", language="eng_Latn") == " — … "
    assert to_phonemes("", language="eng_Latn") == ""


@pytest.mark.parametrize("language", TEXTS)
def test_phonemes_are_in_the_vocabulary_of_nllb_and_are_not_read_again(language: str, reference: Path) -> None:
    """By the characters of its pieces, which include every one that can be a piece by itself."""
    pieces = json.loads((reference / "nllb/tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    known = set("".join(pieces)) | {" "}
    text = to_phonemes(TEXTS[language], language=language)
    prepared = prepare_text(text, language=language)
    assert prepared.unread_numbers == 0
    assert set(prepared.text) - known == set()
    spoken = [one for one in text if not unicodedata.category(one).startswith(("P", "Z"))]
    assert len(spoken) > len(TEXTS[language]) / 3


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("vie_Latn", "writes tones of the voice vi as digits"),
        ("jpn_Jpan", "cannot read the Chinese characters of jpn_Jpan"),
        ("ace_Latn", "has no voice ace, expected one of af, am,"),
    ],
)
def test_languages_that_it_cannot_write_are_refused(language: str, message: str) -> None:
    with pytest.raises(UserError, match=f"for the text 'xin chào': raised ValueError: espeak-ng {message}"):
        load_normalizer("espeak-ng")("xin chào", language=language)


def test_text_is_no_option_no_phoneme_mnemonics_and_no_markup() -> None:
    """Two brackets begin mnemonics of phonemes in espeak-ng."""
    assert "f" in to_phonemes("-f file", language="eng_Latn")
    assert to_phonemes("x[[h@l'oU]]", language="eng_Latn") != to_phonemes("x", language="eng_Latn") + " həlˈoʊ"
    assert "brˈeɪk" in to_phonemes("a<break/>b", language="eng_Latn").replace("ɹ", "r")


def test_the_version_of_the_program_is_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = load_normalizer("espeak-ng").identity
    assert tool_version().startswith("espeak-ng 1.")
    assert (identity.distribution, identity.version.partition(", ")[2]) == ("myxtts", tool_version())
    monkeypatch.setattr(phonemes, "PROGRAM", "espeak-absent")
    load_normalizer.cache_clear()
    with pytest.raises(UserError) as caught:
        load_normalizer("espeak-ng")
    assert str(caught.value) == (
        "text_normalizer espeak-ng: the program espeak-absent is not installed: apt-get install espeak-absent"
    )
