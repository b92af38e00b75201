from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError

KALDI = {"reader": "kaldi", "audio_root": "/disk"}
GOOD = {
    "wav.scp": "a wav/a.wav\nb /disk/b with a blank.wav\n",
    "text": "a EINS  ZWEI\nb DREI\n",
    "utt2spk": "a anna\nb bert\n",
    "utt2lang": "a deu_Latn\nb nld_Latn\n",
}


def reasons(found: list[Utterance | Rejection]) -> list[Reason | None]:
    return [one.reason if isinstance(one, Rejection) else None for one in found]


def test_the_files_are_joined_by_id(write: Any, utterances: Any) -> None:
    root = write(GOOD)
    assert utterances(root, **KALDI) == [
        Utterance(id="x/a", audio_path=f"{root}/wav/a.wav", text="EINS  ZWEI", language="deu_Latn", speaker="x/anna"),
        Utterance(id="x/b", audio_path="/disk/b with a blank.wav", text="DREI", language="nld_Latn", speaker="x/bert"),
    ]


def test_the_join_equals_that_of_dictionaries(write: Any, utterances: Any) -> None:
    ids = sorted((f"s{number % 7}-é{number}" for number in range(300)), key=str.encode)
    files = {file: "".join(f"{one} {file}.{one}\n" for one in ids) for file in ("wav.scp", "text", "utt2spk")}
    found = utterances(write(files), **KALDI, language="eng_Latn")
    assert [(one.id, one.text, one.speaker) for one in found] == [
        (f"x/{one}", f"text.{one}", f"x/utt2spk.{one}") for one in ids
    ]


@pytest.mark.parametrize("command", ["sox a.wav -t wav - |", "| touch pwned", "touch pwned |", "touch pwned|"])
def test_a_command_is_rejected_and_never_run(
    command: str, write: Any, read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = write(GOOD | {"wav.scp": f"a {command}\nb b.wav\n"})
    bad, good = read(root, **KALDI)
    assert (bad.reason, bad.id) == (Reason.UNSAFE_PATH, "x/wav.scp:1")
    assert "a command here, which is never run" in bad.message
    assert isinstance(good, Utterance)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("wav.scp", b"a ../../etc/a.wav\nb b.wav\n", Reason.UNSAFE_PATH),
        ("wav.scp", b"a a\0.wav\nb b.wav\n", Reason.UNSAFE_PATH),
        ("wav.scp", b"a\nb b.wav\n", Reason.BAD_METADATA_ROW),
        ("wav.scp", b"b b.wav\n", Reason.MISSING_AUDIO),
        ("text", b"b DREI\n", Reason.EMPTY_TEXT),
        ("text", b"a caf\xe9\nb DREI\n", Reason.BAD_METADATA_ROW),
        ("text", b"a " + b"x" * (1 << 20) + b"\nb DREI\n", Reason.BAD_METADATA_ROW),
        ("utt2spk", b"b bert\n", Reason.BAD_METADATA_ROW),
        ("utt2lang", b"a tlh\nb nld_Latn\n", Reason.UNKNOWN_LANGUAGE),
        ("utt2lang", b"b nld_Latn\n", Reason.UNKNOWN_LANGUAGE),
    ],
)
def test_an_id_that_is_missing_or_broken_in_one_file_is_rejected_and_the_next_is_read(
    file: str, content: bytes, reason: Reason, write: Any, read: Any
) -> None:
    assert reasons(read(write(GOOD | {file: content}), **KALDI)) == [reason, None]


def test_rows_out_of_order_or_twice_are_rejected_each_by_its_line(write: Any, read: Any) -> None:
    root = write(GOOD | {"text": "b DREI\na EINS\nb VIER\n"})
    found = read(root, **KALDI)
    assert [one.id for one in found] == ["x/wav.scp:1", "x/text:2", "x/text:3", "x/b"]
    assert reasons(found) == [Reason.EMPTY_TEXT, Reason.BAD_METADATA_ROW, Reason.DUPLICATE_ID, None]
    assert "LC_ALL=C sort" in found[1].message


def test_byte_order_marks_and_windows_line_ends_are_no_text(write: Any, utterances: Any) -> None:
    root = write({file: b"\xef\xbb\xbf" + rows.replace("\n", "\r\n").encode() for file, rows in GOOD.items()})
    assert [(one.id, one.text) for one in utterances(root, **KALDI)] == [("x/a", "EINS  ZWEI"), ("x/b", "DREI")]


