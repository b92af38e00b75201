"""Manifests of NeMo and lhotse, and Emilia's JSON files: read, whole recordings and parts."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError


def lines(*rows: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def cut(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A cut as lhotse 1.33 writes it; `changes` replace values by their paths, such as recording__duration."""
    made: dict[str, Any] = {
        "id": f"c-{number}",
        "start": 0,
        "duration": 2.5,
        "channel": 0,
        "supervisions": [
            {
                "id": f"s-{number}",
                "recording_id": f"r-{number}",
                "start": 0.0,
                "duration": 2.5,
                "channel": 0,
                "text": "EINS ZWEI",
                "language": "German",
                "speaker": "anna",
            }
        ],
        "recording": {
            "id": f"r-{number}",
            "sources": [{"type": "file", "channels": [0], "source": f"wav/{number}.wav"}],
            "sampling_rate": 16000,
            "num_samples": 40000,
            "duration": 2.5,
            "channel_ids": [0],
        },
        "type": "MonoCut",
    }
    for path, value in changes.items():
        place: Any = made
        *parents, last = path.split("__")
        for parent in parents:
            place = place[int(parent) if parent.isdecimal() else parent]
        place[last] = value
    return made


def nemo(**changes: Any) -> dict[str, Any]:
    return {"audio_filepath": "wav/a.wav", "text": "one two", "duration": 2.5, **changes}


def test_a_nemo_manifest_is_read(write: Any, utterances: Any) -> None:
    root = write(
        {
            "train/m.json": lines(
                nemo(speaker=7, lang="de"),
                nemo(audio_filepath="b.flac", speaker="x", lang="en-US", offset=12.25),
            )
        }
    )
    assert utterances(root, reader="nemo", file="train/m.json") == [
        Utterance(
            id="x/train/wav/a",
            audio_path=f"{root}/train/wav/a.wav",
            text="one two",
            language="deu_Latn",
            speaker="x/7",
        ),
        Utterance(
            id="x/train/b-0012250-0014750",
            audio_path=f"{root}/train/b.flac#t=12.25,14.75",
            text="one two",
            language="eng_Latn",
            speaker="x/x",
        ),
    ]


def test_rows_of_a_nemo_manifest_are_whole_without_an_offset_or_a_length(write: Any, utterances: Any) -> None:
    rows = (
        nemo(duration="odd"),
        nemo(offset=None),
        nemo(offset=0, duration=None),
        nemo(offset=0),
        nemo(offset=4, duration=None),
    )
    found = utterances(write({"manifest.json": lines(*rows)}), reader="nemo", language="eng_Latn")
    assert [Path(one.audio_path).name for one in found] == ["a.wav", "a.wav", "a.wav", "a.wav#t=0,2.5", "a.wav#t=4"]
    assert found[-1].id == "x/wav/a-0004000-end"


def test_a_path_of_a_nemo_manifest_may_be_absolute_below_root_alone(write: Any, read: Any, tmp_path: Path) -> None:
    paths = [f"{tmp_path}/wav/a.wav", "/elsewhere/a.wav", f"{tmp_path}-2/a.wav", f"{tmp_path}/../a.wav", "../a.wav"]
    root = write({"manifest.json": lines(*(nemo(audio_filepath=path) for path in paths))})
    good, *bad = read(root, reader="nemo", language="eng_Latn")
    assert good == Utterance(
        id="x/wav/a", audio_path=f"{root}/wav/a.wav", text="one two", language="eng_Latn", speaker="x/x"
    )
    assert [one.reason for one in bad] == [Reason.UNSAFE_PATH] * 4
    assert (
        "/elsewhere/a.wav' is not below root; root may be any folder above the recordings; the row: " in bad[0].message
    )


