"""Tars of WebDataset: recordings are found by their bytes, and what is no sample is rejected."""

from __future__ import annotations

import io
import json
import tarfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from preprocess.audio_file import read_audio_file
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

SAID = {"text": " Yes, sir. ", "speaker": "EN_B0_S0", "language": "en", "dnsmos": 3.2}
OPTIONS = {"reader": "webdataset"}


def tar(members: Iterable[tuple[str, bytes | str | dict[str, Any]]], *, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of these members, as Python's own writer makes it."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name, content in members:
            data = json.dumps(content) if isinstance(content, dict) else content
            data = data.encode() if isinstance(data, str) else data
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_recordings_are_read_where_they_lie(form: int, write: Any, utterances: Any) -> None:
    long = "EN/" + "x" * 90 + "_2"
    first = tar(
        [("EN_1.json", SAID), ("EN_1.mp3", b"one"), (f"{long}.flac", b"two!"), (f"{long}.json", SAID)], form=form
    )
    root = write(
        {"EN/b-000.tar": first, "EN/b-001.tar": tar([("3.seg.WAV", b"3"), ("3.txt", "Three."), ("3.json", SAID)])}
    )
    found = utterances(root, **OPTIONS)
    assert [one.id for one in found] == ["x/EN_1", f"x/{long}", "x/3"]
    assert [read_audio_file(one.audio_path) for one in found] == [b"one", b"two!", b"3"]
    assert [one.text for one in found] == [" Yes, sir. ", " Yes, sir. ", "Three."]
    assert {(one.speaker, one.language) for one in found} == {("x/EN_B0_S0", "eng_Latn")}
    assert found[0].audio_path.startswith(f"{root}/EN/b-000.tar#bytes=")


def test_files_and_keys_are_chosen(write: Any, utterances: Any) -> None:
    said = {"sentence": "Ja.", "who": 7, "text": "no"}
    root = write({f"{name}/a.tar": tar([(f"{name}.wav", b"."), (f"{name}.json", said)]) for name in ("DE", "EN")})
    (one,) = utterances(root, **OPTIONS, files="DE/*.tar", text="sentence", speaker_key="who", language="de")
    assert (one.id, one.text, one.speaker) == ("x/DE", "Ja.", "x/7")


@pytest.mark.parametrize(
    ("members", "reason", "message"),
    [
        ([("a.txt", "A.")], Reason.MISSING_AUDIO, "0 recordings among txt"),
        ([("a.l.wav", b"1"), ("a.r.wav", b"1"), ("a.txt", "A.")], Reason.BAD_METADATA_ROW, "2 recordings among l.wav"),
        ([(f"a.{number}.txt", "A.") for number in range(1000)], Reason.BAD_METADATA_ROW, "64 members or more"),
        ([("a.wav", b""), ("a.txt", "A.")], Reason.EMPTY_AUDIO, "the recording has no bytes"),
        ([("a.wav", b"1"), ("a.json", "{")], Reason.BAD_METADATA_ROW, "not JSON"),
        ([("a.wav", b"1"), ("a.json", "[" * 100_000)], Reason.BAD_METADATA_ROW, "not JSON"),
        ([("a.wav", b"1"), ("a.json", {"text": ["A."]})], Reason.BAD_METADATA_ROW, "'text' is a list, expected text"),
        ([("a.wav", b"1"), ("a.json", " " * (1 << 21))], Reason.TEXT_TOO_LONG, "the json has over 1048576 bytes"),
        ([("a.wav", b"1"), ("a.txt", b"caf\xe9")], Reason.BAD_METADATA_ROW, "not UTF-8"),
        ([("../a.wav", b"1"), ("../a.txt", "A.")], Reason.UNSAFE_PATH, "leads out of the corpus"),
        ([("/etc/a.wav", b"1"), ("/etc/a.txt", "A.")], Reason.UNSAFE_PATH, "leads out of the corpus"),
    ],
)
def test_a_key_that_is_no_sample_is_rejected_and_the_next_is_read(
    members: list[tuple[str, Any]], reason: Reason, message: str, write: Any, read: Any
) -> None:
    root = write({"a.tar": tar([*members, ("b.wav", b"1"), ("b.txt", "B.")])})
    bad, good = read(root, **OPTIONS, language="en")
    assert (bad.reason, good.id) == (reason, "x/b")
    assert message in bad.message


def test_links_in_a_tar_lead_nowhere(write: Any, read: Any) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"{kind.decode()}.wav")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    found = read(write({"a.tar": file.getvalue()}), **OPTIONS, language="en")
    assert [one.reason for one in found] == [Reason.UNSAFE_PATH] * 4


def test_a_tar_that_is_cut_off_gives_what_is_whole_and_one_rejection(write: Any, read: Any) -> None:
    members = [(f"{name}.{kind}", b"1" * 700) for name in "abcde" for kind in ("wav", "txt")]
    data = tar(members)
    sample_bytes = 2 * 3 * tarfile.BLOCKSIZE  # a header and two blocks of each member
    for size in (*range(0, 5 * sample_bytes, 300), *(sample_bytes * count for count in range(6))):
        *good, bad = read(write({"a.tar": data[:size]}), **OPTIONS, language="en")
        assert isinstance(bad, Rejection)
        assert bad.id == "x/a.tar"
        assert [one.id for one in good] == [f"x/{name}" for name in "abcde"][: len(good)]
        assert len(good) >= size // sample_bytes - 1
    whole = read(write({"a.tar": data}), **OPTIONS, language="en")
    assert [isinstance(one, Utterance) for one in whole] == [True] * 5


