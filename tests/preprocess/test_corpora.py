from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pydantic
import pytest

from preprocess.corpora import READERS, read_corpus
from preprocess.corpora.source import SourceConfig, audio_path
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

CORPORA = Path(__file__).parents[1] / "corpora"
CLIENT = "53e9ae989566b4a16ba65e4ce8cf6b3c347598cfa1d3fb24773e3251a58f8a36"
Write = Callable[[str | bytes], SourceConfig]


def source_of(root: Path, *, reader: str, language: str = "eng_Latn", speaker: str | None = None) -> SourceConfig:
    return SourceConfig.model_validate({"reader": reader, "root": root, "language": language, "speaker": speaker})


def read(source: SourceConfig, *, name: str = "x") -> list[Utterance | Rejection]:
    return list(read_corpus(source, name=name))


def utterances(source: SourceConfig, *, name: str = "x") -> list[Utterance]:
    return [one for one in read(source, name=name) if isinstance(one, Utterance)]


@pytest.fixture
def ljspeech(tmp_path: Path) -> Write:
    """A corpus with this metadata.csv."""

    def write(metadata: str | bytes) -> SourceConfig:
        (tmp_path / "metadata.csv").write_bytes(metadata.encode() if isinstance(metadata, str) else metadata)
        return source_of(tmp_path, reader="ljspeech")

    return write


@pytest.fixture
def common_voice(tmp_path: Path) -> Write:
    """A corpus with this validated.tsv."""

    def write(metadata: str | bytes) -> SourceConfig:
        (tmp_path / "validated.tsv").write_bytes(metadata.encode() if isinstance(metadata, str) else metadata)
        return source_of(tmp_path, reader="common_voice")

    return write


def test_ljspeech_itself_is_read_to_the_last_row(reference: Path) -> None:
    root = reference / "corpora/LJSpeech-1.1"
    found = utterances(source_of(root, reader="ljspeech"), name="lj")
    rows = (root / "metadata.csv").read_text("utf-8").split("\n")[:-1]
    assert [f"{one.id.removeprefix('lj/')}" for one in found] == [row.split("|")[0] for row in rows]
    assert [one.text for one in found] == [row.split("|")[2] for row in rows]
    assert {(one.language, one.speaker) for one in found} == {("eng_Latn", "lj/LJ")}
    assert all(Path(one.audio_path).is_file() for one in found)


@pytest.mark.parametrize(
    ("folder", "reader", "clips"),
    [("english", "ljspeech", 32), ("german/de", "common_voice", 16), ("persian/fa", "common_voice", 16)],
)
def test_the_sample_corpora_have_no_bad_row(folder: str, reader: str, clips: int) -> None:
    found = read(source_of(CORPORA / folder, reader=reader))
    assert len(found) == clips
    assert all(isinstance(one, Utterance) and Path(one.audio_path).is_file() for one in found)


def test_quotes_in_ljspeech_are_text(ljspeech: Write) -> None:
    found = utterances(ljspeech('a|"raw|"Keep walking.\nb|raw"|said the guide."\n"c"|r|""quoted""\n'))
    assert [(one.id, one.text) for one in found] == [
        ("x/a", '"Keep walking.'),
        ("x/b", 'said the guide."'),
        ('x/"c"', '""quoted""'),
    ]


def test_byte_order_mark_blank_lines_and_windows_line_ends_are_no_text(ljspeech: Write) -> None:
    found = read(ljspeech(b"\xef\xbb\xbfa|r|one\r\n\r\n\n  \t\nb|r|two"))
    assert [(one.id, one.text) for one in found if isinstance(one, Utterance)] == [("x/a", "one"), ("x/b", "two")]
    assert len(found) == 2


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x85", "\r"])
def test_only_a_newline_ends_a_row(ljspeech: Write, sign: str) -> None:
    assert [one.text for one in utterances(ljspeech(f"a|r|one{sign}two\nb|r|three\n"))] == [f"one{sign}two", "three"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"b", "1 fields, wanted id|text|normalised text"),
        (b"b|raw", "2 fields, wanted id|text|normalised text"),
        (b"b|raw|text|speaker", "4 fields, wanted id|text|normalised text"),
        (b"|raw|text", "3 fields, wanted id|text|normalised text"),
        (b" |raw|text", "3 fields, wanted id|text|normalised text"),
        (b"b|raw|caf\xe9", "not UTF-8: "),
        (b"b|\xff\xfe|text", "not UTF-8: "),
    ],
)
def test_a_bad_row_is_rejected_by_file_and_line_and_the_next_is_read(ljspeech: Write, row: bytes, message: str) -> None:
    source = ljspeech(b"a|r|one\n\n" + row + b"\nc|r|three\n")
    first, bad, last = read(source)
    assert isinstance(first, Utterance)
    assert isinstance(last, Utterance)
    assert isinstance(bad, Rejection)
    assert (bad.id, bad.stage, bad.reason) == ("x/metadata.csv:3", "corpus", Reason.BAD_METADATA_ROW)
    assert bad.message.startswith(f"{source.root}/metadata.csv line 3: {message}")


@pytest.mark.parametrize("stem", ["../secret", "/etc/passwd", "a/../../b", "..", "a\0b", "../../../../etc/shadow"])
def test_an_id_that_leads_out_of_the_corpus_is_rejected(
    ljspeech: Write, stem: str, request: pytest.FixtureRequest
) -> None:
    (bad,) = read(ljspeech(f"{stem}|r|text\n")) if stem != ".." else read(ljspeech("../..|r|text\n"))
    assert isinstance(bad, Rejection)
    assert (bad.stage, bad.reason, bad.audio_path) == ("corpus", Reason.UNSAFE_PATH, "")
    assert "metadata.csv line 1: " in bad.message
    common_voice: Write = request.getfixturevalue("common_voice")
    (bad,) = read(common_voice(f"client_id\tpath\tsentence\n{CLIENT}\t{stem}\ttext\n"))
    assert isinstance(bad, Rejection)
    assert bad.reason == Reason.UNSAFE_PATH


