"""Long recordings with subtitles, labels or TextGrids beside them."""

from __future__ import annotations

import pathlib
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.corpora.textgrid import interval_tiers
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

OPTIONS = {"reader": "transcripts", "language": "eng_Latn"}

SRT = """1
00:00:01,000 --> 00:00:03,500
<i>Hello</i> there,
{\\an8}general &amp; friends.

2
00:59:58.25 --> 01:00:02,5  X1:40
Good morning.
"""
VTT = """WEBVTT - a talk
Kind: captions

STYLE
::cue { color: white }

NOTE
This is no cue.

intro
00:01.000 --> 00:03.500 align:start
<v Anna>Hello there, <00:00:02.000>general &amp; friends.</v>

59:58.250 --> 01:00:02.500
Good morning.
"""
LABELS = "1.000000\t3.500000\tHello there, general & friends.\n\\\t100.0\t200.0\n3598.25\t3602.5\tGood morning.\n"
TIMES = [("0001000-0003500", "#t=1,3.5"), ("3598250-3602500", "#t=3598.25,3602.5")]
TEXTS = ["Hello there, general & friends.", "Good morning."]


def textgrid(*tiers: tuple[str, str, list[tuple[Any, ...]]], short: bool = False) -> str:
    """A TextGrid as Praat writes it, long or short; tiers are (class, name, intervals or points)."""
    rows = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "xmin = 0", "xmax = 3700", "tiers? <exists>"]
    rows += [f"size = {len(tiers)}", "item []:"]
    for number, (kind, name, marks) in enumerate(tiers, start=1):
        unit = "intervals" if kind == "IntervalTier" else "points"
        rows += [f"    item [{number}]:", f'        class = "{kind}"', f'        name = "{name}"']
        rows += ["        xmin = 0", "        xmax = 3700", f"        {unit}: size = {len(marks)}"]
        for place, (*times, text) in enumerate(marks, start=1):
            names = ("xmin", "xmax") if kind == "IntervalTier" else ("number",)
            rows += [f"        {unit} [{place}]:"]
            rows += [f"            {name} = {value}" for name, value in zip(names, times, strict=True)]
            rows += [f'            text = "{text}"']
    if short:
        values = [row.split(" = ")[-1].split("? ")[-1].strip() for row in rows if not row.rstrip().endswith(":")]
        values = ['File type = "ooTextFile"', 'Object class = "TextGrid"', *values[2:]]
        return "\n".join(values)
    return "\n".join(rows)


WORDS = [(0, 1, ""), (1, 3.5, TEXTS[0]), (3.5, 3598.25, " "), (3598.25, 3602.5, TEXTS[1])]
GRID = ("IntervalTier", "words", WORDS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("talk.srt", SRT),
        ("talk.SRT", SRT.replace("\n", "\r\n").encode("utf-8-sig")),
        ("talk.vtt", VTT),
        ("talk.txt", LABELS),
        ("talk.TextGrid", textgrid(GRID)),
        ("talk.textgrid", textgrid(GRID, short=True)),
        ("talk.TextGrid", textgrid(GRID, ("TextTier", "notes", [(3, "x")])).encode("utf-16")),
    ],
)
def test_each_kind_of_file_gives_the_parts_and_texts(
    name: str, content: str | bytes, write: Any, utterances: Any
) -> None:
    root = write({"day 1/talk.flac": b"", f"day 1/{name}": content})
    assert utterances(root, **OPTIONS) == [
        Utterance(
            id=f"x/day 1/talk-{times}",
            audio_path=f"{root}/day 1/talk.flac{part}",
            text=text,
            language="eng_Latn",
            speaker="x/x",
        )
        for (times, part), text in zip(TIMES, TEXTS, strict=True)
    ]


def test_a_tier_is_named_where_there_are_several(write: Any, read: Any, utterances: Any) -> None:
    grid = textgrid(GRID, ("IntervalTier", "phones", [(0, 1, "a")]), ("TextTier", "notes", [(3, 'say ""x""')]))
    root = write({"a.wav": b"", "a.TextGrid": grid})
    (bad,) = read(root, **OPTIONS)
    assert bad.message.endswith("2 tiers of intervals, and `tier` names none of them: 'words, phones'")
    assert [one.text for one in utterances(root, **OPTIONS, tier="words")] == TEXTS
    (bad,) = read(root, **OPTIONS, tier="notes")
    assert bad.message.endswith("0 tiers are called 'notes'; there are 'words, phones'")


