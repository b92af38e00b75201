"""Files of texts: plain lines and tables, and one line for each mistake in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import UserError
from trainer.speech import lines
from trainer.speech.lines import Line, read_lines


def written(folder: Path, content: str | bytes, *, name: str = "texts.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_each_line_with_text_is_a_text_named_by_its_number(tmp_path: Path) -> None:
    found = read_lines(written(tmp_path, "\ufeffGood morning.\r\n\n  How are you? \n"))
    assert found == [Line("000001", "Good morning."), Line("000003", "How are you?")]


def test_rows_of_a_table_without_text_are_named(tmp_path: Path) -> None:
    said: list[str] = []
    path = written(tmp_path, "id,text\na,Good day.\nb,\nc,  \n", name="texts.csv")
    assert [line.id for line in read_lines(path, log=said.append)] == ["a"]
    assert said == [f"{path}: no text for b, c"]


def test_a_table_names_texts_languages_and_voices(tmp_path: Path) -> None:
    table = 'voice,text,id\nAnna,"Hello, ""you""!",a-1\n,Bye.,\n'
    assert read_lines(written(tmp_path, table, name="texts.csv")) == [
        Line("a-1", 'Hello, "you"!', None, "Anna"),
        Line("000002", "Bye."),
    ]
    tabs = "text\tlanguage\nHallo.\tde\n"
    assert read_lines(written(tmp_path, tabs, name="texts.TSV")) == [Line("000001", "Hallo.", "de")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "no text in it"),
        ("a.txt", "\n \n", "no text in it"),
        ("a.txt", b"caf\xe9", "not UTF-8 "),
        ("a.csv", "words\nHello.\n", "columns words; expected text, and any of id, language, voice"),
        ("a.csv", "text,speed\nHello.,2\n", "columns text, speed; expected"),
        ("a.csv", "", "columns none; expected"),
        ("a.csv", "id,text\na\n", "row 1 has not as many cells as the header"),
        ("a.csv", "id,text\na,Hello.,c\n", "row 1 has not as many cells as the header"),
        ("a.csv", "id,text\na,One.\nA,Two.\n", "id A stands there twice"),
        ("a.csv", "id,text\n../up,One.\n", "id '../up' cannot name a file"),
        ("a.csv", "id,text\n.hidden,One.\n", "id '.hidden' cannot name a file"),
        ("a.csv", "id,text\na/b,One.\n", "id 'a/b' cannot name a file"),
        ("a.csv", 'id,text\na,"One.\n', "cannot be read"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(UserError, match=message.replace(".", r"\.")):
        read_lines(written(tmp_path, content, name=name))


def test_an_absent_file_and_files_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_lines(tmp_path / "nowhere.txt")
    monkeypatch.setattr(lines, "MAX_LINES", 2)
    with pytest.raises(UserError, match="more than 2 texts"):
        read_lines(written(tmp_path, "a\nb\nc\n"))
    monkeypatch.setattr(lines, "MAX_CHARACTERS", 3)
    with pytest.raises(UserError, match="text 1 has 5 characters, expected at most 3"):
        read_lines(written(tmp_path, "abcd\n"))