def test_another_key_of_a_nemo_manifest_has_the_text(write: Any, read: Any) -> None:
    root = write({"manifest.json": lines(nemo(normalized_text="1 2 in words"), nemo(normalized_text=None))})
    first, second = read(root, reader="nemo", language="eng_Latn", text="normalized_text")
    assert first.text == "1 2 in words"
    assert (second.reason, second.id) == (Reason.BAD_METADATA_ROW, "x/manifest.json:2")
    assert "line 2: no text in 'normalized_text'; the row: '{\"audio_filepath\": " in second.message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (lines(nemo(offset=-3.5)), "from -3.5 s to -1 s: no part of a recording"),
        (lines(nemo(offset=3.5, duration=0)), "begins and ends at 3.5 s: no part of a recording"),
        (lines(nemo(offset=3.5, duration="3 s")), "its duration is '3 s', expected seconds"),
        (lines(nemo(offset="x")), "offset: Input should be a valid number"),
        (lines(nemo(offset=float("nan"))), "offset: Input should be a finite number"),
        (lines({"text": "one"}), "audio_filepath: Field required"),
        (lines(nemo(audio_filepath=["a.wav"])), "audio_filepath: Input should be a valid string"),
        ("[1]\n", "wanted a JSON object, not a list"),
        ("[" * 100_000 + "\n", "not JSON: "),
    ],
)
def test_a_row_that_is_no_recording_is_rejected_and_the_next_is_read(
    row: str, message: str, write: Any, read: Any
) -> None:
    bad, good = read(write({"manifest.json": row + lines(nemo())}), reader="nemo", language="eng_Latn")
    assert (bad.reason, good.id) == (Reason.BAD_METADATA_ROW, "x/wav/a")
    assert message in bad.message


def test_a_manifest_of_lhotse_is_read_packed_or_not(write: Any, utterances: Any, tmp_path: Path) -> None:
    rows = lines(cut(0), cut(1, recording__sources=[absolute(tmp_path / "b.wav")], supervisions__0__speaker=None))
    expected = [
        Utterance(
            id="x/c-0", audio_path=f"{tmp_path}/wav/0.wav", text="EINS ZWEI", language="deu_Latn", speaker="x/anna"
        ),
        Utterance(id="x/c-1", audio_path=f"{tmp_path}/b.wav", text="EINS ZWEI", language="deu_Latn", speaker="x/x"),
    ]
    root = write({"cuts.jsonl.gz": gzip.compress(rows.encode()), "all/cuts.jsonl": rows})
    assert utterances(root, reader="lhotse") == expected
    assert utterances(root, reader="lhotse", file="all/cuts.jsonl") == expected


def absolute(path: Path) -> dict[str, Any]:
    return {"type": "file", "channels": [0], "source": str(path)}


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"type": "MixedCut"}, Reason.BAD_METADATA_ROW, "a cut of the type 'MixedCut', not MonoCut"),
        ({"supervisions__0__start": 0.5}, Reason.BAD_METADATA_ROW, "speaks 0.50 to 3.00 s of a cut of 2.50 s"),
        ({"supervisions__0__start": -0.5}, Reason.BAD_METADATA_ROW, "speaks -0.50 to 2.00 s of a cut of 2.50 s"),
        ({"duration": 2.0}, Reason.BAD_METADATA_ROW, "speaks 0.00 to 2.50 s of a cut of 2.00 s"),
        ({"start": -1.0, "recording__duration": 9.0}, Reason.BAD_METADATA_ROW, "no part of a recording"),
        ({"duration": float("nan")}, Reason.BAD_METADATA_ROW, "duration: Input should be a finite number"),
        ({"supervisions": []}, Reason.BAD_METADATA_ROW, "no supervision says what is spoken"),
        ({"recording__sources__0__type": "command"}, Reason.BAD_METADATA_ROW, "not one file of one channel"),
        ({"recording__sources__0__channels": [0, 1]}, Reason.BAD_METADATA_ROW, "not one file of one channel"),
        ({"recording__transforms": [{"name": "Speed"}]}, Reason.BAD_METADATA_ROW, "its recording is transformed"),
        ({"recording__sources__0__source": "/etc/passwd"}, Reason.UNSAFE_PATH, "is not below root"),
        ({"recording__sources__0__source": "../a.wav"}, Reason.UNSAFE_PATH, "leads out of the corpus"),
        ({"id": "../a"}, Reason.UNSAFE_PATH, "leads out of the corpus"),
        ({"supervisions__0__language": "Klingon"}, Reason.UNKNOWN_LANGUAGE, "unknown language 'Klingon'"),
    ],
)
def test_a_cut_that_cannot_be_taken_as_it_is_is_rejected(
    changes: dict[str, Any], reason: Reason, message: str, write: Any, read: Any
) -> None:
    bad, good = read(write({"cuts.jsonl.gz": gzip.compress(lines(cut(**changes), cut(1)).encode())}), reader="lhotse")
    assert (bad.reason, good.id) == (reason, "x/c-1")
    assert message in bad.message


