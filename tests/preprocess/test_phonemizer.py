"""Phonemes of espeak-ng's library, against its command."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from preprocess import phonemizer
from preprocess.phonemizer import VOICES, Phonemizer, load_phonemizer, phonemizer_of
from preprocess.text import prepare_text
from preprocess.tokens import Tokenizer
from shared.errors import UserError
from shared.languages import CODES, UNSPACED_SCRIPTS, iso_639_1, script
from shared.vocabulary import UNKNOWN_ID

pytestmark = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")

TABLES = sorted(Path("tests/preprocess/verbalization/number_tables").glob("*.tsv"))
SPACED = [table for table in TABLES if script(table.stem) not in UNSPACED_SCRIPTS]
IPA = "configs/tokenizer_ipa.json"


@pytest.fixture
def phonemes() -> Phonemizer:
    return load_phonemizer()


def by_command(words: str, *, voice: str) -> str:
    command = ["espeak-ng", "-q", "--ipa", "-v", voice, words]
    return " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("words", "language", "voice"),
    [
        ("The kettle is singing again", "eng_Latn", "en-us"),
        ("Zwölf Boxer jagen Viktor", "deu_Latn", "de"),
        ("Bonjour le monde", "fra_Latn", "fr"),
        ("El perro corre", "spa_Latn", "es"),
        ("کتاب را بخوان", "pes_Arab", "fa"),
    ],
)
def test_words_have_the_phonemes_that_the_command_prints(
    phonemes: Phonemizer, words: str, language: str, voice: str
) -> None:
    assert " ".join(phonemes(words, language=language).split()) == by_command(words, voice=voice).replace("-", "")


def prepared(text: str, phonemes: Phonemizer, *, language: str = "eng_Latn") -> str:
    """The phonemes of a text as a build has it."""
    return phonemes(prepare_text(text, language=language).text, language=language)


def test_punctuation_stays_where_it_was_without_quotation_marks(phonemes: Phonemizer) -> None:
    found = prepared("“The kettle,” she said: it sings — or does it? (Yes…)", phonemes)
    kettle, she_said = phonemes("The kettle", language="eng_Latn"), phonemes("she said", language="eng_Latn")
    assert found.startswith(f"{kettle}, {she_said}: ")
    assert [one for one in found if one in '",:-?().'] == list(",:-?(...)")
    assert "  " not in found


@pytest.mark.parametrize(
    ("text", "as_one", "language"),
    [
        ('She bought a "new" car.', "She bought a new car", "eng_Latn"),
        ("Статья в «Известиях».", "Статья в Известиях", "rus_Cyrl"),
        ("She said 'the end' twice.", "She said the end twice", "eng_Latn"),
    ],
)
def test_words_before_a_quotation_mark_are_spoken_as_without_it(
    phonemes: Phonemizer, text: str, as_one: str, language: str
) -> None:
    assert prepared(text, phonemes, language=language) == phonemes(as_one, language=language) + "."


@pytest.mark.parametrize("word", ["example.com", "1,000", "3.5", "don't", "twenty-four", "U.S", "12:30"])
def test_signs_within_a_word_do_not_divide_it(phonemes: Phonemizer, word: str) -> None:
    assert phonemes(word, language="eng_Latn") == by_command(word, voice="en-us").replace("-", "")


@pytest.mark.parametrize("sign", ["😀", "©", "*", "~", "#"])
def test_signs_are_not_spoken(phonemes: Phonemizer, sign: str) -> None:
    happy, day = phonemes("happy", language="eng_Latn"), phonemes("day", language="eng_Latn")
    assert phonemes(f"happy {sign} day", language="eng_Latn") == f"{happy} {sign} {day}"


def test_the_full_stop_of_urdu_stays(phonemes: Phonemizer) -> None:
    assert phonemes("کتاب۔", language="urd_Arab").endswith("۔")


def test_a_question_mark_is_that_of_the_text_alone(phonemes: Phonemizer) -> None:
    """espeak-ng writes the Danish glottal stop as one."""
    found = phonemes("Frederik den syvendes navnetræk pryder porten.", language="dan_Latn")
    assert "?" not in found
    assert "ʔ" in found


def test_letters_of_other_scripts_are_not_read_by_their_names(phonemes: Phonemizer) -> None:
    found = phonemes("the 漢字 kettle ж", language="eng_Latn")
    assert "漢字" in found
    assert found.endswith(" ж")
    assert "tʃ" not in found  # of "Chinese letter"
    assert "(" not in phonemes("der Computer ist cool", language="deu_Latn")  # which is read by the English voice
    assert phonemes("β-carotene", language="eng_Latn").startswith("b")  # "beta", and not the phoneme β


@pytest.mark.parametrize("table", SPACED, ids=[table.stem for table in SPACED])
def test_the_tokenizer_of_the_alphabet_knows_all_phonemes_of_a_language(table: Path) -> None:
    tokenizer = Tokenizer(IPA, kind="other", phonemizer=load_phonemizer())
    lines = [line.split("\t")[2] for line in table.read_text("utf-8").splitlines()]
    assert len(lines) >= 60
    for line in lines:
        text = prepare_text(line.partition("|")[0], language=table.stem).text
        tokens = tokenizer.encode(text, language=table.stem)
        assert UNKNOWN_ID not in tokens, (text, tokenizer.unknown_characters(text, language=table.stem))
        assert len(tokens) > len(text) / 3


@pytest.mark.parametrize("language", ["jpn_Jpan", "zho_Hans", "tha_Thai", "ckb_Arab", "zul_Latn"])
def test_a_language_that_is_not_read_is_refused(phonemes: Phonemizer, language: str) -> None:
    with pytest.raises(
        UserError, match=f"phonemizer espeak-ng: does not read {language}; expected one of arb_Arab, ben"
    ):
        phonemes("text", language=language)
    assert not phonemes.reads(language)


def test_every_voice_is_installed_and_is_that_of_its_language(phonemes: Phonemizer) -> None:
    listed = subprocess.run(["espeak-ng", "--voices"], capture_output=True, text=True, check=True).stdout
    languages = {line.split()[1] for line in listed.splitlines()[1:]}
    for language, voice in VOICES.items():
        assert language in CODES
        assert {voice, "fr-fr" if voice == "fr" else voice} & languages
        assert voice.partition("-")[0] == iso_639_1(language)
        assert phonemes("a" if script(language) == "Latn" else "1", language=language)


def test_threads_that_load_it_at_once_get_one_phonemizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phonemizer, "_loaded", functools.cache(Phonemizer))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        loaded = [future.result() for future in [pool.submit(load_phonemizer) for _ in range(8)]]
        assert len({id(one) for one in loaded}) == 1
        texts = {
            "deu_Latn": "Guten Morgen",
            "eng_Latn": "good morning",
            "fra_Latn": "bonjour",
            "spa_Latn": "buenos días",
        }
        alone = {language: loaded[0](text, language=language) for language, text in texts.items()}
        fresh = Phonemizer()
        spoken = [(one, pool.submit(fresh, f"{texts[one]} {n}", language=one)) for n in range(20) for one in texts]
        assert all(future.result().startswith(alone[language][:6]) for language, future in spoken)


def test_a_phonemizer_is_pickled_as_its_name_and_has_one_identity(phonemes: Phonemizer) -> None:
    assert pickle.loads(pickle.dumps(phonemes)) is phonemes
    version = subprocess.run(["espeak-ng", "--version"], capture_output=True, text=True, check=True).stdout
    assert f": {phonemes.identity.version} " in version
    assert phonemizer_of(phonemes.identity) is phonemes
    assert phonemizer_of(None) is None


def test_another_version_than_that_of_the_dataset_is_refused(phonemes: Phonemizer) -> None:
    other = phonemes.identity.model_copy(update={"version": "9.9"})
    with pytest.raises(UserError, match=r"installed is espeak-ng .*; expected espeak-ng 9\.9, .* the dataset was made"):
        phonemizer_of(other)


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phonemizer, "LIBRARIES", ("libno-such-library.so",))
    with pytest.raises(UserError, match="it is not installed; install it, such as by `apt-get install espeak-ng`"):
        Phonemizer()


def test_without_its_data_the_message_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "from preprocess.phonemizer import load_phonemizer\nfrom shared.errors import UserError\n"
        "try: load_phonemizer()\nexcept UserError as error: print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"ESPEAK_DATA_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "install it, such as by `apt-get install espeak-ng`" in ended.stdout
    assert ended.stdout.count("\n") == 1