def test_recordings_and_files_of_times_without_their_counterpart_are_rejected(write: Any, read: Any) -> None:
    root = write({"a.wav": b"", "b.srt": SRT, "c.wav": b"", "c.srt": SRT, "c.vtt": VTT, "d.wav": b"", "d.vtt": VTT})
    found = read(root, **OPTIONS)
    bad = {Path(one.id).name: (one.reason, one.message) for one in found if isinstance(one, Rejection)}
    assert {name: reason for name, (reason, _) in bad.items()} == {
        "a.wav": Reason.EMPTY_TEXT,
        "b.srt": Reason.MISSING_AUDIO,
        "c.wav": Reason.BAD_METADATA_ROW,
    }
    assert bad["c.wav"][1].endswith("several files of times and texts: c.srt, c.vtt; name one kind as `suffix`")
    assert [one.id for one in found if isinstance(one, Utterance)] == [f"x/d-{times}" for times, _ in TIMES]
    again = read(root, **OPTIONS, suffix=".srt")
    assert [one.id for one in again if isinstance(one, Utterance)] == [f"x/c-{times}" for times, _ in TIMES]


def test_a_cue_that_cannot_be_read_is_rejected_with_its_line_and_the_others_are_read(write: Any, read: Any) -> None:
    broken = SRT.replace("00:00:01,000 -->", "00:00:01,000 ->")
    root = write(
        {"a.wav": b"", "a.srt": broken, "b.wav": b"", "b.txt": "x\t2\tone\n3\t3\ttwo\n4 5 three\n6\t7\tfour\n"}
    )
    found = read(root, **OPTIONS)
    assert [one.id for one in found] == [
        "x/a.srt:1",
        "x/a-3598250-3602500",
        "x/b.txt:1",
        "x/b.txt:2",
        "x/b.txt:3",
        "x/b-0006000-0007000",
    ]
    shown = "'1 00:00:01,000 -> 00:00:03,500 <i>Hello</i> there,'"
    assert found[0].message.endswith(f"no times such as 00:01:02,500 --> 00:01:04,000 in {shown}")
    assert {one.audio_path for one in found[:1] + found[2:5]} == {f"{root}/a.wav", f"{root}/b.wav"}
    assert found[2].message.endswith("its start is 'x', expected seconds")
    assert found[3].message.endswith("begins and ends at 3 s: no part of a recording")
    assert found[4].message.endswith("1 fields, expected start<tab>end<tab>text")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"caf\xe9", "not UTF-8"),
        (b"\xff\xfe\x00\xd8\x00\x00", "not UTF-16"),
        (b"no grid", "the TextGrid is cut off"),
        (b'"ooTextFile" "Sound 2"', "no TextGrid of Praat in its text format"),
        (textgrid(GRID)[:-30].encode(), "the TextGrid is cut off"),
        (textgrid(GRID).replace("size = 1", "size = 1e12").encode(), "the TextGrid states 1e+12 tiers or intervals"),
        (textgrid(("SoundTier", "x", [])).encode(), "a tier of the class 'SoundTier'"),
        (textgrid(GRID).replace("xmin = 1\n", 'xmin = "1"\n').encode(), "has '1' in line 20, where a number must be"),
        (textgrid(GRID).replace('"words"', "words").encode(), "where a text must be"),
        (
            textgrid(GRID).replace("size = 4", "size = 3").encode(),
            "has more than the tiers and intervals that it states",
        ),
        (textgrid(GRID).encode("utf-16-le"), "in UTF-8 or with the mark of UTF-16"),
        (bytes(1 << 25), "over 16777216 bytes of times and texts"),
    ],
)
def test_a_file_that_is_no_textgrid_is_rejected_as_a_whole(content: bytes, message: str, write: Any, read: Any) -> None:
    (bad,) = read(write({"a.wav": b"", "a.TextGrid": content}), **OPTIONS)
    assert (bad.reason, bad.id) == (Reason.BAD_METADATA_ROW, "x/a.TextGrid")
    assert message in bad.message


@given(st.lists(st.sampled_from(['"', '""', " ", "\n", "1", "-2.5", "<exists>", "a", "IntervalTier", "size = 9"])))
def test_any_words_and_quotes_are_a_textgrid_or_a_rejection(pieces: list[str]) -> None:
    start = textgrid(GRID)[:120]
    try:
        interval_tiers(start + "".join(pieces))
    except Rejected:
        return


def test_quotes_without_end_take_no_time() -> None:
    start_s = time.process_time()
    with pytest.raises(Rejected):
        interval_tiers('"' + '""' * 1_000_000 + " 1" * 1_000_000)
    assert time.process_time() - start_s < 10


