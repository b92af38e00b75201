from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
import sacremoses
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from preprocess.text import prepare_text

# Without format characters and digits, and without the letters that abbreviations are made of.
texts = st.text(st.characters(exclude_categories=["Cs", "Cf", "N", "Sc"]), max_size=60)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def prepared(text: str, *, language: str = "eng_Latn") -> str:
    return prepare_text(text, language=language).text


@pytest.fixture(scope="session")
def nllb(reference: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(reference / "nllb/tokenizer.json"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("“curly” ‘quotes’", "\"curly\" 'quotes'"),
        ("„deutsch“", '"deutsch"'),
        ("«guillemets» «\u00a0à la française\u00a0»", '"guillemets" "à la française"'),
        ("a – b — c", "a - b - c"),
        ("wait…", "wait..."),
        ("it´s", "it's"),
        ("ﬁne Ｆｕｌｌ", "fine Full"),
        ("cafe\u0301", "café"),
        ("a\u00a0b\u3000c\td\ne", "a b c d e"),
        ("a\x00b\x07c\x1b[m", "a b c [m"),
        ("ي ك", "ي ك"),
        ("  two   spaces  ", "two spaces"),
        ("", ""),
        (" \n\x00", ""),
        ("a\u2028b\u2029c", "a b c"),
        ('"Keep walking.', '"Keep walking.'),
        ("\U0001f600 ok", "\U0001f600 ok"),
    ],
)
def test_text_is_prepared_as_nllb_was_trained(text: str, expected: str) -> None:
    assert prepare_text(text, language="eng_Latn") == (expected, 0)


@given(texts, st.sampled_from(["tha_Thai", "amh_Ethi", "yor_Latn", "pes_Arab"]))
def test_the_steps_are_those_of_fairseqs_preparation(text: str, language: str) -> None:
    """Moses, non-printing characters to spaces, NFKC: its order, with sacremoses' own function."""
    moses = sacremoses.MosesPunctNormalizer(lang="en").normalize(text)
    printing = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in moses)
    assert prepared(text, language=language) == " ".join(unicodedata.normalize("NFKC", printing).split())


@given(anything, st.sampled_from(["eng_Latn", "deu_Latn", "pes_Arab", "rus_Cyrl", "kor_Hang", "zho_Hans"]))
def test_what_is_left_is_printing_and_singly_spaced(text: str, language: str) -> None:
    result = prepared(text, language=language)
    assert all(c == "\u200c" or unicodedata.category(c)[0] != "C" for c in result)
    assert result == " ".join(result.split())
    assert unicodedata.is_normalized("NFKC", result)


@given(st.text(st.characters(categories=["L", "M", "Zs"]), max_size=60))
def test_letters_and_spaces_are_prepared_once_and_for_all(text: str) -> None:
    once = prepared(text)
    assert prepared(once) == once


def test_signs_that_only_nfkc_makes_are_not_moses_punctuation_yet() -> None:
    """So a second preparation may change a text: records hold what was prepared once, and it is never done twice."""
    once = prepared("﹙ a")
    assert once == "( a"
    assert prepared(once) == "(a"


@pytest.mark.parametrize(
    "character",
    [
        *"\u00ad\u061c\u180e\u200d\u200e\u200f\u2060\u2061\u2064\ufeff\U000e0001\U000e0067",
        *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    ],
)
def test_a_format_character_within_a_word_leaves_no_trace(character: str) -> None:
    for language, word in (("eng_Latn", "cooperate"), ("pes_Arab", "کتابخانه"), ("hin_Deva", "किताब")):
        assert prepared(f"{character}{word[:2]}{character}{word[2:]}{character}", language=language) == word


@pytest.mark.parametrize("character", "\u200b\x00\x1f\x7f\x85\ufff9\ue000\n\t")
def test_a_control_character_or_a_zero_width_space_is_a_space(character: str) -> None:
    assert prepared(f"{character}one{character}two{character}") == "one two"


