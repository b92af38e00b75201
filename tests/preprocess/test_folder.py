from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from preprocess.corpora.sidecar import MAX_TEXT_BYTES
from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError


def reasons(found: list[Utterance | Rejection]) -> dict[str, Reason | None]:
    return {one.id: one.reason if isinstance(one, Rejection) else None for one in found}


def test_audio_is_read_with_the_text_beside_it_in_the_order_of_names(write: Any, utterances: Any) -> None:
    root = write(
        {
            "b/two.WAV": "",
            "b/two.txt": b"\xef\xbb\xbfzwei\r\n",
            "a/deep/one.flac": "",
            "a/deep/one.lab": "eins",
            "a/deep/one.txt": "uno",
            "z.v2.opus": "",
            "z.v2.TXT": "drei",
        }
    )
    found = utterances(root, reader="folder", language="deu_Latn")
    assert [(one.id, one.text, one.speaker) for one in found] == [
        ("x/z.v2", "drei", f"x/{root.name}"),
        ("x/a/deep/one", "eins", "x/deep"),
        ("x/b/two", "zwei", "x/b"),
    ]
    assert all(Path(one.audio_path).is_file() for one in found)


def test_audio_without_text_and_text_without_audio_are_rejected(write: Any, read: Any) -> None:
    root = write({"a.wav": "", "b.txt": "text", "c.wav": "", "c.txt": "text", "notes.md": ""})
    assert reasons(read(root, reader="folder", language="deu_Latn")) == {
        "x/a.wav": Reason.EMPTY_TEXT,
        "x/b.txt": Reason.MISSING_AUDIO,
        "x/c": None,
    }


def test_two_recordings_of_one_name_have_one_id_in_the_order_of_their_names(write: Any, utterances: Any) -> None:
    root = write({"a.wav": "", "a.flac": "", "a.txt": "text"})
    found = utterances(root, reader="folder", language="deu_Latn")
    assert [(one.id, Path(one.audio_path).name) for one in found] == [("x/a", "a.flac"), ("x/a", "a.wav")]


def test_hidden_files_links_in_a_ring_and_pipes_are_not_read(write: Any, read: Any) -> None:
    root = write({"a/a.wav": "", "a/a.txt": "text", "a/._a.wav": "", ".cache/b.wav": "", ".cache/b.txt": "text"})
    (root / "a/ring").symlink_to(root)
    (root / "a/self.wav").symlink_to(root / "a/self.wav")
    (root / "a/gone.txt").symlink_to(root / "absent")
    os.mkfifo(root / "a/pipe.txt")
    assert reasons(read(root, reader="folder", language="deu_Latn")) == {"x/a/a": None}


def test_a_book_beside_a_clip_is_too_long_and_other_bytes_are_no_text(write: Any, read: Any) -> None:
    root = write(
        {
            **{f"{name}.wav": "" for name in ("book", "latin", "long")},
            "book.txt": b"a" * (MAX_TEXT_BYTES + 1),
            "latin.txt": b"caf\xe9",
            "long.txt": b"a" * 10_001,
        }
    )
    assert reasons(read(root, reader="folder", language="deu_Latn")) == {
        "x/book.wav": Reason.TEXT_TOO_LONG,
        "x/latin.wav": Reason.BAD_METADATA_ROW,
        "x/long.wav": Reason.TEXT_TOO_LONG,
    }


def test_a_name_that_is_not_utf_8_is_rejected_in_words_that_can_be_written_down(tmp_path: Path, read: Any) -> None:
    for suffix in (b".wav", b".txt"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9" + suffix)).write_bytes(b"text")
    (bad,) = read(tmp_path, reader="folder", language="deu_Latn")
    assert bad.reason == Reason.UNSAFE_PATH
    assert bad.id == "x/caf\\udce9.wav"
    assert f"{bad.audio_path}{bad.message}".encode()


def test_a_folder_without_audio_is_reported_with_the_suffixes_that_were_looked_for(write: Any, read: Any) -> None:
    with pytest.raises(UserError, match=r"the folder reader looked for .*/\*\*/\*\.wav or .*\.flac"):
        read(write({"a.txt": "text"}), reader="folder", language="deu_Latn")


def test_a_telephones_recording_beside_what_it_was_converted_to_is_left_out(write: Any, read: Any) -> None:
    files = ["a.m4a", "a.wav", "b.webm", "c.3gp", "c.FLAC", "d.amr", "film.mp4"]
    texts = {f"{name}.txt": "words" for name in "abcd"}
    root = write({"anna/" + name: content for name, content in {**dict.fromkeys(files, ""), **texts}.items()})
    found = read(root, reader="folder", language="eng_Latn")
    assert [Path(one.audio_path).name for one in found] == ["a.wav", "b.webm", "c.FLAC", "d.amr"]
