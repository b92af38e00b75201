from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection


def test_ljspeech_itself_is_read_to_the_last_row(reference: Path, utterances: Any) -> None:
    root = reference / "corpora/LJSpeech-1.1"
    found = utterances(root, reader="ljspeech", language="eng_Latn", name="lj")
    rows = (root / "metadata.csv").read_text("utf-8").split("\n")[:-1]
    assert [one.id.removeprefix("lj/") for one in found] == [row.split("|")[0] for row in rows]
    assert [one.text for one in found] == [row.split("|")[2] for row in rows]
    assert {(one.language, one.speaker) for one in found} == {("eng_Latn", "lj/LJ")}
    assert all(Path(one.audio_path).is_file() for one in found)


def test_thorstens_two_columns_and_another_folder_and_format_are_read(write: Any, utterances: Any) -> None:
    root = write({"train.csv": "a|Guten Tag.\nb|Auf Wiedersehen.\n"})
    options = {"metadata": "train.csv", "audio": "clips", "suffix": ".flac", "speaker": "Thorsten"}
    found = utterances(root, reader="ljspeech", language="deu_Latn", **options)
    assert [(one.text, one.speaker) for one in found] == [
        ("Guten Tag.", "x/Thorsten"),
        ("Auf Wiedersehen.", "x/Thorsten"),
    ]
    assert [one.audio_path for one in found] == [str(root / "clips/a.flac"), str(root / "clips/b.flac")]


def test_quotes_in_ljspeech_are_text(write: Any, utterances: Any) -> None:
    root = write({"metadata.csv": 'a|"raw|"Keep walking.\nb|raw"|said the guide."\n"c"|r|""quoted""\n'})
    assert [(one.id, one.text) for one in utterances(root, reader="ljspeech", language="eng_Latn")] == [
        ("x/a", '"Keep walking.'),
        ("x/b", 'said the guide."'),
        ('x/"c"', '""quoted""'),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("b", "1 fields, wanted id|text or id|text|normalised text"),
        ("b|raw|text|speaker", "4 fields, wanted id|text or id|text|normalised text"),
        ("|raw|text", "no id"),
        (" |raw|text", "no id"),
    ],
)
def test_a_bad_row_is_rejected_by_file_and_line(write: Any, read: Any, row: str, message: str) -> None:
    root = write({"metadata.csv": f"a|r|one\n\n{row}\nc|r|three\n"})
    _, bad, _ = read(root, reader="ljspeech", language="eng_Latn")
    assert bad == Rejection(
        id="x/metadata.csv:3",
        audio_path="",
        language="eng_Latn",
        stage="corpus",
        reason=Reason.BAD_METADATA_ROW,
        message=f"{root}/metadata.csv line 3: {message}; the row: {row!r}",
    )