def test_a_safe_path_stays_below_the_root(tmp_path: Path) -> None:
    for parts in (("wavs", "a.wav"), ("wavs", "b/a.wav"), ("clips", "..a.mp3"), ("clips", "C:\\x.mp3")):
        assert Path(audio_path(tmp_path, *parts)).resolve().is_relative_to(tmp_path.resolve())
    with pytest.raises(Rejected, match="leads out of the corpus"):
        audio_path(tmp_path, "wavs", "../../x.wav")


def test_a_configured_speaker_replaces_the_readers_own(tmp_path: Path) -> None:
    (tmp_path / "metadata.csv").write_text("a|r|text\n")
    (tmp_path / "validated.tsv").write_text(f"client_id\tpath\tsentence\n{CLIENT}\ta.mp3\ttext\n")
    for reader in READERS:
        (found,) = utterances(source_of(tmp_path, reader=reader, speaker="Linda"), name="lj")
        assert found.speaker == "lj/Linda"


@pytest.mark.parametrize(("locale", "language", "clips"), [("en", "eng_Latn", 40), ("fa", "pes_Arab", 48)])
def test_common_voice_is_read_with_its_old_and_its_new_header(
    locale: str, language: str, clips: int, reference: Path
) -> None:
    root = reference / f"corpora/common_voice_{locale}/{locale}"
    found = read(source_of(root, reader="common_voice", language=language), name="cv")
    lines = [line.split("\t") for line in (root / "validated.tsv").read_text("utf-8").split("\n")[1:-1]]
    assert len(found) == len(lines) == clips
    for one, (client, path, sentence, *_) in zip(found, lines, strict=True):
        assert isinstance(one, Utterance)
        assert (one.text, one.speaker, one.language) == (sentence, f"cv/{client[:16]}", language)
        assert one.id == f"cv/{path.removesuffix('.mp3')}"
        assert Path(one.audio_path) == root / "clips" / path
        assert Path(one.audio_path).is_file()


def test_common_voice_finds_its_columns_by_name(common_voice: Write) -> None:
    source = common_voice(f'\ufeffsentence\tage\tpath\tclient_id\r\nHallo "Welt"\t\ta.mp3\t{CLIENT}\r\n\n\r\n')
    (one,) = read(source)
    assert one == Utterance(
        id="x/a",
        audio_path=str(source.root / "clips/a.mp3"),
        text='Hallo "Welt"',
        language="eng_Latn",
        speaker=f"x/{CLIENT[:16]}",
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"{CLIENT}\ta.mp3", "2 of 3 fields, no sentence"),
        (CLIENT, "1 of 3 fields, no path, sentence"),
        (f"{CLIENT}\ta.mp3\t ", "3 of 3 fields, no sentence"),
        ("\ta.mp3\ttext", "3 of 3 fields, no client_id"),
        (b"c\ta.mp3\t\xff", "not UTF-8: "),
    ],
)  # fmt: skip
def test_a_short_row_of_common_voice_is_rejected_by_file_and_line(
    common_voice: Write, row: str | bytes, message: str
) -> None:
    raw = row.encode() if isinstance(row, str) else row
    bad, good = read(common_voice(b"client_id\tpath\tsentence\n" + raw + b"\nc\tb.mp3\ttext"))
    assert isinstance(bad, Rejection)
    assert isinstance(good, Utterance)
    assert (bad.id, bad.stage, bad.reason) == ("x/validated.tsv:2", "corpus", Reason.BAD_METADATA_ROW)
    assert f"validated.tsv line 2: {message}" in bad.message


@pytest.mark.parametrize("header", ["", "client_id\tpath\n", "a,b,c\n", "\xff\n"])
def test_another_header_than_common_voices_is_refused(common_voice: Write, header: str) -> None:
    with pytest.raises(
        UserError, match=r"validated\.tsv: no column .*sentence in its header; wanted Common Voice's TSV"
    ):
        read(common_voice(header.encode("latin-1")))


@pytest.mark.parametrize(("reader", "file"), [("ljspeech", "metadata.csv"), ("common_voice", "validated.tsv")])
def test_missing_metadata_is_named(reader: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"sources\.lj: the {reader} reader looked for .*/{file}, which is not there"):
        read(source_of(tmp_path, reader=reader), name="lj")
    (tmp_path / file).mkdir()
    with pytest.raises(UserError, match=rf"looked for .*/{file}, which is not there; is root right\?"):
        read(source_of(tmp_path, reader=reader), name="lj")


def test_a_missing_root_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"sources\.lj\.root: no such directory .*/absent; wanted the folder of the corpus"
    ):
        read(source_of(tmp_path / "absent", reader="ljspeech"), name="lj")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("reader", "vctk", "Input should be 'common_voice' or 'ljspeech'"),
        ("language", "english", "unknown language 'english': wanted a FLORES-200 code such as "),
        ("roots", "/data", "Extra inputs are not permitted"),
    ],
)
def test_an_unknown_reader_language_or_key_is_refused(key: str, value: str, message: str) -> None:
    good = {"reader": "ljspeech", "root": "/data", "language": "eng_Latn"}
    with pytest.raises(pydantic.ValidationError, match=message):
        SourceConfig.model_validate(good | {key: value})


def test_the_readers_that_a_config_may_name_are_the_readers_there_are() -> None:
    assert all(source_of(Path("/data"), reader=reader).reader == reader for reader in READERS)
