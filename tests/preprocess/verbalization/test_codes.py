"""Numbers that name a thing are left, where counting would be a wrong reading."""

from __future__ import annotations

import pytest

from preprocess.verbalization.conventions.codes import CODED
from preprocess.verbalization.numbers import verbalize_numbers

SENTENCES = {
    "eng_Latn": "The serial number is {}",
    "deu_Latn": "Die Kontonummer: {}",
    "fra_Latn": "le numéro de série {}",
    "spa_Latn": "el número de cuenta {}",
    "ita_Latn": "il numero di serie è {}",
    "por_Latn": "o número de série {}",
    "nld_Latn": "het rekeningnummer is {}",
    "swe_Latn": "kontonummer {}",
    "dan_Latn": "kontonummer {}",
    "pol_Latn": "numer seryjny {}",
    "ces_Latn": "číslo účtu {}",
    "rus_Cyrl": "серийный номер {}",
    "ukr_Cyrl": "серійний номер {}",
    "tur_Latn": "seri numarası {}",
    "ind_Latn": "nomor rekening {}",
    "vie_Latn": "số tài khoản {}",
    "arb_Arab": "رقم الحساب {}",
    "pes_Arab": "شماره حساب {}",
    "hin_Deva": "खाता संख्या {}",
    "ben_Beng": "হিসাব নম্বর {}",
}


def test_each_language_with_codes_has_a_sentence() -> None:
    assert SENTENCES.keys() == CODED.keys()


@pytest.mark.parametrize("language", SENTENCES)
def test_a_long_number_behind_the_name_of_a_code_is_left(language: str) -> None:
    for code in ("47110", "1450", "83412067"):
        text = SENTENCES[language].format(code)
        assert verbalize_numbers(text, language=language) == text


@pytest.mark.parametrize("language", ["eng_Latn", "deu_Latn", "fra_Latn", "spa_Latn", "vie_Latn"])
def test_a_short_one_and_one_elsewhere_are_read(language: str) -> None:
    for text in (SENTENCES[language].format("12"), "47110"):
        assert not any(map(str.isdecimal, verbalize_numbers(text, language=language)))