def test_a_supervision_that_covers_a_part_of_its_recording_is_cut_out(write: Any, utterances: Any) -> None:
    whole = cut(0, supervisions__0__start=0.1, supervisions__0__duration=2.35)
    del whole["supervisions"][0]["id"]
    part = cut(1, start=10.0, supervisions__0__start=0.25, supervisions__0__duration=2.0, recording__duration=60.0)
    many = cut(2, duration=60.0, recording__duration=60.0)
    many["supervisions"] = [
        {**many["supervisions"][0], "id": f"u-{start}", "start": start} for start in (0.0, 4.5, 9.0)
    ]
    found = utterances(write({"cuts.jsonl.gz": gzip.compress(lines(whole, part, many).encode())}), reader="lhotse")
    assert [(one.id, Path(one.audio_path).name) for one in found] == [
        ("x/c-0", "0.wav"),
        ("x/c-1", "1.wav#t=10.25,12.25"),
        ("x/u-0.0", "2.wav#t=0,2.5"),
        ("x/u-4.5", "2.wav#t=4.5,7"),
        ("x/u-9.0", "2.wav#t=9,11.5"),
    ]


def test_supervisions_are_read_beside_their_recordings_as_from_cuts(write: Any, utterances: Any, read: Any) -> None:
    long = cut(2, duration=60.0, recording__duration=60.0)
    (said,) = long["supervisions"]
    long["supervisions"] = [{**said, "id": f"u-{start}", "start": start} for start in (1.0, 4.5)]
    made = [cut(0, id="s-0"), cut(1, id="s-1"), long]
    spoken = [one for each in made for one in each["supervisions"]]
    files = {
        "cuts.jsonl.gz": gzip.compress(lines(*made).encode()),
        "lj_recordings_all.jsonl.gz": gzip.compress(lines(*(one["recording"] for one in made)).encode()),
        "lj_supervisions_all.jsonl.gz": gzip.compress(lines(*spoken[::-1]).encode()),
    }
    options = {"file": "lj_supervisions_all.jsonl.gz", "recordings": "lj_recordings_all.jsonl.gz"}
    root = write(files)
    found = utterances(root, reader="lhotse", **options)
    assert found[::-1] == utterances(root, reader="lhotse")
    twice = lines(made[0]["recording"], made[0]["recording"])
    bad = read(
        write({"r.jsonl": twice, "s.jsonl": lines(*spoken[:2])}), reader="lhotse", file="s.jsonl", recordings="r.jsonl"
    )
    assert [one.id for one in bad] == ["x/r.jsonl:2", "x/s-0", "x/s.jsonl:2"]
    assert [one.reason for one in bad[::2]] == [Reason.DUPLICATE_ID, Reason.MISSING_AUDIO]


@pytest.mark.parametrize(
    "changes",
    [
        {"transforms": json.loads("[" * 300 + "]" * 300)},
        {"id": "r-0\ud800"},
        {"sources": [{"type": "file", "channels": [0], "source": "\ud800.wav"}]},
    ],
    ids=["deep", "id", "source"],
)
def test_hostile_recordings_are_rejected_rows(changes: dict[str, Any], write: Any, read: Any) -> None:
    hostile, good = cut(0)["recording"] | changes, cut(1)["recording"]
    spoken = [one for number in (0, 1) for one in cut(number)["supervisions"]]
    root = write({"r.jsonl": lines(hostile, good), "s.jsonl": lines(*spoken)})
    found = read(root, reader="lhotse", file="s.jsonl", recordings="r.jsonl")
    assert [one.id for one in found if isinstance(one, Utterance)] == ["x/s-1"]
    assert len(found) == 2


