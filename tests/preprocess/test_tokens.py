from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from preprocess.piece_ids import NllbIds
from preprocess.text import prepare_text
from preprocess.tokens import Tokenizer
from shared.errors import UserError
from shared.languages import CODES, FIRST_ID, LAST_ID, language_id
from shared.vocabulary import END_ID, PAD_ID, SPECIAL_IDS, UNKNOWN_ID

CORPORA = Path(__file__).parents[1] / "corpora"
SAMPLE = CORPORA / "tokenizer.json"
LETTERS = {
    "eng_Latn": "the quick brown fox jumps over the lazy dog THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG café naïve",
    "deu_Latn": "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich ÄÖÜ",
    "pes_Arab": "الف ب پ ت ث ج چ ح خ د ذ ر ز ژ س ش ص ض ط ظ ع غ ف ق ک گ ل م ن و ه ی آ ئ أ می\u200cخواهم",
}
SIGNS = "0123456789 .,:;!?'\"()-%"


@pytest.fixture(scope="module")
def nllb(reference: Path) -> Tokenizer:
    return Tokenizer(str(reference / "nllb/tokenizer.json"))


@pytest.fixture(scope="module")
def sample() -> Tokenizer:
    return Tokenizer(str(SAMPLE))


def words_of(text: str) -> list[str]:
    """NLLB's own normalizer takes the zero-width non-joiner for a space."""
    return text.replace("▁", " ").replace("\u200c", " ").split()


def refusal(location: Path | str) -> str:
    with pytest.raises(UserError) as caught:
        Tokenizer(str(location))
    message = str(caught.value)
    assert message.startswith(f"tokenizer {location}: ")
    assert "\n" not in message
    return message


def test_ids_equal_those_of_the_reference_implementation(nllb: Tokenizer, reference: Path) -> None:
    with (reference / "nllb/expected_ids.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 2
    for row in rows:
        *pieces, end, language = map(int, row["expected_ids"].split())  # the old layout
        tokens = nllb.encode(row["text"].strip(), language=row["src_lang"])
        assert tokens == (language, *pieces, end)


@pytest.mark.parametrize("tokenizer", ["nllb", "sample"])
@pytest.mark.parametrize("text", ["A test", "", "a " * 3000, "\U0001f9ff", "\u200c"])
def test_the_layout_is_language_pieces_end(tokenizer: str, text: str, request: pytest.FixtureRequest) -> None:
    tokens = request.getfixturevalue(tokenizer).encode(text, language="pes_Arab")
    assert (tokens[0], tokens[-1]) == (language_id("pes_Arab"), END_ID)
    assert all(token == UNKNOWN_ID or END_ID < token < FIRST_ID for token in tokens[1:-1])
    assert len(tokens) > 3000 or not text.startswith("a ")  # nothing is truncated


@pytest.mark.parametrize("tokenizer", ["nllb", "sample"])
def test_special_tokens_written_in_a_text_become_unknown(tokenizer: str, request: pytest.FixtureRequest) -> None:
    text = "a </s> b <pad> c <unk> d <s> e <mask> f eng_Latn g zul_Latn"
    tokens = request.getfixturevalue(tokenizer).encode(text, language="deu_Latn")
    assert tokens[0] == language_id("deu_Latn")
    assert PAD_ID not in tokens
    assert tokens.index(END_ID) == len(tokens) - 1
    assert not any(token >= FIRST_ID for token in tokens[1:])
    assert tokens.count(UNKNOWN_ID) >= 7


@pytest.mark.parametrize("tokenizer", ["nllb", "sample"])
def test_encode_is_the_ids_of_encode_pieces(tokenizer: str, request: pytest.FixtureRequest) -> None:
    opened = request.getfixturevalue(tokenizer)
    for language, text in LETTERS.items():
        pieces = opened.encode_pieces(text, language=language)
        assert tuple(nllb_id for nllb_id, _ in pieces) == opened.encode(text, language=language)


def test_the_pieces_of_a_text_are_its_letters(nllb: Tokenizer) -> None:
    for language, text in LETTERS.items():
        (_, first), *pieces, (_, last) = nllb.encode_pieces(text, language=language)
        assert (first, last) == (language, "</s>")
        assert words_of("".join(piece for _, piece in pieces)) == words_of(text)


def test_an_unknown_language_is_never_taken_for_another(sample: Tokenizer) -> None:
    with pytest.raises(UserError, match="unknown language 'eng'"):
        sample.encode("a", language="eng")


def test_the_sample_tokenizer_knows_every_sentence_of_its_corpora(sample: Tokenizer) -> None:
    for language in LETTERS:
        lines = (CORPORA / "sentences" / f"{language}.txt").read_text("utf-8").splitlines()
        assert len(lines) >= 10
        for line in lines:
            assert UNKNOWN_ID not in sample.encode(prepare_text(line, language=language).text, language=language)


def test_the_identity_is_that_of_the_files_bytes(sample: Tokenizer) -> None:
    assert sample.identity.location == str(SAMPLE)
    assert sample.identity.sha256 == hashlib.sha256(SAMPLE.read_bytes()).hexdigest()


def test_nllb_has_its_256204_tokens(nllb: Tokenizer) -> None:
    assert nllb.identity.size == 256204


def test_ids_after_the_languages_and_special_ones_are_no_pieces(sample: Tokenizer) -> None:
    """A fine-tuned NLLB may have tokens after `<mask>`."""
    record_id = NllbIds(sample._tokenizer, location="sample")
    assert [record_id(one) for one in (0, 1, 2, 3, FIRST_ID, LAST_ID, LAST_ID + 1, LAST_ID + 2)] == [UNKNOWN_ID] * 8
    assert [record_id(one) for one in (4, FIRST_ID - 1)] == [4, FIRST_ID - 1]


@pytest.mark.parametrize("kept", ["truncation", "padding"])
def test_truncation_and_padding_in_a_tokenizer_file_are_ignored(kept: str, tmp_path: Path, sample: Tokenizer) -> None:
    document = json.loads(SAMPLE.read_text("utf-8"))
    document |= {
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            **{"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None},
            **{"pad_id": 1, "pad_type_id": 0, "pad_token": "<pad>"},
        },
    }
    document = {key: value for key, value in document.items() if key not in {"truncation", "padding"} - {kept}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), "utf-8")
    text = "the kettle is singing again"
    assert Tokenizer(str(path)).encode(text, language="eng_Latn") == sample.encode(text, language="eng_Latn")


