from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError

CLIENT = "53e9ae989566b4a16ba65e4ce8cf6b3c347598cfa1d3fb24773e3251a58f8a36"
OLD = "client_id\tpath\tsentence\tup_votes\tdown_votes\tage\tgender\taccent\n"
NEW = "client_id\tpath\tsentence\tup_votes\tdown_votes\tage\tgender\taccents\tvariant\tlocale\tsegment\n"


@pytest.mark.parametrize(("locale", "language", "clips"), [("en", "eng_Latn", 40), ("fa", "pes_Arab", 48)])
def test_common_voice_is_read_with_its_old_and_its_new_header(
    locale: str, language: str, clips: int, reference: Path, utterances: Any
) -> None:
    root = reference / f"corpora/common_voice_{locale}/{locale}"
    found = utterances(root, reader="common_voice", name="cv")
    lines = [line.split("\t") for line in (root / "validated.tsv").read_text("utf-8").split("\n")[1:-1]]
    assert len(found) == len(lines) == clips
    for one, (client, path, sentence, *_) in zip(found, lines, strict=True):
        assert (one.text, one.speaker, one.language) == (sentence, f"cv/{client[:16]}", language)
        assert one.id == f"cv/{path.removesuffix('.mp3')}"
        assert Path(one.audio_path) == root / "clips" / path
        assert Path(one.audio_path).is_file()


def test_columns_are_found_by_name(write: Any, utterances: Any) -> None:
    root = write({"train.tsv": f'\ufeffsentence\tage\tpath\tclient_id\r\nHallo "Welt"\t\ta.mp3\t{CLIENT}\r\n\n\r\n'})
    assert utterances(root, reader="common_voice", language="deu_Latn", list="train.tsv") == [
        Utterance(
            id="x/a",
            audio_path=str(root / "clips/a.mp3"),
            text='Hallo "Welt"',
            language="deu_Latn",
            speaker=f"x/{CLIENT[:16]}",
        )
    ]


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [
        ('"""Good-bye,"" said the boy."', '"Good-bye," said the boy.', '"""Good-bye,"" said the boy."'),
        ('Er sagte "ja".', 'Er sagte "ja".', 'Er sagte "ja".'),
        ('"では？"と彼は言った。', '"では？"と彼は言った。', '"では？"と彼は言った。'),  # not CSV, so text
        ('"Begun and not ended.', '"Begun and not ended.', '"Begun and not ended.'),
    ],
)
def test_quotes_are_those_of_csv_in_old_files_and_text_in_new_ones(
    field: str, old: str, new: str, write: Any, utterances: Any
) -> None:
    row = f"{CLIENT}\ta.mp3\t{field}\t2\t0\t\t\t"
    after = f"{CLIENT}\tb.mp3\tnext\t2\t0\t\t\t"
    for header, ends, text in ((OLD, "\n", old), (NEW, "\t\ten\t\n", new)):
        root = write({"validated.tsv": f"{header}{row}{ends}{after}{ends}"})
        found = utterances(root, reader="common_voice", language="eng_Latn")
        assert [one.text for one in found] == [text, "next"]


def test_a_tab_between_quotes_is_text_in_old_files(write: Any, utterances: Any) -> None:
    root = write({"validated.tsv": f'{OLD}{CLIENT}\ta.mp3\t"one\ttwo"\t2\t0\t\t\t\n'})
    assert [one.text for one in utterances(root, reader="common_voice", language="eng_Latn")] == ["one\ttwo"]


def test_the_language_is_the_rows_and_an_unknown_one_rejects_the_row(write: Any, read: Any) -> None:
    rows = "".join(
        f"{CLIENT}\t{n}\ttext\t2\t0\t\t\t\t\t{locale}\t\n" for n, locale in enumerate(["fa", "tlh", "", "de"])
    )
    found = read(write({"validated.tsv": NEW + rows}), reader="common_voice")
    assert [one.language for one in found] == ["pes_Arab", "", "", "deu_Latn"]
    assert [one.reason for one in found if isinstance(one, Rejection)] == [Reason.UNKNOWN_LANGUAGE] * 2
    assert {one.language for one in read(write({}), reader="common_voice", language="urd_Arab")} == {"urd_Arab"}


def test_without_a_locale_column_the_folders_name_is_the_language(write: Any, utterances: Any, read: Any) -> None:
    row = f"{OLD}{CLIENT}\ta.mp3\ttext\t2\t0\t\t\t\n"
    root = write({"de/validated.tsv": row, "klingon/validated.tsv": row})
    (found,) = utterances(root / "de", reader="common_voice")
    assert found.language == "deu_Latn"
    with pytest.raises(UserError, match=r"sources\.cv\.language: missing, and 'klingon' is not a language's name"):
        read(root / "klingon", reader="common_voice", name="cv")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"{CLIENT}\ta.mp3", "2 of 3 fields, no sentence"),
        (CLIENT, "1 of 3 fields, no path, sentence"),
        (f"{CLIENT}\ta.mp3\t ", "3 of 3 fields, no sentence"),
        ("\ta.mp3\ttext", "3 of 3 fields, no client_id"),
        (f"{CLIENT}\ta.mp3\ttext\tmore", "4 fields, but 3 columns"),
    ],
)
def test_a_short_or_a_long_row_is_rejected_by_file_and_line(write: Any, read: Any, row: str, message: str) -> None:
    root = write({"validated.tsv": f"client_id\tpath\tsentence\n{row}\nc\tb.mp3\ttext"})
    bad, good = read(root, reader="common_voice", language="deu_Latn")
    assert isinstance(good, Utterance)
    assert (bad.id, bad.stage, bad.reason) == ("x/validated.tsv:2", "corpus", Reason.BAD_METADATA_ROW)
    assert bad.message.endswith(f"validated.tsv line 2: {message}; the row: {row!r}")


@pytest.mark.parametrize("header", [b"", b"client_id\tpath\n", b"a,b,c\n", b"\xff\n"])
def test_another_header_than_common_voices_is_refused(write: Any, read: Any, header: bytes) -> None:
    with pytest.raises(UserError, match=r"validated\.tsv: no column .*sentence in its header; it has "):
        read(write({"validated.tsv": header}), reader="common_voice", language="deu_Latn")