def test_times_of_cuts_may_be_rounded_and_a_long_supervision_leaves_room_for_others(
    write: Any, utterances: Any
) -> None:
    rounded = cut(0, start=-0.0005, recording__duration=60.0)
    two = cut(1, duration=60.0, recording__duration=60.0)
    (said,) = two["supervisions"]
    two["supervisions"] = [{**said, "id": "all", "duration": 60.0}, {**said, "id": "part"}]
    found = utterances(write({"cuts.jsonl": lines(rounded, two)}), reader="lhotse", file="cuts.jsonl")
    assert [Path(one.audio_path).name for one in found] == ["0.wav#t=0,2.4995", "1.wav#t=0,60", "1.wav#t=0,2.5"]


def test_one_bad_supervision_of_a_cut_takes_no_other_with_it(write: Any, read: Any) -> None:
    many = cut(0, duration=60.0, recording__duration=60.0)
    languages = ("German", "Klingon", "English")
    many["supervisions"] = [{**many["supervisions"][0], "id": one, "language": one} for one in languages]
    first, bad, last = read(write({"cuts.jsonl": lines(many)}), reader="lhotse", file="cuts.jsonl")
    assert (first.id, bad.reason, bad.id, last.id) == (
        "x/German",
        Reason.UNKNOWN_LANGUAGE,
        "x/cuts.jsonl:1",
        "x/English",
    )


def test_a_packed_manifest_that_is_damaged_or_cut_off_is_one_line(write: Any, read: Any) -> None:
    packed = gzip.compress(lines(*(cut(number) for number in range(500))).encode())
    for data in (packed[:-100], packed[:100] + bytes(50) + packed[150:], b"no gzip"):
        with pytest.raises(UserError, match=r"cuts\.jsonl\.gz: cannot read the metadata \("):
            read(write({"cuts.jsonl.gz": data}), reader="lhotse")


def test_a_packed_line_without_end_costs_no_memory(write: Any, read: Any) -> None:
    bomb = gzip.compress(b" " * (1 << 26) + b"\n" + lines(cut()).encode())
    root = write({"cuts.jsonl.gz": bomb})
    tracemalloc.start()
    try:
        found = read(root, reader="lhotse")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000  # of the 67 MB
    finally:
        tracemalloc.stop()
    assert [isinstance(one, Rejection) for one in found] == [True, False]
    assert "a line of 1048576 bytes or more" in found[0].message


def test_emilia_is_read_and_files_without_their_counterpart_are_rejected(write: Any, read: Any) -> None:
    described = {"id": "EN_1", "text": " Yes, sir. ", "speaker": "EN_B0_S0", "language": "en", "dnsmos": 3.2}
    root = write(
        {
            "EN-B0/EN_1.mp3": b"",
            "EN-B0/EN_1.json": json.dumps(described),
            "EN-B0/EN_2.m4a": b"",
            "EN-B0/EN_3.json": json.dumps(described),
            "EN-B0/EN_4.mp3": b"",
            "EN-B0/EN_4.json": json.dumps({**described, "speaker": None}),
            "EN-B0/EN_5.mp3": b"",
            "EN-B0/EN_5.json": "{",
        }
    )
    found = {one.id if isinstance(one, Utterance) else Path(one.id).name: one for one in read(root, reader="emilia")}
    assert found.pop("x/EN-B0/EN_1") == Utterance(
        id="x/EN-B0/EN_1",
        audio_path=f"{root}/EN-B0/EN_1.mp3",
        text="Yes, sir.",
        language="eng_Latn",
        speaker="x/EN_B0_S0",
    )
    assert {name: one.reason for name, one in found.items()} == {
        "EN_2.m4a": Reason.EMPTY_TEXT,
        "EN_3.json": Reason.MISSING_AUDIO,
        "EN_4.mp3": Reason.BAD_METADATA_ROW,
        "EN_5.mp3": Reason.BAD_METADATA_ROW,
    }
