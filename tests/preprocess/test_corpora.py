"""Behaviour that all readers share; the table below lists the readers of text rows."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pydantic
import pytest

from preprocess.corpora import READERS, Source, layout_of, read_corpus
from preprocess.corpora.metadata import MAX_LINE_BYTES
from preprocess.corpora.source import MAX_TEXT_CHARACTERS, audio_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError
from shared.hashing import sort_key

CORPORA = Path(__file__).parents[1] / "corpora"
CML_HEADER = b"wav_filename|wav_filesize|transcript|transcript_wav2vec|levenshtein|duration|num_words|client_id\n"


class Rows(NamedTuple):
    """A reader of text rows: its metadata file, and how to make a row from an id and a text."""

    file: str
    row: bytes
    header: bytes = b""
    options: dict[str, Any] = {}  # noqa: RUF012


ROWS = {
    "aishell3": Rows("train/content.txt", b"%s.wav\t%s pin1"),
    "cml_tts": Rows("train.csv", b"%s.wav|1|%s|t|1|1|1|7", CML_HEADER),
    "common_voice": Rows("validated.tsv", b"c\t%s\t%s", b"client_id\tpath\tsentence\n"),
    "css10": Rows("transcript.txt", b"%s|raw|%s|1.5"),
    "hui": Rows("anna/book/metadata.csv", b"%s|%s"),
    "jsut": Rows("basic5000/transcript_utf8.txt", b"%s:%s"),
    "librispeech": Rows("dev-clean/61/2/61-2.trans.txt", b"%s-2-3 %s"),
    "ljspeech": Rows("metadata.csv", b"%s|raw|%s"),
    "m_ailabs": Rows("by_book/female/anna/book/metadata.csv", b"%s|raw|%s"),
    "mls": Rows("train/transcripts.txt", b"%s_2_3\t%s"),
    "vivos": Rows("train/prompts.txt", b"%s_1 %s"),
    "table": Rows("t.csv", b'"%s","%s"', b"p,t\n", {"file": "t.csv", "columns": {"audio": "p", "text": "t"}}),
}
Write = Callable[[dict[str, bytes]], Path]


@pytest.fixture(params=sorted(ROWS))
def rows(request: pytest.FixtureRequest, write: Write, read: Any) -> Callable[..., list[Utterance | Rejection]]:
    """Reads (id, text) pairs with each reader in turn; an item of bytes is a whole row."""
    reader, dialect = request.param, ROWS[request.param]

    def read_rows(*lines: tuple[bytes, bytes] | bytes, start: bytes = b"", end: bytes = b"\n", **options: Any) -> Any:
        whole = [line if isinstance(line, bytes) else dialect.row % line for line in lines]
        root = write({dialect.file: start + dialect.header + end.join(whole) + end})
        return read(root, reader=reader, language="deu_Latn", **dialect.options, **options)

    return read_rows


@pytest.mark.parametrize("clip", [b"../secret", b"/etc/passwd", b"a/../../b", b"../../../../etc/shadow", b"a\0b"])
def test_an_id_that_leads_out_of_the_corpus_is_rejected_and_the_next_row_is_read(rows: Any, clip: bytes) -> None:
    first, bad, last = rows((b"1", b"one"), (clip, b"two"), (b"3", b"three"))
    assert (first.text, last.text) == ("one", "three")
    assert (bad.stage, bad.reason, bad.audio_path, bad.language) == ("corpus", Reason.UNSAFE_PATH, "", "deu_Latn")
    assert " line " in bad.message


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((b"2", b"caf\xe9"), "not UTF-8: "),
        ((b"\xff\xfe", b"two"), "not UTF-8: "),
        (b"x" * (MAX_LINE_BYTES + 5), "a line of 1048576 bytes or more"),
        ((b"2", b"two\r" * MAX_LINE_BYTES), "a line of 1048576 bytes or more"),
        (b"x" + b"\r" * MAX_LINE_BYTES + b"lost", "a line of 1048576 bytes or more"),
        ((b"n" * 600, b"two"), "is longer than 512 bytes"),
        ((b"n" * 200_000, b"two"), ""),
        (b"nothing", ""),
        (b"|", ""),
        (b":", ""),
        (b"\t", ""),
    ],
)
def test_a_broken_row_is_rejected_by_file_and_line_and_the_next_is_read(rows: Any, row: Any, reason: str) -> None:
    first, *bad, last = rows((b"1", b"one"), row, (b"3", b"three"))
    assert (first.text, last.text) == ("one", "three")
    assert bool(bad) == (row != b"\t")  # tabs alone are a blank line
    if bad:
        assert (len(bad), bad[0].stage, bad[0].reason) == (1, "corpus", Reason.BAD_METADATA_ROW)
        assert reason in bad[0].message
        assert "; the row: " in bad[0].message
        assert len(bad[0].message) < 900


NASTY = [
    b"a",
    b"1_2_3",
    b"1-2-3 ",
    b"|",
    b"\t",
    b":",
    b" ",
    b"..",
    b"/",
    b"\0",
    b"\xff",
    b'"',
    b".wav",
    b"\r",
    b"\xed\xa0\x80",
]


@pytest.mark.parametrize("reader", sorted({*ROWS} - {"hui", "table"}))  # a record of CSV can have many lines
def test_each_row_that_is_not_blank_is_an_utterance_or_a_rejection(reader: str, write: Write, read: Any) -> None:
    pick = random.Random(0)
    lines = [b"".join(pick.choices(NASTY, k=pick.randint(1, 12))) for _ in range(2000)]
    root = write({ROWS[reader].file: ROWS[reader].header + b"\n".join(lines)})
    found = read(root, reader=reader, language="eng_Latn")
    assert len(found) == sum(1 for line in lines if line.strip())
    for one in found:
        assert all(str(value).encode() for value in dataclasses.asdict(one).values() if value)
        assert one.audio_path == "" or Path(one.audio_path).is_relative_to(root)
        assert ".." not in Path(one.audio_path).parts


def test_a_text_of_a_book_is_too_long_for_an_utterance(rows: Any) -> None:
    first, bad, last = rows((b"1", b"one"), (b"2", b"a" * (MAX_TEXT_CHARACTERS + 1)), (b"3", b"three"))
    assert (bad.reason, first.text, last.text) == (Reason.TEXT_TOO_LONG, "one", "three")


def test_byte_order_mark_blank_lines_and_windows_line_ends_are_no_text(rows: Any) -> None:
    found = rows((b"1", b"one"), b"", b"  \t ", (b"2", b"two"), start=b"\xef\xbb\xbf", end=b"\r\n")
    assert [one.text for one in found] == ["one", "two"]


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\u00a0"])
def test_only_a_newline_ends_a_row(sign: str, write: Write, read: Any) -> None:
    for reader, dialect in ROWS.items():
        if reader == "aishell3":  # its text are characters between spaces
            continue
        row = dialect.row % (b"1", f"one{sign}two".encode())
        found = read(write({dialect.file: dialect.header + row}), reader=reader, language="eng_Latn", **dialect.options)
        assert [one.text for one in found] == [f"one{sign}two"]


def test_a_configured_speaker_and_language_replace_the_readers_own(rows: Any) -> None:
    (found,) = rows((b"1", b"one"), speaker="Linda")
    assert (found.speaker, found.language) == ("x/Linda", "deu_Latn")


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_wrong_root_is_reported_with_the_files_that_were_looked_for(reader: str, write: Write, read: Any) -> None:
    root = write({"readme.md": b"another folder"})
    options = ROWS[reader].options if reader in ROWS else {"columns": {"text": "t"}} if reader == "parquet" else {}
    with pytest.raises(UserError, match=rf"sources\.lj: the {reader} reader looked for {root}/.*is root right\?"):
        read(root, reader=reader, language="eng_Latn", name="lj", **options)
    with pytest.raises(UserError, match=r"sources\.lj\.root: no such directory .*/absent; expected the folder"):
        read(root / "absent", reader=reader, language="eng_Latn", name="lj", **options)


@pytest.mark.parametrize("reader", sorted({*ROWS} - {"table"}))
def test_a_folder_in_the_place_of_its_metadata_is_not_read(reader: str, write: Write, read: Any) -> None:
    root = write({f"{ROWS[reader].file}/inside": b""})
    with pytest.raises(UserError, match="looked for"):
        read(root, reader=reader, language="eng_Latn")


@pytest.mark.parametrize("reader", ["cml_tts", "css10", "folder", "ljspeech", "mls", "parquet", "table"])
def test_a_corpus_whose_language_cannot_be_inferred_needs_it_configured(reader: str, write: Write, read: Any) -> None:
    options = {"columns": {"text": "t"}} if reader == "parquet" else {}
    dialect = ROWS.get(reader, Rows("a.wav", b"", options=options))
    root = write({dialect.file: dialect.header})
    with pytest.raises(UserError, match=rf"sources\.lj\.language: missing; the {reader} reader cannot infer it"):
        read(root, reader=reader, name="lj", **dialect.options)


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_reader_documents_its_layout_its_language_and_its_speaker(reader: str) -> None:
    layout = layout_of(reader)
    assert "\nroot/" in layout
    assert "\nLanguage: " in layout
    assert "Speaker: " in layout
    assert all(len(line) <= 120 for line in layout.split("\n"))


@pytest.mark.parametrize(
    ("folder", "reader", "clips"),
    [("english", "ljspeech", 32), ("german/de", "common_voice", 16), ("persian/fa", "common_voice", 16)],
)
def test_the_sample_corpora_have_no_bad_row(folder: str, reader: str, clips: int, utterances: Any) -> None:
    found = utterances(CORPORA / folder, reader=reader, language="eng_Latn")
    assert len(found) == clips
    assert all(Path(one.audio_path).is_file() for one in found)


def test_a_safe_path_stays_below_the_root(tmp_path: Path) -> None:
    for parts in (("wavs", "a.wav"), ("wavs", "b/a.wav"), ("clips", "..a.mp3"), ("clips", "C:\\x.mp3")):
        assert Path(audio_path(tmp_path, *parts)).resolve().is_relative_to(tmp_path.resolve())
    with pytest.raises(Rejected, match="leads out of the corpus"):
        audio_path(tmp_path, "wavs", "../../x.wav")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("reader", "lj_speech", "does not match any of the expected tags: .*'ljspeech'"),
        ("language", "klingon", "unknown language 'klingon'"),
        ("roots", "/data", "Extra inputs are not permitted"),
    ],
)
def test_an_unknown_reader_language_or_key_is_refused(key: str, value: str, message: str) -> None:
    good = {"reader": "ljspeech", "root": "/data", "language": "eng_Latn"}
    with pytest.raises(pydantic.ValidationError, match=message):
        pydantic.TypeAdapter(Source).validate_python(good | {key: value})


def test_max_utterances_chooses_the_first_by_hash_and_names_the_others(rows: Any) -> None:
    everyone = {one.id for one in rows(*((b"%d" % number, b"text") for number in range(100)))}
    found = rows(*((b"%d" % number, b"text") for number in range(100)), b"broken", max_utterances=7)
    chosen = [one.id for one in found if isinstance(one, Utterance)]
    others = [one for one in found if isinstance(one, Rejection)]
    assert sorted(chosen) == sorted(sorted(everyone, key=sort_key)[:7])
    assert {one.id for one in others if one.reason == Reason.NOT_SELECTED} == everyone - set(chosen)
    assert [one.reason for one in others].count(Reason.BAD_METADATA_ROW) == 1
    assert len(found) == 101


def test_more_max_utterances_than_there_are_chooses_all(rows: Any) -> None:
    assert [type(one) for one in rows((b"1", b"one"), (b"2", b"two"), max_utterances=3)] == [Utterance] * 2


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_bytes(b"a|r|one\n" * 50_000)
    source = pydantic.TypeAdapter(Source).validate_python(
        {"reader": "ljspeech", "root": tmp_path, "language": "eng_Latn"}
    )
    elements = read_corpus(source, name="x")
    assert isinstance(elements, Iterator)
    assert isinstance(next(elements), Utterance)
    (tmp_path / "metadata.csv").write_bytes(b"")  # what was not read yet is gone
    assert len(list(elements)) < 49_999


def test_a_choice_among_rows_of_one_id_is_the_same_in_any_order(
    tmp_path: Path, read: Callable[..., list[Utterance | Rejection]]
) -> None:
    rows = ["a|one|one", "a|two|two", "a|two|two", "b|three|three"]
    chosen = []
    for order in (rows, rows[::-1]):
        (tmp_path / "metadata.csv").write_text("\n".join(order) + "\n")
        found = read(tmp_path, reader="ljspeech", language="en", max_utterances=2)
        assert len(found) == 4
        chosen.append(sorted(one.text for one in found if isinstance(one, Utterance)))
    assert chosen[0] == chosen[1]


def test_a_choice_among_rows_that_differ_in_their_split_alone_is_made(
    tmp_path: Path, read: Callable[..., list]
) -> None:
    rows = ["path\tclient_id\tsentence\tlocale\n", "a.mp3\tone\thello\ten\n"]
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.tsv").write_text("".join(rows))
    found = read(tmp_path, reader="common_voice", official_splits=True, max_utterances=1)
    assert [type(one) for one in found].count(Utterance) == 1
    assert len(found) == 3