def test_absolute_paths_are_below_root_or_below_audio_root_alone(write: Any, read: Any, tmp_path: Path) -> None:
    paths = [f"{tmp_path}/data/a.wav", f"{tmp_path}/sound/b.wav", "/etc/passwd", f"{tmp_path}/data/../../c.wav"]
    rows = [f"{number} {path}" for number, path in enumerate(paths)]
    files = {"wav.scp": rows, "text": [f"{number} EINS" for number in range(len(rows))]}
    write({f"data/{file}": "".join(f"{row}\n" for row in content) for file, content in files.items()})
    options = {"reader": "kaldi", "speaker": "anna", "language": "deu_Latn"}
    own = read(tmp_path / "data", **options)
    assert reasons(own) == [None, *[Reason.UNSAFE_PATH] * 3]
    assert f"is not below audio_root, {tmp_path}/data; expected a folder above the recordings" in own[1].message
    write({"data/wav.scp": f"0 {tmp_path}/data/a.wav\n1 {tmp_path}/data/b\x01.wav\n2 x.wav\n3 y.wav\n"})
    assert "'b\\x01.wav' is not printable" in read(tmp_path / "data", **options)[1].message
    write({"data/wav.scp": "".join(f"{row}\n" for row in rows)})
    both = read(tmp_path / "data", **options, audio_root=tmp_path)
    assert reasons(both) == [None, None, Reason.UNSAFE_PATH, Reason.UNSAFE_PATH]
    assert [one.audio_path for one in both[:2]] == paths[:2]


SEGMENTED = GOOD | {"wav.scp": "r1 wav/r1.flac\nr2 /disk/r2.flac\n", "segments": "a r1 12.5 17.25\nb r2 0 -1\n"}


def test_segments_are_parts_of_the_recordings_of_wav_scp(write: Any, utterances: Any) -> None:
    root = write(SEGMENTED)
    assert [(one.id, one.audio_path, one.text, one.speaker) for one in utterances(root, **KALDI)] == [
        ("x/a", f"{root}/wav/r1.flac#t=12.5,17.25", "EINS  ZWEI", "x/anna"),
        ("x/b", "/disk/r2.flac#t=0", "DREI", "x/bert"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"segments": "a r3 1 2\nb r2 0 -1\n"}, Reason.MISSING_AUDIO, "no recording 'r3' in wav.scp"),
        ({"segments": "b r2 0 -1\n"}, Reason.MISSING_AUDIO, "no such id in segments"),
        ({"segments": "a r1 2 1\nb r2 0 -1\n"}, Reason.BAD_METADATA_ROW, "from 2 s to 1 s: no part of a recording"),
        ({"segments": "a r1 0 -2\nb r2 0 -1\n"}, Reason.BAD_METADATA_ROW, "no part of a recording"),
        ({"segments": "a r1 zero 1\nb r2 0 -1\n"}, Reason.BAD_METADATA_ROW, "its start is 'zero', expected seconds"),
        ({"segments": "a r1 1_0 20\nb r2 0 -1\n"}, Reason.BAD_METADATA_ROW, "no part of a recording"),
        ({"segments": "a r1 0 1 A\nb r2 0 -1\n"}, Reason.BAD_METADATA_ROW, "4 fields after the id, expected 3"),
        ({"wav.scp": "r1 sox a |\nr2 /disk/r2.flac\n"}, Reason.UNSAFE_PATH, "a command here, which is never run"),
        ({"wav.scp": "r1 ../a.wav\nr2 /disk/r2.flac\n"}, Reason.UNSAFE_PATH, "leads out of the corpus"),
        ({"wav.scp": "r1 a.wav#t=1,2\nr2 /disk/r2.flac\n"}, Reason.UNSAFE_PATH, "as the path of a part of a file does"),
    ],
)
def test_a_segment_without_its_part_of_a_recording_is_rejected_and_the_next_is_read(
    changes: dict[str, str], reason: Reason, message: str, write: Any, read: Any
) -> None:
    bad, good = read(write(SEGMENTED | changes), **KALDI)
    assert (bad.reason, good.id) == (reason, "x/b")
    assert message in bad.message


def test_utt2spk_and_utt2lang_are_not_needed_where_both_are_configured(write: Any, utterances: Any) -> None:
    root = write({file: GOOD[file] for file in ("wav.scp", "text")})
    found = utterances(root, **KALDI, speaker="anna", language="deu_Latn")
    assert {(one.speaker, one.language) for one in found} == {("x/anna", "deu_Latn")}
    with pytest.raises(UserError, match=r"looked for .*/utt2lang, which is not there"):
        utterances(root, **KALDI, speaker="anna")
