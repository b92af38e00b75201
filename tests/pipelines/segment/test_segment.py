"""`myxtts-data segment`: long recordings, put together from clips of the sample corpora with known pauses."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import resource
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pydantic
import pytest
import soundfile
import yaml

from pipelines.segment.parts_table import PartsTable
from pipelines.segment.segment import Segmented, find_recordings, segment
from preprocess.audio import decode_audio, resample
from preprocess.audio_parts import read_part
from preprocess.clip_division import ClipLengths
from preprocess.corpora import Source, read_corpus
from preprocess.parts import split_part
from preprocess.sound_blocks import read_blocks
from preprocess.speech_activity import RATE_HZ, check_speech_activity, find_speech, measure_activity
from preprocess.utterance import Utterance
from shared.errors import UserError
from tests.pipelines import builds

CORPORA = Path("tests/corpora")
LEVEL = 80  # samples of a level: 5 ms


class Talk(NamedTuple):
    """A recording, and where each clip's speech begins and ends in it, in seconds."""

    path: Path
    spoken: list[tuple[float, float]]


def speech_of(path: Path) -> np.ndarray:
    """The samples of a clip from its first sound to its last: above a thirtieth of its loudest 5 ms."""
    samples = resample(decode_audio(path.read_bytes(), max_duration_s=30), rate_hz=RATE_HZ).samples
    levels = np.sqrt(np.mean(samples[: len(samples) // LEVEL * LEVEL].reshape(-1, LEVEL) ** 2, axis=1))
    (loud,) = np.nonzero(levels > levels.max() / 30)
    return samples[loud[0] * LEVEL : (loud[-1] + 1) * LEVEL] / np.abs(samples).max()


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Three voices in two languages, with pauses of 0.3 to 1.5 s, at several levels, with noise at −60 dB."""
    clips = sorted((CORPORA / "english/wavs").iterdir())[:20]
    clips += sorted(CORPORA.glob("german/**/*.mp3"))[:12]
    chance = np.random.default_rng(5)
    pieces, spoken, at = [np.zeros(RATE_HZ // 2, np.float32)], [], RATE_HZ // 2
    for clip in clips:
        samples = speech_of(clip) * chance.uniform(0.2, 0.8)
        pause = np.zeros(round(RATE_HZ * chance.uniform(0.3, 1.5)), np.float32)
        spoken.append((at / RATE_HZ, (at + len(samples)) / RATE_HZ))
        pieces += [samples, pause]
        at += len(samples) + len(pause)
    sound = np.concatenate(pieces).astype(np.float32)
    path = tmp_path_factory.mktemp("talk") / "talk.flac"
    soundfile.write(path, sound + chance.normal(size=len(sound)) * 1e-3, RATE_HZ)
    return Talk(path, spoken)


@pytest.mark.slow
def test_edges_of_speech_are_found_within_a_tenth_of_a_second(talk: Talk) -> None:
    regions = find_speech(measure_activity(read_blocks(talk.path, rate_hz=RATE_HZ)))
    errors_s = []
    for start_s, end_s in talk.spoken:
        inside = [one for one in regions if one.start_s < end_s and start_s < one.end_s]
        errors_s += [inside[0].start_s - start_s, inside[-1].end_s - end_s]
    assert np.mean(np.abs(errors_s) <= 0.1) >= 0.95
    for one in regions:
        assert any(one.start_s < end_s and start_s < one.end_s for start_s, end_s in talk.spoken)  # none in a pause


@pytest.mark.slow
def test_no_word_is_cut_and_the_parts_are_those_of_the_reader(talk: Talk, tmp_path: Path) -> None:
    (done,) = segment([talk.path], lengths=ClipLengths(), workers=1)
    assert done.division.too_short == done.division.too_long == []
    for start_s, end_s in talk.spoken:
        holders = [one for one in done.division.clips if one.start_s <= start_s and end_s <= one.end_s]
        assert len(holders) == 1
    table = tmp_path / "parts.csv"
    PartsTable(table, root=talk.path.parent).add(talk.path, parts=done.division.clips)
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [row["audio"] for row in rows] == ["talk.flac"] * len(done.division.clips)
    table.write_text(table.read_text().replace(",\n", ",some words\n"))
    columns = {"audio": "audio", "text": "text", "start": "start", "end": "end"}
    settings = {"reader": "table", "root": talk.path.parent, "file": str(table), "language": "en", "columns": columns}
    source: Any = pydantic.TypeAdapter(Source).validate_python(settings)
    found = [one for one in read_corpus(source, name="x") if isinstance(one, Utterance)]
    assert len(found) == len(rows)
    whole, _ = soundfile.read(talk.path, dtype="float32")
    for one, clip in zip(found, done.division.clips, strict=True):
        part = split_part(one.audio_path)
        assert part is not None
        with talk.path.open("rb", buffering=0) as file:
            samples = decode_audio(read_part(file, start_s=part.start_s, end_s=part.end_s), max_duration_s=60).samples
        first = round(part.start_s * RATE_HZ)
        assert abs(first / RATE_HZ - clip.start_s) <= 1e-3
        np.testing.assert_array_equal(samples, whole[first : first + len(samples)])


@pytest.mark.slow
def test_noise_and_silence_are_no_speech(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(size=20 * RATE_HZ) * 0.05
    soundfile.write(tmp_path / "noise.wav", noise, RATE_HZ)
    soundfile.write(tmp_path / "silence.wav", np.zeros(20 * RATE_HZ), RATE_HZ)
    for done in segment(find_recordings(tmp_path), lengths=ClipLengths(), workers=1):
        assert done.division.clips == []
        assert done.duration_s == 20


@pytest.mark.slow
def test_the_command_writes_the_table_and_names_what_it_cannot_read_and_continues(talk: Talk, tmp_path: Path) -> None:
    root, out = tmp_path / "root, 1", tmp_path / "parts.csv"
    (root / "book").mkdir(parents=True)
    (root / "book/a.flac").write_bytes(talk.path.read_bytes())
    (root / "book/b.wav").write_bytes(b"RIFF")
    ended = builds.run("segment", str(root), "--out", str(out), "--workers", "2")
    assert ended.returncode == 1, ended.stderr
    assert f"{root}/book/b.wav: libsndfile: " in ended.stderr
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert {row["audio"] for row in rows} == {"book/a.flac"}
    assert {row["text"] for row in rows} == {""}
    assert ended.stdout.startswith(f"{out}: {len(rows)} parts, ")
    assert "left out: 0 regions too short or too long, 1 that cannot be read" in ended.stdout
    source = yaml.safe_load(ended.stdout.splitlines()[-1])
    assert (source["root"], source["file"]) == (str(root), str(out))
    # the texts are filled in, the damaged recording is removed, and another one is added
    filled = out.read_text().replace(",\n", ",some words\n")
    out.write_text(filled)
    (root / "book/b.wav").unlink()
    soundfile.write(root / "book/c.wav", soundfile.read(talk.path)[0][: 8 * RATE_HZ], RATE_HZ)
    again = builds.run("segment", str(root), "--out", str(out))
    assert again.returncode == 0, again.stderr
    assert "the table had 1 recording already" in again.stdout
    more = out.read_text()
    assert more.startswith(filled)
    assert {line.partition(",")[0] for line in more.removeprefix(filled).splitlines()} == {"book/c.wav"}


@pytest.mark.slow
def test_speech_that_fills_the_recording_is_found_to_its_end(tmp_path: Path) -> None:
    """Wherever in a chunk of the detector the recording ends, and without a pause before or behind."""
    speech = speech_of(sorted((CORPORA / "english/wavs").iterdir())[3])
    for cut in range(0, 2560, 157):
        samples = speech[: len(speech) - 4000 - cut].astype(np.float32)
        (region,) = find_speech(measure_activity([samples]))
        assert region.start_s == 0
        assert region.end_s == pytest.approx(len(samples) / RATE_HZ, abs=0.11)
        assert region.end_s <= len(samples) / RATE_HZ


@pytest.mark.parametrize("name", ["chapter.txt", "chapter.lab", "chapter.srt", "chapter.TextGrid"])
def test_a_recording_with_a_text_of_its_own_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "chapter.mp3").write_bytes(b"")
    (tmp_path / name).write_text("It was a dark and stormy night; the rain fell in torrents.")
    with pytest.raises(UserError, match=f"{name}: the text of a whole recording, which pauses alone cannot divide"):
        find_recordings(tmp_path)


def test_a_folder_without_recordings_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no recording below it; expected files such as"):
        find_recordings(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        find_recordings(tmp_path / "absent")


def test_recordings_whose_parts_would_have_one_id_are_refused(tmp_path: Path) -> None:
    for name in ("a.wav", "a.mp3"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(UserError, match=r"another recording has this name, .*; move one of them away"):
        find_recordings(tmp_path)


@pytest.mark.parametrize("name", ["a\nb.wav", "a\udcffb.wav"])
def test_a_name_that_no_table_can_hold_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UserError, match=r"is not printable; rename the file"):
        find_recordings(tmp_path)


def test_without_the_package_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'myxtts\[vad\]'"):
        check_speech_activity()


def test_a_process_that_ends_is_the_problem_of_its_recording_alone(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, hook = tmp_path / "bad.wav", tmp_path / "hook"
    bad.write_bytes(b"RIFF")
    hook.mkdir()
    kills = "import os, pathlib\ninner = pathlib.Path.open\n"
    kills += (
        "pathlib.Path.open = lambda self, *a, **k: os.abort() if self.name == 'bad.wav' else inner(self, *a, **k)\n"
    )
    (hook / "sitecustomize.py").write_text(kills)
    monkeypatch.setenv("PYTHONPATH", str(hook))
    found = {one.path: one for one in segment([bad, talk.path], lengths=ClipLengths(), workers=2)}
    assert found[bad] == Segmented(bad, problem="its decoder was ended by SIGABRT")
    assert found[talk.path].division.clips != []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("parts.tsv", None, "the table is CSV; expected a name that ends in .csv"),
        ("absent/parts.csv", None, "cannot be written (No such file or directory)"),
        ("parts.csv", b"path;from;to\n", "no column audio, start, end, text; expected a table that this command wrote"),
        ("parts.csv", b"\xff\xfe\x00", "no CSV in UTF-8; give another --out"),
    ],
)
def test_a_table_that_cannot_take_the_parts_is_one_line(
    name: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(words)):
        PartsTable(tmp_path / name, root=tmp_path)


def test_columns_of_the_owner_and_a_missing_line_end_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "parts.csv"
    path.write_text('audio,start,end,text,speaker\na.wav,0.000,1.000,"Yes, of course.",anna')
    table = PartsTable(path, root=tmp_path)
    assert table.has(tmp_path / "a.wav")
    assert not table.has(tmp_path / "b.wav")
    table.add(tmp_path / "b.wav", parts=[(1.0, 2.5)])
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert rows[0]["text"] == "Yes, of course."
    assert rows[1] == {"audio": "b.wav", "start": "1.000", "end": "2.500", "text": "", "speaker": ""}


def test_a_full_disk_leaves_no_recording_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording with some of its parts in the table would be taken for done."""
    path = tmp_path / "parts.csv"
    table = PartsTable(path, root=tmp_path)
    table.add(tmp_path / "a.wav", parts=[(0.0, 1.0)])
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot be written \(File too large\); what it has is whole"):
            table.add(tmp_path / "b.wav", parts=[(float(number), number + 0.5) for number in range(20_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_an_interrupted_command_keeps_what_is_done(talk: Talk, tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "parts.csv"
    root.mkdir()
    first = soundfile.read(talk.path)[0]
    soundfile.write(root / "a.wav", first[: 5 * RATE_HZ], RATE_HZ)
    soundfile.write(root / "b.wav", np.tile(first, 40), RATE_HZ)
    process = builds.start("segment", str(root), "--out", str(out), "--workers", "2", group=True)
    deadline_s = time.monotonic() + 120
    while not (out.exists() and "a.wav" in out.read_text()) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, stderr
    assert "Traceback" not in stderr
    assert {row["audio"] for row in csv.DictReader(out.open(encoding="utf-8"))} == {"a.wav"}