@pytest.mark.parametrize("word", ["می\u200cخواهم", "کتاب\u200cها", "خانه\u200cای"])
def test_a_persian_word_keeps_its_non_joiner_and_its_parts(word: str, nllb: tokenizers.Tokenizer) -> None:
    assert prepared(word, language="pes_Arab") == word
    pieces = nllb.encode(word, add_special_tokens=False).tokens
    assert pieces == nllb.encode(word.replace("\u200c", " "), add_special_tokens=False).tokens
    assert "<unk>" not in pieces


def test_a_non_joiner_that_parts_nothing_is_dropped(nllb: tokenizers.Tokenizer) -> None:
    text = prepared("\u200cکتاب\u200c \u200c\u200cمی\u200c\u200c\u200cخواهم\u200c.\u200c", language="pes_Arab")
    assert text == "کتاب می\u200cخواهم."
    assert "▁" not in nllb.encode(text, add_special_tokens=False).tokens


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("hin_Deva", "क्\u200dषमा", "क्षमा"),
        ("hin_Deva", "क्\u200cष", "क्ष"),
        ("sin_Sinh", "ශ්\u200dරී ලංකාව", "ශ්රී ලංකාව"),
        ("ben_Beng", "র\u200d্যাব", "র্যাব"),
        ("kan_Knda", "ರಾಜ್\u200cಕುಮಾರ್", "ರಾಜ್ಕುಮಾರ್"),
        ("mal_Mlym", "നന്\u200dമ അവന്\u200d", "നൻമ അവൻ"),
        ("urd_Arab", "ہ\u200dندوستان", "ہندوستان"),
        ("deu_Latn", "Auf\u200clage", "Auflage"),
    ],
)
def test_joiners_do_not_split_words(language: str, text: str, expected: str, nllb: tokenizers.Tokenizer) -> None:
    """The tokenizer makes a space of either joiner, so one within a word would be two words."""
    assert prepared(text, language=language) == expected
    joined, split = (nllb.encode(one, add_special_tokens=False).tokens for one in (expected, text))
    assert sum(piece.startswith("▁") for piece in joined) == len(expected.split())
    assert sum(piece.startswith("▁") for piece in split) > len(text.split())
    assert "<unk>" not in joined


SENTENCES = {
    "pes_Arab": "می\u200cخواهم کتاب\u200cهایم را به خانه\u200cی دوستم ببرم؛ نمی\u200cتوانم.",
    "hin_Deva": "मैं क्षमा चाहता हूँ, यह हिन्दी में लिखा हुआ एक छोटा-सा वाक्य है।",
    "urd_Arab": "میں اردو میں لکھ رہا ہوں۔",
    "ckb_Arab": "من بە کوردی دەنووسم",
    "tha_Thai": "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "jpn_Jpan": "日本語には単語の間に空白がありません。",
    "zho_Hans": "中文的词语之间没有空格。",
    "khm_Khmr": "ភាសាខ្មែរ",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_of_words_only_survives_letter_by_letter(language: str, nllb: tokenizers.Tokenizer) -> None:
    text = unicodedata.normalize("NFKC", SENTENCES[language])  # takes Thai's am apart, as it did for NLLB
    result = prepare_text(text, language=language)
    assert result == (text, 0)
    assert "<unk>" not in nllb.encode(result.text, add_special_tokens=False).tokens


@pytest.mark.parametrize(
    ("language", "text", "expected", "unread"),
    [
        ("yue_Hant", "我有3本書，2024年。", "我有3本書,2024年。", 2),
        ("zho_Hant", "10%的人", "10%的人", 1),
        ("tha_Thai", "ปี๒๕๖๗มี12เดือน", "ปี๒๕๖๗มี12เดือน", 2),
    ],
)
def test_scripts_without_spaces_are_only_normalised_and_their_numbers_counted(
    language: str, text: str, expected: str, unread: int
) -> None:
    assert prepare_text(text, language=language) == (expected, unread)