TWO = "00:00:01,000 --> 00:00:02,000\nHello.\n"
NEXT = "00:00:03,000 --> 00:00:04,000\nBye.\n"


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (f"1\n{TWO}2\n{NEXT}", ["Hello.", "Bye."]),  # nothing between two cues
        (f"1\n{TWO} \n2\n{NEXT}", ["Hello.", "Bye."]),
        (f"{TWO}{NEXT}", ["Hello.", "Bye."]),
        (f"1\n{TWO}\n\n\n2\n{NEXT}\n\n", ["Hello.", "Bye."]),
        (f"1\n{TWO}1984\n\n2\n{NEXT}", ["Hello. 1984", "Bye."]),
        (f"1\n{TWO}\nmore of it\n\n2\n{NEXT}", [None, "Bye."]),  # the rest of a text, or damaged times
        (f"1\n{TWO}\n2\n00:00:03:000 --> 00:00:04:000\nBye.\n\n3\n{NEXT}", [None, "Bye."]),
        (f"1\n{TWO.replace('Hello.', '5 < 6 and 7 > 3')}", ["5 < 6 and 7 > 3"]),
        (f"1\n{TWO.replace('Hello.', '<font color=red>Hel</font>lo. <c.x>b</c>')}", ["Hello. b"]),
        (f"1\n{TWO.replace('Hello.', '&#' + '9' * 5000 + ';')}2\n{NEXT}", [None, "Bye."]),
        (f"1\n{TWO.replace('00:00:01', '00:75:61')}", [None]),
        (f"WEBVTT\n{TWO}\nNOTE of\nours\n\nSTYLE guide\n{NEXT}", ["Hello.", "Bye."]),
        (f"WEBVTT\n\nREGION\nid:x\n\n{TWO}\n{NEXT}", ["Hello.", "Bye."]),
        (f"WEBVTT\n\n00:00:01 -> 00:00:02\nlost\n\n{NEXT}", [None, "Bye."]),
        (f"NOTE\n{TWO}\nNOTE\nmore\n", [None, None]),  # srt has no comments
        (f"1\n{TWO}2\n00:00:03;000 --> 00:00:04\nlost\n3\n{NEXT}", [None, "Bye."]),
        (f"1\n{TWO}\nline two\n{NEXT}", [None, "Bye."]),  # srt has no names
        (f"{TWO.replace('Hello.', '1984')}{NEXT}", ["1984", "Bye."]),  # these cues have no numbers
        (f"WEBVTT\n00:01.00O --> 00:02.000\nlost\n\n{NEXT}", [None, "Bye."]),
        ("WEBVTT\nhello\nworld\n", [None]),
        ("", [None]),
        (f"WEBVTT\n\n{TWO.replace('Hello.', ' ' + chr(10) + 'hello<00:00:00.400><c> and</c>')}", ["hello and"]),
        (f"WEBVTT\n\n{TWO.replace('Hello.', '<ruby>漢<rt>kan</rt></ruby>')}", ["漢"]),
    ],
)
def test_no_text_of_a_subtitle_is_lost_or_joined_in_silence(
    content: str, texts: list[str | None], write: Any, read: Any
) -> None:
    found = read(write({"a.wav": b"", "a.srt": content}), **OPTIONS)
    assert [one.text if isinstance(one, Utterance) else None for one in found] == texts


@pytest.mark.parametrize("times", ["nan\tinf", "0\tinf", "1e999\t2e999", "-1\t2", "x\t2"])
def test_times_that_are_no_numbers_are_rejected(times: str, write: Any, read: Any) -> None:
    (bad,) = read(write({"a.wav": b"", "a.txt": f"{times}\tx\n"}), **OPTIONS)
    assert bad.reason == Reason.BAD_METADATA_ROW


def test_comments_of_a_textgrid_say_nothing(write: Any, utterances: Any) -> None:
    grid = textgrid(GRID).replace("xmin = 0\n", '! made by 3 "people"\nxmin = 0\n', 1)
    assert [one.text for one in utterances(write({"a.wav": b"", "a.TextGrid": grid}), **OPTIONS)] == TEXTS


def test_a_rejected_interval_has_the_line_of_its_text(write: Any, read: Any) -> None:
    grid = textgrid(("IntervalTier", "words", [(0, 1, "one"), (3, 2, "two")]))
    _, bad = read(write({"a.wav": b"", "a.TextGrid": grid}), **OPTIONS)
    assert grid.splitlines()[int(bad.id.rpartition(":")[2]) - 1].strip() == 'text = "two"'


@pytest.mark.slow
def test_a_folder_of_thousands_of_recordings_is_listed_in_no_time(write: Any, utterances: Any) -> None:
    root = write({f"{number}.{suffix}": TWO for number in range(2000) for suffix in ("wav", "srt")})
    start_s = time.process_time()
    assert len(utterances(root, **OPTIONS)) == 2000
    assert time.process_time() - start_s < 10


@pytest.mark.slow
def test_a_long_text_of_a_textgrid_takes_no_more_memory_than_it_is_long(write: Any, read: Any) -> None:
    tracemalloc.start()
    try:
        read(write({"a.wav": b"", "a.TextGrid": '"' + "a" * 10_000_000}), **OPTIONS)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_a_folder_without_recordings_is_no_corpus(write: Any, read: Any) -> None:
    with pytest.raises(UserError, match="the transcripts reader looked for"):
        read(write({"a.srt": SRT}), **OPTIONS)


def test_a_file_of_times_that_cannot_be_read_ends_the_listing(
    write: Any, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, opened = write({"a.wav": b"", "a.srt": SRT}), pathlib.Path.open

    def fail(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.suffix == ".srt":
            raise OSError(5, "Input/output error")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(pathlib.Path, "open", fail)
    with pytest.raises(UserError, match=r"a\.srt: cannot read the times and texts \(Input/output error\)"):
        read(root, **OPTIONS)