def test_a_recording_behind_the_end_of_its_tar_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(bytes(100))
    with pytest.raises(Rejected, match="40 of 50 bytes: the archive is cut off"):
        read_audio_file(f"{tmp_path}/a.tar#bytes=60-109")
    assert read_audio_file(f"{tmp_path}/a.tar#bytes=60-99") == bytes(40)


def with_size(data: bytes, *, name: str, size: int) -> bytes:
    """The tar with another size in the header of a member, in base 256 as GNU writes large ones."""
    place = data.index(name.encode())
    header = bytearray(data[place : place + tarfile.BLOCKSIZE])
    header[124:136] = tarfile.itn(size, 12, tarfile.GNU_FORMAT)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return data[:place] + bytes(header) + data[place + tarfile.BLOCKSIZE :]


@pytest.mark.parametrize("size", [-512, -1024, -1, 1 << 40, 1 << 62])
def test_a_size_that_no_member_has_ends_the_reading_of_its_tar(size: int, write: Any, read: Any) -> None:
    data = tar([("a.wav", b"1"), ("a.txt", "A."), ("b.wav", b"1"), ("b.txt", "B.")])
    for name in ("a.txt", "b.txt"):
        *good, bad = read(write({"a.tar": with_size(data, name=name, size=size)}), **OPTIONS, language="en")
        assert (bad.reason, bad.id) == (Reason.BAD_METADATA_ROW, "x/a.tar")
        assert len(good) <= 1


def test_what_follows_the_end_of_a_tar_is_told(write: Any, read: Any) -> None:
    one, two = (tar([(f"{name}.wav", b"1"), (f"{name}.txt", "T.")]) for name in "ab")
    good, bad = read(write({"a.tar": one + two}), **OPTIONS, language="en")
    assert (good.id, bad.id) == ("x/a", "x/a.tar")
    assert bad.message.endswith("more follows after its end")


def test_files_that_macos_adds_are_no_samples(write: Any, utterances: Any) -> None:
    names = ("._a.wav", "a.wav", "._a.txt", "a.txt", ".DS_Store", "sub/._b.wav", "sub/b.wav", "sub/b.txt")
    found = utterances(write({"a.tar": tar((name, b"1") for name in names)}), **OPTIONS, language="en")
    assert [(one.id, one.text) for one in found] == [("x/a", "1"), ("x/sub/b", "1")]


def test_a_text_file_goes_before_any_key_and_may_have_a_mark(write: Any, utterances: Any) -> None:
    said = "\ufeff" + json.dumps({"transcript": "raw"})
    members = [("a.wav", b"1"), ("a.json", said), ("a.txt", "\ufeffclean"), ("b.wav", b"1"), ("b.json", said)]
    found = utterances(write({"a.tar": tar(members)}), **OPTIONS, language="en", text="transcript")
    assert [one.text for one in found] == ["clean", "raw"]


def test_keys_that_begin_anew_in_each_tar_are_told_apart(write: Any, utterances: Any) -> None:
    data = tar([("000.wav", b"1"), ("000.txt", "T.")])
    root = write({"EN/a.tar": data, "EN/b.tar": data})
    found = utterances(root, **OPTIONS, language="en", tar_in_id=True)
    assert [one.id for one in found] == ["x/EN/a/000", "x/EN/b/000"]


@pytest.mark.parametrize("data", [b"", b"no tar", bytes(1 << 16), b"\x1f\x8b" + bytes(1000)])
def test_what_is_no_tar_is_one_rejection(data: bytes, write: Any, read: Any) -> None:
    (bad,) = read(write({"a.tar": data}), **OPTIONS, language="en")
    assert (bad.reason, bad.id) == (Reason.BAD_METADATA_ROW, "x/a.tar")


def test_names_of_gigabytes_cost_no_memory(write: Any, read: Any, tmp_path: Path) -> None:
    root = write({"a.tar": b""})
    for kind in (b"x", b"g", b"L", b"K"):
        info = tarfile.TarInfo("././@LongLink")
        info.type, info.size = kind, 3 << 30
        with (tmp_path / "a.tar").open("wb") as file:
            file.write(info.tobuf(tarfile.GNU_FORMAT))
            file.truncate(4 << 30)  # sparse: it costs no disk
        tracemalloc.start()
        try:
            (bad,) = read(root, **OPTIONS, language="en")
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()
        assert bad.reason == Reason.BAD_METADATA_ROW


def test_a_folder_without_tars_is_no_corpus(write: Any, read: Any) -> None:
    with pytest.raises(UserError, match=r"the webdataset reader looked for .*\*\.tar"):
        read(write({"a.wav": b""}), **OPTIONS)
