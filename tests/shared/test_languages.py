from __future__ import annotations

import json
from pathlib import Path

import pytest

from shared.errors import UserError
from shared.languages import CODES, FIRST_ID, LAST_ID, language_code, language_id, script
from shared.vocabulary import NUM_NLLB_IDS


def test_there_are_the_202_languages_of_nllb() -> None:
    assert len(CODES) == len(set(CODES)) == 202
    assert (FIRST_ID, LAST_ID) == (256001, 256202)
    assert (language_id("ace_Arab"), language_id("eng_Latn"), language_id("zul_Latn")) == (256001, 256047, 256202)


def test_ids_equal_those_of_nllbs_own_tokenizer(reference: Path) -> None:
    document = json.loads((reference / "nllb/tokenizer.json").read_text("utf-8"))
    theirs = {token["content"]: token["id"] for token in document["added_tokens"]}
    assert {code: language_id(code) for code in CODES}.items() <= theirs.items()
    assert max(theirs.values()) + 1 == NUM_NLLB_IDS


def test_a_code_and_its_id_name_each_other() -> None:
    assert [language_code(language_id(code)) for code in CODES] == list(CODES)


@pytest.mark.parametrize("token_id", [256000, 256203, 0, -1])
def test_an_id_of_no_language_is_refused(token_id: int) -> None:
    with pytest.raises(ValueError, match=f"token {token_id} is no language: those are 256001 to 256202"):
        language_code(token_id)


@pytest.mark.parametrize(
    ("code", "meant"),
    [("eng", "eng_Latn"), ("en", "eng_Latn"), ("deu-Latn", "deu_Latn"), ("ENG_LATN", "eng_Latn"), ("", "eng_Latn")],
)
def test_an_unknown_language_is_refused_with_a_code_that_exists(code: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"unknown language '{code}'") as caught:
        language_id(code)
    assert "\n" not in str(caught.value)
    suggested = str(caught.value).rpartition("such as ")[2].split(", ")
    assert set(suggested) <= set(CODES)
    if code in ("eng", "deu-Latn", ""):
        assert meant in suggested


def test_a_script_is_the_end_of_the_code() -> None:
    assert (script("zho_Hans"), script("eng_Latn"), script("pes_Arab")) == ("Hans", "Latn", "Arab")