def test_an_unreadable_file_is_refused_in_one_line(tmp_path: Path) -> None:
    expected = "expected the path of a tokenizer.json"
    for location in (tmp_path / "absent.json", "absent"):
        assert refusal(location).endswith(f"cannot be read (No such file or directory); {expected}")
    for location in ("absent.json", "models/absent.json"):
        message = refusal(location)
        assert f"tokenizer {location}: cannot be read (No such file or directory) (from {Path.cwd()}; " in message
        assert message.endswith(expected)
    assert refusal(tmp_path).endswith(f"cannot be read (Is a directory); {expected}")


@pytest.mark.parametrize("location", ["../tokenizer", "my models/nllb", "-a/b", "a/.b", "a/" + "b" * 200])
def test_a_path_that_cannot_be_a_hub_name_is_refused_in_one_line(location: str) -> None:
    assert "cannot be read" in refusal(location)


@pytest.mark.slow
@pytest.mark.parametrize("network", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}])
def test_a_hub_name_without_a_network_is_refused_in_one_line(network: dict[str, str], tmp_path: Path) -> None:
    code = (
        "from preprocess.tokens import Tokenizer\nfrom shared.errors import UserError\n"
        "try: Tokenizer('facebook/nllb-200-distilled-600M')\nexcept UserError as error: print(error)"
    )
    offline = os.environ | {"HF_HOME": str(tmp_path)} | network
    answer = subprocess.run([sys.executable, "-c", code], env=offline, capture_output=True, text=True, check=True)
    assert answer.stderr == "", "no retries are logged"
    assert answer.stdout.startswith("tokenizer facebook/nllb-200-distilled-600M: cannot be downloaded (")
    assert answer.stdout.endswith("; download it elsewhere and give its path: tokenizer=/path/to/tokenizer.json\n")
    assert answer.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"no json",
        b"{}",
        b"[]",
        b"null",
        b'{"version": "1.0"}',
        b'{"version": "1.0", "model": {"type": "BPE", "vocab": {}}}',
        b"version https://git-lfs.github.com/spec/v1\n",
        b"[" * 100_000,
        SAMPLE.read_bytes()[:20_000],
    ],
)
def test_a_file_that_is_not_a_tokenizer_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    assert "not a tokenizer.json (" in refusal(path)


@pytest.mark.parametrize(("token", "nllb_id"), [("</s>", 2), ("eng_Latn", 256047), ("zul_Latn", 256202)])
def test_a_tokenizer_that_is_not_nllbs_is_refused(token: str, nllb_id: int, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(SAMPLE.read_text("utf-8").replace(f'"{token}"', '"other"'), "utf-8")
    expected = f"{token} has id None, expected NLLB-200's {nllb_id}; is it an NLLB tokenizer?"
    assert refusal(path) == f"tokenizer {path}: {expected} Any other one needs tokenizer_kind: other"


@pytest.mark.parametrize("tokenizer", ["nllb", "sample"])
@pytest.mark.parametrize("language", sorted(LETTERS))
def test_the_compact_vocabulary_spells_every_text_of_its_languages(
    tokenizer: str, language: str, request: pytest.FixtureRequest
) -> None:
    opened = request.getfixturevalue(tokenizer)
    vocabulary = opened.compact_vocabulary([], languages=[language])
    known = set(vocabulary.pieces)
    text = prepare_text(LETTERS[language], language=language).text
    if tokenizer == "sample":  # it knows the letters of its own sentences only
        text = "".join(c for c in text if c == " " or c in known)
    text = f"{text} {SIGNS}"
    tokens = opened.encode_pieces(text, language=language)
    dense = vocabulary.encode(tokens)
    assert vocabulary.pieces.index("<unk>") not in dense
    assert words_of("".join(vocabulary.pieces[one] for one in dense[1:-1])) == words_of(text)


def test_the_compact_vocabulary_holds_the_used_tokens_and_little_else(nllb: Tokenizer) -> None:
    used = nllb.encode("There is no military solution in Syria", language="eng_Latn")
    vocabulary = nllb.compact_vocabulary(used, languages=["eng_Latn", "pes_Arab", "eng_Latn"])
    held = set(vocabulary.nllb_ids.tolist())
    assert held >= {*SPECIAL_IDS, *used, language_id("eng_Latn"), language_id("pes_Arab")}
    assert sum(FIRST_ID <= one <= LAST_ID for one in held) == 2
    assert len(vocabulary) < 2000
    table = vocabulary.table()
    assert [vocabulary.nllb_ids[table[one]] for one in used] == list(used)
    others = [piece for nllb_id, piece in zip(vocabulary.nllb_ids, vocabulary.pieces, strict=True) if nllb_id > 3]
    scripts = {unicodedata.name(piece).split()[0] for piece in others if len(piece) == 1 and piece.isalpha()}
    assert {"LATIN", "ARABIC"} <= scripts
    assert not scripts & {"CYRILLIC", "GREEK", "CJK", "HANGUL", "DEVANAGARI"}


def test_the_compact_vocabulary_does_not_depend_on_the_order_of_its_arguments(sample: Tokenizer) -> None:
    one = sample.compact_vocabulary([9, 8, 300], languages=["deu_Latn", "eng_Latn"])
    other = sample.compact_vocabulary(iter([300, 8, 9, 8]), languages=iter(["eng_Latn", "deu_Latn"]))
    assert one.to_json() == other.to_json()


def test_every_language_has_an_alphabet(sample: Tokenizer) -> None:
    vocabulary = sample.compact_vocabulary([], languages=CODES)
    assert set(map(language_id, CODES)) <= set(vocabulary.nllb_ids.tolist())


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("jpn_Jpan", "日本語のテキスト"),
        ("zho_Hans", "简体中文"),
        ("kor_Hang", "한국어"),
        ("rus_Cyrl", "русский ёж"),
        ("hin_Deva", "हिन्दी"),
    ],
)
def test_composite_and_other_scripts_are_spelled(nllb: Tokenizer, language: str, text: str) -> None:
    vocabulary = nllb.compact_vocabulary([], languages=[language])
    dense = vocabulary.encode(nllb.encode_pieces(prepare_text(text, language=language).text, language=language))
    assert vocabulary.pieces.index("<unk>") not in dense
